// A process of a service that verifies tokens with the feed. Arguments: the server and the service key. For each token on its
// standard input, as JSON, it prints `active`, verifies until the token is no longer accepted, and prints that.

import { createInterface } from 'node:readline';
import { createVerifier } from '../../packages/client/src/verify.ts';

const [server = '', serviceKey = ''] = process.argv.slice(2);
const verifier = createVerifier({ server, serviceKey, feed: true });
const answer = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);
const pauseMs = 2;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const isActive = async (token: string): Promise<boolean> => (await verifier.verify(token)).active;

answer('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const token: string = JSON.parse(line);
  await isActive(token);
  while (verifier.metrics().feed !== 'following') await pause(pauseMs);
  await isActive(token);
  const asked = verifier.metrics().asked;
  if (!(await isActive(token))) throw new Error('the token is not active');
  answer({ active: true, isKept: verifier.metrics().asked === asked });
  while (await isActive(token)) await pause(pauseMs);
  answer({ active: false });
}
verifier.close();
