// The guarantees of transactions, on both databases.

import { Database as Connection } from 'bun:sqlite';
import { expect, mock, test } from 'bun:test';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import postgres from 'postgres';
import { outcome } from '#support/account.ts';
import { onBothDatabases, openApp, type TestApp } from '#support/app.ts';
import { closeAtTestEnd } from '#support/cleanup.ts';
import { mountDisk } from '#support/disk.ts';
import { startPostgres } from '#support/postgres.ts';
import { temporaryDirectory } from '#support/service.ts';
import { fresh } from '#support/shared.ts';
import { turns, until } from '#support/until.ts';
import { VirtualTime } from '#support/virtual-time.ts';
import { AuthError } from '../errors.ts';
import { openDatabase } from './database.ts';
import type { Executor } from './executor.ts';
import { examineDatabase } from './inspect.ts';
import { maxRetryMs } from './postgres.ts';
import { PostgresNotifications } from './postgres-notifications.ts';

/** A table of the service that a test may write to freely. */
const insert = (id: string) =>
  `INSERT INTO organizations (id, slug, name, personal, created_at) VALUES ('${id}', '${id}', 'x', 0, 1)`;
const idsOf = async ({ ctx }: TestApp): Promise<string[]> => {
  const rows = await ctx.db.read.run<{ id: string }>('SELECT id FROM organizations ORDER BY id', []);
  return rows.map(({ id }) => id);
};
/** How it ended: `done`, or the code of its error. */
const endOf = (work: Promise<unknown>): Promise<string | undefined> =>
  work.then(
    () => 'done',
    (error: { code?: string }) => error.code,
  );
const log = { warn: () => undefined };

onBothDatabases('transactions', (open) => {
  const t = fresh(open);

  test('of 700 concurrent transactions those that fail are rolled back completely, and all others commit', async () => {
    await t.ctx.db.single.run(insert('taken'), []);
    const ids = Array.from({ length: 700 }, (_, n) => `u${String(n).padStart(3, '0')}`);
    const outcomes = await Promise.allSettled(
      ids.map((id, n) =>
        t.ctx.db.transaction(async (tx) => {
          await tx.run(insert(id), []);
          if (n % 3 === 1) throw new Error('on purpose');
          if (n % 3 === 2) await tx.run(insert('taken'), []);
        }),
      ),
    );
    expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual(ids.map((_, n) => n % 3 === 0));
    expect(await idsOf(t)).toEqual(['taken', ...ids.filter((_, n) => n % 3 === 0)]);
  });

  test('a statement that fails is a defect, has no effect, and leaves those that share its commit alone', async () => {
    const twice = `${insert('half')}, ('half', 'half', 'x', 0, 1)`;
    const single = (text: string) => t.ctx.db.single.run(text, []);
    const inTransaction = (id: string) => t.ctx.db.transaction((tx) => tx.run(insert(id), []));
    const failing = [single(twice), single('SELECT * FROM nowhere'), single(twice)];
    const work = [single(insert('a')), ...failing, inTransaction('b'), single(insert('c'))];
    const outcomes = await Promise.allSettled(work);
    const reasons = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    expect(reasons).toHaveLength(failing.length);
    for (const reason of reasons) expect(reason).not.toBeInstanceOf(AuthError);
    expect(await idsOf(t)).toEqual(['a', 'b', 'c']);
  });

  test('a statement that outlives its failed transaction does not run', async () => {
    const ended = Promise.withResolvers<void>();
    let late: Promise<string | undefined> | undefined;
    const failing = t.ctx.db.transaction(async (tx) => {
      late = endOf(ended.promise.then(() => tx.run(insert('late'), [])));
      throw new Error('on purpose');
    });
    await expect(failing).rejects.toThrow('on purpose');
    ended.resolve();
    await late;
    expect(await idsOf(t)).toEqual([]);
  });

  test('a reader never sees uncommitted changes, even while a transaction waits', async () => {
    const seen: string[][] = [];
    await t.ctx.db.transaction(async (tx) => {
      await tx.run(insert('waiting'), []);
      seen.push(await idsOf(t));
      await turns(10);
      seen.push(await idsOf(t));
    });
    expect(seen).toEqual([[], []]);
    expect(await idsOf(t)).toEqual(['waiting']);
  });
});

const fileOf = ({ databaseUrl }: TestApp) => databaseUrl.slice('sqlite:'.length);

test('transactions of one event loop turn share a commit on SQLite and resolve after it', async () => {
  const t = await openApp('sqlite');
  using outside = new Connection(fileOf(t), { readonly: true });
  const count = () => (outside.query('SELECT count(*) AS n FROM organizations').get() as { n: number }).n;
  const seen = await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      t.ctx.db.transaction((tx) => tx.run(insert(`s${n}`), [])).then(count),
    ),
  );
  expect(new Set(seen)).toEqual(new Set([30]));
});

test('a SQLite file locked by another process is temporarily_unavailable until the lock is released', async () => {
  const t = await openApp('sqlite');
  using blocker = new Connection(fileOf(t));
  const request = () => t.ask('POST', '/magic_link', { json: { email: 'a@example.com' } });
  blocker.run('BEGIN IMMEDIATE');
  const answer = await request();
  expect(outcome(answer)).toBe('503 temporarily_unavailable');
  expect(answer.headers.get('Retry-After')).toMatch(/^\d+$/);
  blocker.run('ROLLBACK');
  expect(outcome(await request())).toBe('202');
});

/** A new database on PostgreSQL, with a connection that can change it, end all others and is closed at the end. */
async function administered() {
  const server = await startPostgres();
  const admin = postgres(server.url('postgres'), { max: 1, onnotice: () => undefined });
  closeAtTestEnd(() => admin.end());
  const databaseUrl = await server.createDatabase();
  const name = new URL(databaseUrl).pathname.slice(1);
  const disconnect = () =>
    admin`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = ${name}`;
  return { databaseUrl, name, disconnect, run: (text: string) => admin.unsafe(text) };
}

test('a PostgreSQL database that is gone or refuses connections is temporarily_unavailable until it is back', async () => {
  const { databaseUrl, name, disconnect, run } = await administered();
  await run(`CREATE ROLE ${name} LOGIN PASSWORD 'first'; ALTER DATABASE ${name} OWNER TO ${name}`);
  const address = Object.assign(new URL(databaseUrl), { username: name, password: 'first' });
  const t = await openApp('postgres', { databaseUrl: address.href });
  const { access_token } = await t.login();
  const answers = async () => [
    await t.ask('GET', '/me', { token: access_token }),
    await t.ask('POST', '/device'),
    await t.ask('POST', '/magic_link', { json: { email: 'a@example.com' } }),
    await t.ask('GET', 'readyz'),
  ];
  for (const [close, reopen] of [
    [`ALTER ROLE ${name} PASSWORD 'second'`, `ALTER ROLE ${name} PASSWORD 'first'`],
    [`ALTER ROLE ${name} NOLOGIN`, `ALTER ROLE ${name} LOGIN`],
    [`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`],
    [`ALTER DATABASE ${name} RENAME TO ${name}_b`, `ALTER DATABASE ${name}_b RENAME TO ${name}`],
  ] as const) {
    // A database with connections cannot be renamed.
    if (close.includes('RENAME')) await disconnect();
    await run(close);
    await disconnect();
    for (const answer of await answers()) {
      expect([close, outcome(answer)]).toEqual([close, '503 temporarily_unavailable']);
      expect(answer.headers.get('Retry-After')).toBe('1');
      expect(answer.text).not.toMatch(/postgres|sql|select|insert|stack|127\.0\.0\.1/i);
    }
    expect((await t.ask('GET', 'healthz')).status).toBe(200);
    await run(reopen);
    expect((await answers()).map(({ status }) => status)).toEqual([200, 200, 202, 200]);
  }
  await t.close();
  await run(`DROP DATABASE ${name} WITH (FORCE)`);
  await run(`DROP ROLE ${name}`);
});

test('an outage is logged once, however often the listening connection is tried', async () => {
  let refusals = 0;
  const fields = 'SFATAL\0C57P03\0Mthe database system is starting up\0\0';
  const refuse = (socket: { end(data: string): unknown }) => {
    refusals++;
    socket.end(`E\0\0\0${String.fromCharCode(fields.length + 4)}${fields}`);
  };
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: refuse } });
  const log = { warn: mock() };
  const url = `postgres://a@127.0.0.1:${server.port}/a`;
  const notifications = new PostgresNotifications(url, log, async () => undefined);
  notifications.listen('anything', () => undefined);
  await until(() => refusals > 2, 'three refusals');
  await notifications.close();
  server.stop(true);
  expect(log.warn).toHaveBeenCalledTimes(1);
});

const sleep = (tx: Executor) => tx.run('SELECT pg_sleep(60)', []);
const one = (tx: Executor) => tx.run('SELECT 1 AS one', []);

test.each<[string, (tx: Executor, disconnect: () => PromiseLike<unknown>) => Promise<unknown>]>([
  ['during a statement', (tx, disconnect) => Promise.all([sleep(tx), disconnect()])],
  ['during pipelined statements', (tx, disconnect) => Promise.all([sleep(tx), one(tx), disconnect()])],
  [
    'before a statement',
    // The driver throws outside of any promise if it writes before it has noticed the loss.
    async (tx, disconnect) => [await disconnect(), await turns(10), await one(tx)],
  ],
  [
    'before a statement that follows a failed one',
    async (tx, disconnect) => [await Promise.allSettled([sleep(tx), disconnect()]), await one(tx)],
  ],
])('a PostgreSQL connection lost in a transaction, %s, is replaced by a new one', async (_, work) => {
  const { databaseUrl, run } = await administered();
  const db = await openDatabase(databaseUrl, { log, poolSize: 1 });
  const lost = db.transaction(async (tx) => {
    const [backend] = await tx.run<{ pid: number }>('SELECT pg_backend_pid() AS pid', []);
    await work(tx, () => run(`SELECT pg_terminate_backend(${backend!.pid}, 5000)`));
  });
  await expect(lost).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  expect(await db.transaction(one)).toEqual([{ one: 1 }]);
  await db.close();
});

const isReady = (t: TestApp, status: 200 | 503) => async () =>
  (await t.ask('GET', 'readyz')).status === status;

test('/readyz answers 503 when the schema is gone', async () => {
  const t = await openApp('sqlite');
  using outside = new Connection(fileOf(t));
  outside.run('ALTER TABLE rate_limits RENAME TO gone');
  expect(outcome(await t.ask('GET', 'readyz'))).toBe('503 temporarily_unavailable');
});

const unwritable: Record<
  string,
  () => Promise<{ databaseUrl: string; close: Change; reopen: Change } | undefined>
> = {
  'the disk of a SQLite file is full': async () => {
    const directory = temporaryDirectory();
    // Only root can mount one.
    const disk = mountDisk(directory, '32m');
    const databaseUrl = `sqlite:${join(directory, 'latchkey.db')}`;
    return disk && { databaseUrl, close: async () => disk.fill(), reopen: async () => disk.free() };
  },
  'PostgreSQL accepts reads only': async () => {
    const { databaseUrl, name, disconnect, run } = await administered();
    const reconnectAs = async (readOnly: 'on' | 'off') => {
      await run(`ALTER DATABASE ${name} SET default_transaction_read_only = ${readOnly}`);
      await disconnect();
    };
    return { databaseUrl, close: () => reconnectAs('on'), reopen: () => reconnectAs('off') };
  },
};
type Change = () => Promise<void>;

test.each(Object.entries(unwritable))('/readyz answers 503 while %s, and doctor says so', async (_, make) => {
  const store = await make();
  if (!store) return;
  const { databaseUrl, close, reopen } = store;
  const t = await openApp(databaseUrl.startsWith('sqlite') ? 'sqlite' : 'postgres', { databaseUrl });
  expect(await isReady(t, 200)()).toBe(true);
  await close();
  // Until the space that the log of the database already has is used up.
  await until(isReady(t, 503), 'a service that is not ready');
  expect((await t.ask('POST', '/device')).status).toBe(503);
  const said = expect.stringMatching(/KiB are free|^it accepts reads only$/);
  expect(await examineDatabase(databaseUrl)).toEqual({ damage: [], unwritable: said });
  await reopen();
  await until(isReady(t, 200), 'a service that is ready');
  expect(await examineDatabase(databaseUrl)).toEqual({ damage: [], unwritable: undefined });
  await t.close();
});

test('damaged pages of a SQLite file are found', async () => {
  const t = await openApp('sqlite');
  await t.login();
  await t.close();
  expect((await examineDatabase(t.databaseUrl)).damage).toEqual([]);
  const outside = new Connection(fileOf(t));
  outside.run('PRAGMA wal_checkpoint(TRUNCATE)');
  outside.close();
  const file = await open(fileOf(t), 'r+');
  const [pageBytes, page] = [4096, 20];
  await file.write(Buffer.alloc(pageBytes, 0x5a), 0, pageBytes, page * pageBytes);
  await file.close();
  expect((await examineDatabase(t.databaseUrl)).damage).not.toEqual([]);
});

test('a statement may take as long as the options say', async () => {
  const url = await (await startPostgres()).createDatabase();
  const outcomes = [100, 60_000].map(async (statementTimeoutMs) => {
    const db = await openDatabase(url, { log, statementTimeoutMs });
    const ended = await endOf(db.read.run('SELECT pg_sleep(0.5)', []));
    await db.close();
    return ended;
  });
  expect(await Promise.all(outcomes)).toEqual(['temporarily_unavailable', 'done']);
});

/** Makes PostgreSQL fail with this code. */
const conflict = (code: string) =>
  `DO $$ BEGIN RAISE EXCEPTION 'a conflict' USING ERRCODE = '${code}'; END $$`;

test.each([
  ['deadlock', '40P01', 'temporarily_unavailable'],
  ['serialization failure', '40001', 'temporarily_unavailable'],
  ['unique violation', '23505', '23505'],
])(
  'a %s that repeats is attempted 8 times, or until the retry limit if it takes a second each time',
  async (_, code, end) => {
    const t = await openApp('postgres');
    const time = new VirtualTime(0);
    const db = await openDatabase(t.databaseUrl, { log: t.ctx.log, timers: time.timers });
    const failing = async (failures: number, attemptMs: number) => {
      let attempts = 0;
      const unit = db.transaction(async (tx) => {
        attempts += 1;
        time.advance(attemptMs);
        if (attempts <= failures) await tx.run(conflict(code), []);
      });
      const ended = await endOf(unit);
      return `${attempts} ${ended}`;
    };
    expect(await failing(7, 0)).toBe('8 done');
    expect(await failing(100, 0)).toBe(`8 ${end}`);
    const before = time.clock();
    expect(await failing(100, 1_000)).toMatch(/^[23] temporarily_unavailable$/);
    // The last attempt may start just before the limit, and takes its second.
    expect(time.clock() - before).toBeWithin(maxRetryMs, maxRetryMs + 1_000);
    await db.close();
  },
);

test('statements that were prepared before a migration are prepared anew, on every connection and in transactions', async () => {
  const poolSize = 12;
  const url = await (await startPostgres()).createDatabase();
  const db = await openDatabase(url, { log, poolSize });
  const byId = (tx: Executor) => tx.run('SELECT * FROM organizations WHERE id = $1', ['x']);
  const transactions = (count: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        db.transaction(async (tx) => {
          const rows = await byId(tx);
          // Until all have begun, so that each has a connection of its own.
          await tx.run('SELECT pg_sleep(0.2)', []);
          return rows;
        }),
      ),
    );
  await transactions(poolSize);
  await db.single.run('ALTER TABLE organizations ADD COLUMN later TEXT', []);
  const pipelined = db.transaction((tx) => Promise.all([byId(tx), tx.run('SELECT 1 AS one', [])]));
  expect(await pipelined).toEqual([[], [{ one: 1 }]]);
  expect(await db.transaction(byId)).toEqual([]);
  await db.close();
});
