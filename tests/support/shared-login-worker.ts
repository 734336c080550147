// One of many programs that share a stored login. At each line that it gets, it uses an access token and prints the outcome.
// Arguments: the server, the credential file, the kind of lock (`real` or `none`), and where in a refresh to stop, if at all:
// there it prints that and goes no further. At `the loss of a response` it loses its first response to a refresh instead.

import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { createApi } from '../../packages/client/src/api.ts';
import { credentialStore, type Storage } from '../../packages/client/src/credentials.ts';
import { LatchkeyError } from '../../packages/client/src/errors.ts';
import { openSession } from '../../packages/client/src/session.ts';
import { fileStorage } from '../../packages/client/src/storage/file-storage.ts';

const [server = '', path = '', lock, failpoint] = process.argv.slice(2);
/** People repeat a command that failed with "try again". */
const maxTries = 5;

const answer = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);

const reach = async (point: string): Promise<void> => {
  if (point !== failpoint) return;
  answer(point);
  await new Promise(() => {});
};

let isResponseLost = false;
let isAnswered = false;
const api = createApi({
  server,
  fetch: async (url, init) => {
    if (!url.endsWith('/refresh')) return fetch(url, init);
    await reach('before the request');
    const response = await fetch(url, init);
    if (failpoint === 'the loss of a response' && !isResponseLost) {
      isResponseLost = true;
      throw new TypeError('the response was lost');
    }
    isAnswered = true;
    await reach('after the response');
    return response;
  },
});

const file = fileStorage(path);
const storage: Storage = {
  ...file,
  lock: (name, work, options) => {
    if (lock === 'none') return work();
    // A refresh holds a lock of its own, and within it that of the document.
    if (name === 'document') return file.lock(name, work, options);
    const between = async () => {
      await reach('after the lock is taken');
      const result = await work();
      await reach('before the lock is released');
      return result;
    };
    return file.lock(name, between, options);
  },
};

// The storage flushes its new file, renames it, then flushes the directory.
const handle = await open(import.meta.path);
const prototype = Object.getPrototypeOf(handle) as typeof handle;
await handle.close();
const { sync } = prototype;
prototype.sync = async function (this: typeof handle) {
  await sync.call(this);
  const place = (await this.stat()).isDirectory() ? 'after' : 'before';
  await reach(`${place} the file of the ${isAnswered ? 'tokens' : 'start'} is renamed`);
};

const session = openSession({ api, store: credentialStore(storage, server) });

async function use(): Promise<string> {
  for (let tries = 1; ; tries++) {
    try {
      await session.call('getProfile');
      return 'ok';
    } catch (error) {
      if (!(error instanceof LatchkeyError)) throw error;
      if (!error.retryable || tries === maxTries) return `${error.code}: ${error.message}`;
    }
  }
}

answer('ready');
for await (const _ of createInterface({ input: process.stdin })) answer(await use());
process.exit();
