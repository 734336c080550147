// No lock of another role delays the service on PostgreSQL, although any role that may connect to the database may take
// advisory locks.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import postgres from 'postgres';
import { signInByMail } from '#support/account.ts';
import { openApp, type TestApp } from '#support/app.ts';
import { feedService } from '#support/feed.ts';
import { openTransaction } from '#support/until.ts';
import type { Executor } from '../../packages/server/src/platform/database/executor.ts';
import { inspectDatabase } from '../../packages/server/src/platform/database/inspect.ts';
import { writeFeedEvent } from '../../packages/server/src/security-log/feed-events/feed-events.ts';

const address = 'ada@example.com';

/** The advisory lock under which Kysely migrates by default. */
const migrationLock = '3853314791062309107';

const role = `intruder_${process.pid}`;

let app: TestApp;
let intruder: postgres.Sql;

beforeAll(async () => {
  app = await openApp('postgres');
  await app.login(address);
  await app.ctx.db.single.run(`CREATE ROLE ${role} LOGIN PASSWORD 'intruder'`, []);
  const url = new URL(app.databaseUrl);
  url.username = role;
  url.password = 'intruder';
  intruder = postgres(url.href, { max: 1, onnotice: () => undefined });
});

afterAll(async () => {
  await intruder.end();
  await app.ctx.db.single.run(`DROP ROLE ${role}`, []);
  await app.close();
});

/** Takes advisory locks for its session: every key that a transaction of the service holds at this moment, and more. */
async function takeLocks(): Promise<void> {
  const finish = await openTransaction<Executor>(app.ctx.db.transaction, async (tx) => {
    await writeFeedEvent(app.ctx, tx, { type: 'account-enabled', userId: 'usr_0000000000000000000000' });
    await tx.run('SELECT 1', []);
  });
  const copied = await intruder`
    SELECT pg_try_advisory_lock_shared((classid::bigint << 32) | objid::bigint) FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1`;
  expect(copied.length).toBeGreaterThan(0);
  await finish();
  // The lowest and the next positions of both sequences, shared and alone.
  for (const sequence of [0, 1]) {
    await intruder`SELECT pg_advisory_lock_shared((${sequence}::bigint << 62) | (salt::bigint << 40))
      FROM generate_series(0, 300) AS salt`;
    await intruder`SELECT pg_advisory_lock((${sequence}::bigint << 62) | n) FROM generate_series(1, 300) AS n`;
  }
  await intruder`SELECT pg_advisory_lock(${0x6164}::int, hashtext(${address}))`;
  await intruder`SELECT pg_advisory_lock(${migrationLock}::bigint)`;
}

test('advisory locks of a role that may only connect delay no sign-in, no reader of the feed and no start', async () => {
  const service = await feedService(app);
  await takeLocks();
  const { status } = await signInByMail(app, address);
  expect(status).toBe(200);
  const node = await openApp('postgres', { beside: app });
  await app.ctx.db.transaction((tx) =>
    writeFeedEvent(app.ctx, tx, { type: 'account-disabled', userId: 'usr_1111111111111111111111' }),
  );
  const types = (await service.read(undefined, node)).map(({ type }) => type);
  expect(types).toContain('account-disabled');
  const { body } = await service.ask({ returnImmediately: true });
  expect(Date.parse(body.through)).toBe(app.ctx.clock());
  await node.close();
});

test('doctor learns whether every role may connect', async () => {
  const name = new URL(app.databaseUrl).pathname.slice(1);
  expect(await inspectDatabase(app.databaseUrl)).toMatchObject({ server: { openToPublic: name } });
  await app.ctx.db.single.run(`REVOKE CONNECT ON DATABASE ${name} FROM PUBLIC`, []);
  expect(await inspectDatabase(app.databaseUrl)).toMatchObject({ server: { openToPublic: null } });
  await app.ctx.db.single.run(`GRANT CONNECT ON DATABASE ${name} TO PUBLIC`, []);
});

test('a role that may only connect cannot lock what a sign-in locks', async () => {
  for (const statement of [
    'SELECT lock_address($$ada@example.com$$)',
    'SELECT FROM address_locks FOR UPDATE',
    'LOCK TABLE address_locks IN ACCESS SHARE MODE',
    'LOCK TABLE feed_events IN ROW EXCLUSIVE MODE',
  ])
    await expect(intruder.begin((tx) => tx.unsafe(statement))).rejects.toThrow('permission denied');
});
