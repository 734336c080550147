// One of many programs that share a stored login. It waits for a line, gets an access token, uses it, prints the
// outcome and exits. Arguments: the server, the credential file, and the kind of lock (`real` or `none`).

import { createInterface } from 'node:readline';
import { createApi } from '../../packages/client/src/api.ts';
import { credentialStore, type Storage } from '../../packages/client/src/credentials.ts';
import { LatchkeyError } from '../../packages/client/src/errors.ts';
import { openSession } from '../../packages/client/src/session.ts';
import { fileStorage } from '../../packages/client/src/storage/file-storage.ts';

const [server = '', path = '', lock] = process.argv.slice(2);
/** People repeat a command that failed with "try again". */
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
