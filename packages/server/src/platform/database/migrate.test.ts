import { expect, test } from 'bun:test';
import { onBothDatabases } from '../../../../../tests/support/app.ts';
import { startPostgres } from '../../../../../tests/support/postgres.ts';
import { runOperator, temporaryDirectory } from '../../../../../tests/support/service.ts';
import { generateKey } from '../crypto/key-ring.ts';
import { openDatabase } from './database.ts';

const log = { warn: () => undefined };

onBothDatabases('migrations', (open, dialect) => {
  test('opening a migrated database again changes nothing in it', async () => {
    const t = await open();
    await t.login();
    const dump = () => t.ctx.db.read.run('SELECT * FROM kysely_migration', []);
    const before = await dump();
    expect(before.length).toBeGreaterThan(0);
    for (let n = 0; n < 3; n++) await (await openDatabase(t.databaseUrl, { log })).close();
    expect(await dump()).toEqual(before);
    expect(await t.ctx.db.read.run('SELECT id FROM users', [])).toHaveLength(1);
    await t.close();
  });

  test('processes that start at the same time on an empty database all succeed, and each migration runs once', async () => {
    const url =
      dialect === 'sqlite'
        ? `sqlite:${temporaryDirectory()}/latchkey.db`
        : await (await startPostgres()).createDatabase();
    const env = { DATABASE_URL: url, LATCHKEY_KEYS: generateKey() };
    const results = await Promise.all(Array.from({ length: 4 }, () => runOperator(env, 'migrate')));
    expect(results.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      results.map(() => ({ code: 0, stderr: '' })),
    );
    const db = await openDatabase(url, { log });
    const names = await db.read.run<{ name: string }>('SELECT name FROM kysely_migration', []);
    expect(new Set(names.map((row) => row.name)).size).toBe(names.length);
    await db.close();
  }, 20_000);

  test('a database of a newer release is refused and not changed', async () => {
    const t = await open();
    await t.ctx.db.single.run(
      `INSERT INTO kysely_migration (name, timestamp) VALUES ('9999-later', '2099')`,
      [],
    );
    expect(openDatabase(t.databaseUrl, { log })).rejects.toThrow('written by a newer release');
    const env = { DATABASE_URL: t.databaseUrl, LATCHKEY_KEYS: t.keys };
    for (const command of ['outbox', 'migrate']) {
      const { code, stderr } = await runOperator(env, command);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^latchkey-server: DATABASE_URL .*newer release of Latchkey\.\n$/m);
    }
    await t.ctx.db.single.run("DELETE FROM kysely_migration WHERE name = '9999-later'", []);
    await (await openDatabase(t.databaseUrl, { log })).close();
    await t.close();
  });
});
