// A program in a sandbox: for each line of its input it asks the agent of its environment twice at once for a new token, uses it, and answers
// `ok` or the code of the error.

import { createInterface } from 'node:readline';
import { sessionFromEnvironment } from '@latchkey/client/environment';
import { LatchkeyError } from '@latchkey/client/errors';

const session = sessionFromEnvironment()!;
let token = '';
const answer = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);

answer('ready');
for await (const _ of createInterface({ input: process.stdin })) {
  try {
    const [shared, other] = await Promise.all([session.renew(token), session.renew(token)]);
    if (shared !== other) throw new Error('two tokens');
    token = shared;
    await session.call('getProfile');
    answer('ok');
  } catch (error) {
    answer(error instanceof LatchkeyError ? error.code : String(error));
  }
}
