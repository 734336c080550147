// One program of many that share a stored login: it waits for a line, asks for a token, uses it, tells how that
// went, and ends. Arguments: the server, the credential file, and what the lock is worth (`real` or `none`).

import { createInterface } from 'node:readline';
import { createApi } from '../../packages/client/src/api.ts';
import { credentialStore, type Storage } from '../../packages/client/src/credentials.ts';
import { LatchkeyError } from '../../packages/client/src/errors.ts';
import { fileStorage } from '../../packages/client/src/file-storage.ts';
import { openSession } from '../../packages/client/src/session.ts';

const [server = '', path = '', lock] = process.argv.slice(2);
/** A person starts a command again that ended in "try again". */
const maxTries = 5;

const file = fileStorage(path);
const storage: Storage = lock === 'real' ? file : { ...file, lock: (_, work) => work() };
const session = openSession({ api: createApi({ server }), store: credentialStore(storage, server) });

const answer = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
answer('ready');
await lines.next();
for (let tries = 1; ; tries++) {
  try {
    await session.call('getProfile');
    answer('ok');
    break;
  } catch (error) {
    if (!(error instanceof LatchkeyError)) throw error;
    if (error.retryable && tries < maxTries) continue;
    answer(`${error.code}: ${error.message}`);
    break;
  }
}
process.exit();
