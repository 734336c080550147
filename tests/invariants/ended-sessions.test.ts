// Every change of a signed-in user looks at its session in its own transaction: one whose session ends after the request was
// accepted, and before the change commits, has no effect.

import { expect, test } from 'bun:test';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { lockAccountRow } from '../../packages/server/src/accounts/locks.ts';
import { readHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import type { Database, Executor } from '../../packages/server/src/platform/database/executor.ts';
import { sessionIdOf } from '../../packages/server/src/sessions/sessions.ts';
import { addPasskey, askForAddress, newAuthenticator, outcome } from '../support/account.ts';
import { type Answer, onBothDatabases, sharedNodes, type TestApp, type Tokens } from '../support/app.ts';
import { redirectUri, requestOf } from '../support/authorize.ts';
import { declareService } from '../support/services.ts';
import { until } from '../support/until.ts';

/** A request of a signed-in user, sent when it is called. */
type Request = () => Promise<Answer>;

/** Prepares a request that succeeds, and changes something, while its session is active. */
type Prepare = (app: TestApp, own: Tokens) => Promise<Request>;

type Endpoints = typeof endpoints;
/** The endpoints at which a signed-in user may change something. */
type OfUsers = {
  [Id in keyof Endpoints]: Endpoints[Id] extends { method: 'get' } | { access: 'anyone' | 'service' }
    ? never
    : Id;
}[keyof Endpoints];

const send = (app: TestApp, own: Tokens, method: string, path: string, json?: unknown): Promise<Answer> =>
  app.ask(method, path, { token: own.access_token, ...(json === undefined ? {} : { json }) });

/** A request that needs no preparation. */
const plain =
  (method: string, path: string, json?: unknown): Prepare =>
  async (app, own) =>
  () =>
    send(app, own, method, path, json);

const decide =
  (path: string): Prepare =>
  async (app, own) => {
    const { user_code } = (await app.ask('POST', '/device')).body;
    return () => send(app, own, 'POST', path, { user_code });
  };

const withPasskey =
  (method: string, json?: object): Prepare =>
  async (app, own) => {
    const { body } = await addPasskey(app, own, newAuthenticator(app));
    return () => send(app, own, method, `/passkeys/${body.id}`, json);
  };

const key = { name: 'key', scope: 'profile', expires_in: 3_600 };

const requests: Record<OfUsers, Prepare | 'changes nothing'> = {
  updateProfile: plain('PATCH', '/me', { name: 'Somebody else' }),
  deleteAccount: plain('DELETE', '/me'),
  requestEmailChange: plain('POST', '/me/email', { email: 'new@example.com' }),
  verifyEmailChange: async (app, own) => {
    const token = await askForAddress(app, own, `new-${crypto.randomUUID()}@example.com`);
    return () => send(app, own, 'POST', '/me/email/verify', { token });
  },
  previewEmailChange: 'changes nothing',
  verifyAuthorization: 'changes nothing',
  denyAuthorization: 'changes nothing',
  approveAuthorization: async (app, own) => {
    const { id } = await declareService(app.ctx, { redirectUris: [redirectUri] });
    return () => send(app, own, 'POST', '/authorize/approve', requestOf(id));
  },
  verifyDevice: 'changes nothing',
  approveDevice: decide('/device/approve'),
  denyDevice: decide('/device/deny'),
  challengeKey: 'changes nothing',
  createKey: plain('POST', '/keys', key),
  removeKey: async (app, own) => {
    const { body } = await send(app, own, 'POST', '/keys', key);
    return () => send(app, own, 'DELETE', `/keys/${body.id}`);
  },
  postUserinfo: 'changes nothing',
  issueIdToken: 'changes nothing',
  confirmSignOut: plain('POST', '/end_session/confirm', {}),
  startPasskeyRegistration: 'changes nothing',
  registerPasskey: async (app, own) => {
    const { body } = await send(app, own, 'POST', '/passkey/register/challenge');
    return () => send(app, own, 'POST', '/passkey/register', newAuthenticator(app).create(body));
  },
  renamePasskey: withPasskey('PATCH', { name: 'renamed' }),
  removePasskey: withPasskey('DELETE'),
  revoke: plain('POST', '/revoke'),
  logout: plain('DELETE', '/logout?scope=session'),
  revokeSession: async (app, own) => {
    const other = await app.deviceLogin(own);
    return () => send(app, own, 'DELETE', `/sessions/${sessionOf(app, other)}`);
  },
};

const changes = Object.entries(requests).filter(
  (entry): entry is [OfUsers, Prepare] => typeof entry[1] !== 'string',
);

test('the list has every endpoint at which a signed-in user may change something', () => {
  const ofUsers = Object.entries<Endpoint>(endpoints).filter(
    ([, { method, access }]) => method !== 'get' && access !== 'anyone' && access !== 'service',
  );
  expect(Object.keys(requests).toSorted()).toEqual(ofUsers.map(([id]) => id).toSorted());
});

const sessionOf = (app: TestApp, { access_token }: Tokens): string =>
  sessionIdOf(readHandle(app.ctx.keys, 'accessToken', access_token)!.subject);

/** What a refused request may write: limits, a challenge that was spent, and when the session was used last. */
const unrelated = ['rate_limits', 'spent_challenges', 'address_locks', 'sessions'];

/** All rows that a change could write. */
async function contentOf({ read, dialect }: Database): Promise<string> {
  const tables = await read.run<{ name: string }>(
    dialect === 'postgres'
      ? `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1`
      : `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY 1`,
    [],
  );
  const rows: string[] = [];
  for (const { name } of tables) {
    if (unrelated.includes(name)) continue;
    rows.push(
      ...(await read.run(`SELECT * FROM ${name}`, [])).map((row) => `${name} ${JSON.stringify(row)}`),
    );
  }
  const sessions = await read.run('SELECT id, revoked_at, generation, path FROM sessions', []);
  return [...rows, ...sessions.map((row) => JSON.stringify(row))].toSorted().join('\n');
}

const endIn = (tx: Executor, id: string): Promise<unknown> =>
  tx.run(`UPDATE sessions SET revoked_at = 1 WHERE id = '${id}'`, []);

onBothDatabases('a change whose session ends before it commits', (open, dialect) => {
  const { app, node } = sharedNodes(open, dialect);

  /** Sends the request, and ends its session as soon as the request begins its first transaction. */
  async function endAtTransaction(request: Request, end: () => Promise<void>): Promise<Answer> {
    const db = app.ctx.db as { transaction: Database['transaction'] };
    const { transaction } = db;
    const restore = () => {
      db.transaction = transaction;
    };
    db.transaction = async (work) => {
      restore();
      // On SQLite the transaction would keep the other one waiting.
      if (dialect === 'sqlite') await end();
      return transaction(async (tx) => {
        if (dialect === 'postgres') await end();
        return work(tx);
      });
    };
    return request().finally(restore);
  }

  for (const [id, prepare] of changes) {
    test(`has no effect: ${id}`, async () => {
      const own = await app.login(`${id}@example.com`);
      const request = await prepare(app, own);
      let before = '';
      const answer = await endAtTransaction(request, async () => {
        await node.ctx.db.transaction((tx) => endIn(tx, sessionOf(app, own)));
        before = await contentOf(node.ctx.db);
      });
      expect(outcome(answer)).toBe('401 invalid_token');
      expect(await contentOf(app.ctx.db)).toBe(before);
    });

    // SQLite has one writer at a time.
    if (dialect === 'sqlite') continue;
    test(`has no effect after waiting for its account: ${id}`, async () => {
      const own = await app.login(`waiting-${id}@example.com`);
      const { id: userId } = (await send(app, own, 'GET', '/me')).body;
      const request = await prepare(app, own);
      let before = '';
      const { answering } = await node.ctx.db.transaction(async (tx) => {
        await lockAccountRow(tx, { id: userId });
        const answering = request();
        const blocked =
          'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0';
        await until(
          async () => (await node.ctx.db.read.run(blocked, [])).length > 0,
          'a statement that waits for a lock',
        );
        await endIn(tx, sessionOf(app, own));
        before = await contentOf({ ...node.ctx.db, read: tx });
        return { answering };
      });
      expect(outcome(await answering)).toBe('401 invalid_token');
      expect(await contentOf(app.ctx.db)).toBe(before);
    });
  }
});
