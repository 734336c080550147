// A process of a service that verifies tokens with the feed. Arguments: the server and the service key. For each token on its
// standard input, as JSON, it prints `active` once a response is kept, verifies until the token is no longer accepted, and
// prints that.

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
  // It asks each time while it does not follow the feed, or is late to read it.
  for (let asked = -1; asked !== verifier.metrics().asked; await pause(pauseMs)) {
    asked = verifier.metrics().asked;
    if (!(await isActive(token))) throw new Error('the token is not active');
  }
  answer({ active: true });
  while (await isActive(token)) await pause(pauseMs);
  answer({ active: false });
}
verifier.close();
