// A process of a service that verifies tokens with the feed. Arguments: the server and the service key. For each line
// `{ n, token }` on its standard input it prints `{ n, outcome }` as soon as the token is verified.

import { createInterface } from 'node:readline';
import { createVerifier } from '../../packages/client/src/verify.ts';

const [server = '', serviceKey = ''] = process.argv.slice(2);
const verifier = createVerifier({ server, serviceKey, feed: true });

async function outcomeOf(token: string): Promise<'accepted' | 'refused' | 'unknown'> {
  try {
    return (await verifier.verify(token)).active ? 'accepted' : 'refused';
  } catch {
    return 'unknown';
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { n, token } = JSON.parse(line) as { n: number; token: string };
  void outcomeOf(token).then((outcome) => process.stdout.write(`${JSON.stringify({ n, outcome })}\n`));
}
verifier.close();
