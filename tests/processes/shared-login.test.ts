// The hardest case for a stored login: many programs share it and all refresh when its access token expires, over a
// network that loses responses, and some are killed meanwhile. The session must survive.

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { credentialStore, tokenMembers } from '@latchkey/client/credentials';
import { fileStorage } from '@latchkey/client/file-storage';
import { storedSession } from '#support/client.ts';
import { refreshesDuring } from '#support/http.ts';
import { startService, temporaryDirectory } from '#support/service.ts';
import { shared } from '#support/shared.ts';
import { startWorker, type Worker } from '#support/worker.ts';

const sharers = 6;

/** Every moment of a refresh at which a program can die, and how often the next program repeats its refresh. */
const failpoints = [
  ['after the lock is taken', 0],
  ['before the file of the start is renamed', 0],
  ['after the file of the start is renamed', 0],
  ['before the request', 0],
  ['after the response', 1],
  ['before the file of the tokens is renamed', 1],
  ['after the file of the tokens is renamed', 0],
  ['before the lock is released', 0],
] as const;

const service = shared(() => startService());

type StoredLogin = Awaited<ReturnType<typeof newLogin>>;

/** A login that is stored in a file. */
async function newLogin(email: string) {
  const path = join(temporaryDirectory(), 'latchkey', 'credentials.json');
  const store = credentialStore(fileStorage(path), service.url);
  const tokens = await service.login(email);
  await store.put({
    server: service.url,
    user: { id: 'usr_shared', email },
    logged_in_at: new Date(0).toISOString(),
    ...tokenMembers(tokens, 0),
  });
  return {
    store,
    start: async (lock: 'real' | 'none', ...failpoint: string[]) => {
      const args = [service.url, path, lock, ...failpoint];
      const worker = startWorker([process.execPath], 'shared-login-worker.ts', ...args);
      expect(await worker.hear()).toBe('ready');
      return worker;
    },
  };
}

const use = (workers: readonly Worker[]) => Promise.all(workers.map((worker) => worker.ask('go')));

/** The account has this one session, and nothing was taken for stolen. */
async function requireSession({ store }: StoredLogin): Promise<void> {
  const token = (await storedSession(store)).access_token;
  const { body: list } = await service.ask('GET', '/sessions', { token });
  expect(list.sessions).toHaveLength(1);
  const database = new Database(join(service.directory, 'latchkey.db'), { readonly: true });
  expect(database.query("SELECT * FROM events WHERE type = 'refresh_theft'").all()).toEqual([]);
  database.close();
}

describe('programs that share one stored login', () => {
  test('all get tokens, and the session survives, whenever during a refresh one of them is killed', async () => {
    const login = await newLogin('killed@example.com');
    const others = await Promise.all(Array.from({ length: sharers }, () => login.start('real')));
    for (const [failpoint, retry] of failpoints) {
      const stored = await storedSession(login.store);
      await login.store.replace(stored, { ...stored, access_token_expires_at: 0 });
      const seen = await refreshesDuring(service.url, async () => {
        const killed = await login.start('real', failpoint);
        expect(await killed.ask('go')).toBe(failpoint);
        const outcomes = use(others);
        killed.signal('SIGKILL');
        expect(await killed.exited).toBe(137);
        expect(await outcomes).toEqual(others.map(() => 'ok'));
      });
      expect([failpoint, seen]).toEqual([failpoint, { rotated: 1, retry }]);
    }
    await requireSession(login);
  });

  // Without a lock, as on a network file system, each may send the same refresh.
  test.each(['real', 'none'] as const)(
    'all get tokens, and the session survives, when responses are lost (lock: %s)',
    async (lock) => {
      const login = await newLogin(`lost-${lock}@example.com`);
      const start = () => login.start(lock, 'the loss of a response');
      const workers = await Promise.all(Array.from({ length: sharers }, start));
      const { rotated, retry, ...others } = await refreshesDuring(service.url, async () =>
        expect(await use(workers)).toEqual(workers.map(() => 'ok')),
      );
      expect([rotated, others]).toEqual([1, {}]);
      if (lock === 'real') expect(retry).toBe(1);
      await requireSession(login);
    },
  );
});
