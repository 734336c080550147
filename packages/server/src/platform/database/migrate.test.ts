import { expect, test } from 'bun:test';
import { type Kysely, sql } from 'kysely';
import postgres from 'postgres';
import { onBothDatabases } from '#support/app.ts';
import { databaseUpTo, emptyDatabase, newDatabase } from '#support/new-database.ts';
import { runOperator, runOperatorProcess } from '#support/service.ts';
import { fresh } from '#support/shared.ts';
import { until } from '#support/until.ts';
import { generateKey } from '../crypto/primitives.ts';
import { openDatabase } from './database.ts';
import { canWorkWith, type Migrations, migrationNames, migrations } from './migrate.ts';
import { isUnfinishedRestore, markRestoreFinished, removeRestoreGuard } from './stored-rows.ts';

const newest = migrationNames.at(-1)!;
const log = { warn: () => undefined };

/** A migration that only this test has. It gives every account a note. */
const next = `0999-notes-from-${newest.slice(0, 4)}`;
const nextMigrations: Migrations = {
  ...migrations,
  [next]: {
    up: async (db) => {
      await sql`ALTER TABLE users ADD COLUMN note TEXT`.execute(db);
      await sql`UPDATE users SET note = 'of ' || email`.execute(db);
    },
  },
};
const openNext = (url: string) => openDatabase(url, { log, migrations: nextMigrations });

onBothDatabases('migrations', (open, dialect) => {
  const t = fresh(open);

  test('processes that start at the same time on an empty database all succeed, and each migration runs once', async () => {
    const url = await emptyDatabase(dialect);
    const env = { DATABASE_URL: url, LATCHKEY_KEYS: generateKey() };
    const results = await Promise.all(Array.from({ length: 4 }, () => runOperatorProcess(env, 'migrate')));
    for (const result of results) expect(result).toMatchObject({ code: 0, stderr: '' });
    const db = await openDatabase(url, { log });
    const names = await db.read.run<{ name: string }>('SELECT name FROM kysely_migration', []);
    expect(names.map(({ name }) => name).sort()).toEqual([...migrationNames]);
    await db.close();
  });

  /** Notes a migration that this program does not know. */
  const note = (name: string) =>
    t.ctx.db.single.run(`INSERT INTO kysely_migration (name, timestamp) VALUES ('${name}', '2099')`, []);
  const operate = (...args: string[]) =>
    runOperator({ DATABASE_URL: t.databaseUrl, LATCHKEY_KEYS: t.keys }, ...args);

  test('a database of a newer release is refused and not changed', async () => {
    await note('9999-later');
    await expect(openDatabase(t.databaseUrl, { log })).rejects.toThrow('written by a newer release');
    for (const command of ['outbox', 'migrate']) {
      const { code, stderr } = await operate(command);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^latchkey-server: DATABASE_URL .*newer release of Latchkey\.\n$/m);
    }
    await t.ctx.db.single.run("DELETE FROM kysely_migration WHERE name = '9999-later'", []);
    await (await openDatabase(t.databaseUrl, { log })).close();
  });

  test('a program works on the schema of the next release', async () => {
    await t.ctx.db.single.run('ALTER TABLE users ADD COLUMN later TEXT', []);
    await note(`9999-later-from-${newest.slice(0, 4)}`);
    await (await openDatabase(t.databaseUrl, { log })).close();
    for (const command of ['outbox', 'migrate']) expect((await operate(command)).code).toBe(0);
    const { stdout } = await operate('doctor', '--json');
    expect(stdout).toContain('written by a newer release: replace this program');
    const login = await t.login();
    expect((await t.ask('GET', '/me', { token: login.access_token })).status).toBe(200);
  });

  test('what earlier releases wrote is no restored database; a copy of it that was restored is one until it is finished', async () => {
    for (const last of ['0005-key-ends-from-0003', '0007-touches-from-0003']) {
      const { ctx } = await open({ databaseUrl: await databaseUpTo(dialect, last) });
      expect([last, await isUnfinishedRestore(ctx.db.read)]).toEqual([last, false]);
    }
    const databaseUrl = await databaseUpTo(dialect, '0007-touches-from-0003');
    const restored = await openDatabase(databaseUrl, { log, asIs: true });
    // `pg_restore` writes the row in another transaction.
    const rewrite = 'UPDATE restore_guard SET written_by = written_by';
    await restored.single.run(dialect === 'postgres' ? rewrite : removeRestoreGuard, []);
    await restored.close();
    const { db } = (await open({ databaseUrl })).ctx;
    expect(await isUnfinishedRestore(db.read)).toBe(true);
    await db.transaction(markRestoreFinished);
    expect(await isUnfinishedRestore(db.read)).toBe(false);
  });

  test('a migration that fails leaves the schema as it was, and can run again', async () => {
    await t.login();
    const up = async (db: Kysely<unknown>) => {
      await nextMigrations[next]!.up(db);
      throw new Error('killed');
    };
    const failing = { ...migrations, [next]: { up } };
    await expect(openDatabase(t.databaseUrl, { log, migrations: failing })).rejects.toThrow('killed');
    const columns = async () => Object.keys((await t.ctx.db.read.run<object>('SELECT * FROM users', []))[0]!);
    expect(await columns()).not.toContain('note');
    await (await openNext(t.databaseUrl)).close();
    expect(await columns()).toContain('note');
  });
});

test('of two programs that start while a long reader keeps a migration from a table, one migrates, the other finds it done, and requests pass', async () => {
  const url = await newDatabase('postgres');
  const other = postgres(url, { max: 2 });
  const reader = await other.reserve();
  await reader`BEGIN`;
  await reader`SELECT 1 FROM users`;
  const opening = [openNext(url), openNext(url)];
  const waiting = () =>
    other`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
      AND backend_type = 'client backend'`;
  await until(async () => (await waiting()).length === 2, 'two programs that wait');
  await other`SELECT 1 FROM users`;
  await reader`COMMIT`;
  reader.release();
  const opened = await Promise.all(opening);
  await Promise.all([...opened, { close: () => other.end() }].map((db) => db.close()));
});

test('a migration that PostgreSQL ends because of a deadlock, as with a request of an earlier release, runs again', async () => {
  let attempts = 0;
  const up = async (db: Kysely<unknown>) => {
    await nextMigrations[next]!.up(db);
    attempts += 1;
    if (attempts === 1)
      await sql`DO $$ BEGIN RAISE EXCEPTION 'a deadlock' USING ERRCODE = '40P01'; END $$`.execute(db);
  };
  const deadlocked = { ...migrations, [next]: { up } };
  const db = await openDatabase(await newDatabase('postgres'), { log, migrations: deadlocked });
  expect(attempts).toBe(2);
  expect(await db.read.run('SELECT name FROM kysely_migration', [])).toHaveLength(migrationNames.length + 1);
  await db.close();
});

test('a migration names the oldest program that can work on its schema', () => {
  expect(canWorkWith('0031-hints-from-0029', '0029-links')).toBe(true);
  expect(canWorkWith('0031-hints-from-0029', '0030-names')).toBe(true);
  expect(canWorkWith('0031-hints-from-0029', '0028-older')).toBe(false);
  expect(canWorkWith('0031-hints', '0030-names')).toBe(false);
  const numbers = migrationNames.map((name) => name.slice(0, 4));
  for (const [index, name] of migrationNames.entries()) {
    if (index === 0) continue;
    expect([name, numbers.slice(0, index)]).toEqual([
      expect.stringMatching(/-from-\d{4}$/),
      expect.arrayContaining([name.slice(-4)]),
    ]);
  }
});
