import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import postgres from 'postgres';
import { outcome } from '#support/account.ts';
import { useEverything } from '#support/account-operations.ts';
import { prepareAccount, prepareDatabase } from '#support/account-scene.ts';
import { openApp, type TestApp } from '#support/app.ts';
import { feedService } from '#support/feed.ts';
import { databaseUpTo, emptyDatabase } from '#support/new-database.ts';
import { introspected, refreshRun, startedRun } from '#support/runs.ts';
import { declareService, ticketsDeclared } from '#support/services.ts';
import { copyStore } from './copy.ts';
import type { Dialect } from './executor.ts';
import { inLongTransaction } from './long-transaction.ts';
import { migrationNames } from './migrate.ts';
import { requireUnserved } from './store-lock.ts';
import { tableNames } from './stored-rows.ts';

const openCopy = (of: TestApp, dialect: Dialect, databaseUrl: string): Promise<TestApp> =>
  openApp(dialect, { databaseUrl, settings: { LATCHKEY_KEYS: of.keys } });

/** All rows, in an order that both databases have. */
async function rowsOf({ ctx }: TestApp): Promise<Record<string, string[]>> {
  const tables: Record<string, string[]> = {};
  for (const table of tableNames) {
    const rows = await ctx.db.read.run<object>(`SELECT * FROM "${table}"`, []);
    tables[table] = rows.map((row) => JSON.stringify(Object.entries(row).toSorted())).toSorted();
  }
  return tables;
}

for (const [from, to] of [
  ['sqlite', 'postgres'],
  ['postgres', 'sqlite'],
] as const) {
  test(`from ${from} to ${to} every row is copied, and every token stays good`, async () => {
    const app = await openApp(from);
    const scene = await prepareAccount(app, await prepareDatabase(app));
    const { resource } = ticketsDeclared;
    const access = { scope: 'tickets:read', resource };
    const tickets = { ...ticketsDeclared, reach: [resource], rights: ['delegate'] } as const;
    const { authorization } = await declareService(app.ctx, tickets);
    const reader = await feedService(app);
    await reader.read();
    const run = await startedRun(app, scene.key.key, { by: authorization, ...access });
    const service = await app.ask('POST', '/token', {
      form: { grant_type: 'client_credentials', ...access },
      headers: { Authorization: authorization },
    });
    // The feed begins to create the signing keys, and does not wait for them.
    await app.ask('GET', '.well-known/jwks.json');
    const before = await rowsOf(app);
    await app.close();

    const url = await emptyDatabase(to);
    const counts = await copyStore(app.databaseUrl, url);
    const copy = await openCopy(app, to, url);
    expect(await rowsOf(copy)).toEqual(before);
    expect(counts).toEqual(Object.fromEntries(tableNames.map((table) => [table, before[table]!.length])));
    copy.pass(10);

    for (const token of [run.access_token, service.body.access_token])
      expect(await introspected(copy, token, authorization)).toMatchObject({ active: true });
    const sent = (await copy.mails()).map(({ token }) => token);
    expect(sent).toContain(scene.links[0].token);
    expect(outcome(await refreshRun(copy, run.refresh_token, authorization))).toBe('200');
    await useEverything(copy, scene);
    expect(await reader.read(undefined, copy)).not.toEqual([]);

    // What is new comes after all that was copied.
    for (const [table, column] of [
      ['events', 'position'],
      ['sessions', 'ordinal'],
      ['feed_events', 'seq'],
    ] as const) {
      const copied = before[table]!.map((row) => new Map<string, number>(JSON.parse(row)).get(column)!);
      const all = await copy.ctx.db.read.run<{ at: number }>(`SELECT ${column} AS at FROM ${table}`, []);
      const later = all.filter(({ at }) => at > Math.max(...copied));
      expect([table, later.length > 0, all.length - later.length]).toEqual([table, true, copied.length]);
    }
    await copy.close();
  });

  test(`a copy from ${from} to ${to} refuses a database that has rows or another schema, and one that fails leaves nothing and can be repeated`, async () => {
    const app = await openApp(from);
    await app.login('ada@example.com');
    await app.close();
    const refuses = (url: string, words: string) =>
      expect(copyStore(app.databaseUrl, url)).rejects.toThrow(words);
    const used = await openApp(to);
    await used.login('bob@example.com');
    const before = await rowsOf(used);
    await refuses(used.databaseUrl, 'is not empty');
    expect(await rowsOf(used)).toEqual(before);
    await used.close();
    await refuses(await databaseUpTo(to, migrationNames.at(-2)!), 'of another release');
    const foreign = await emptyDatabase(to);
    await inLongTransaction(foreign, (tx) => tx.run('CREATE TABLE others (id TEXT)', []));
    await refuses(foreign, 'is not empty');

    const rename = (table: string, name: string) =>
      inLongTransaction(app.databaseUrl, (tx) => tx.run(`ALTER TABLE ${table} RENAME TO ${name}`, []));
    // The last table to be copied is missing.
    await rename('feed_acknowledgements', 'renamed');
    const url = await emptyDatabase(to);
    await refuses(url, 'feed_acknowledgements');
    if (to === 'sqlite') expect(existsSync(url.slice('sqlite:'.length))).toBe(false);
    else {
      const sql = postgres(url, { max: 1 });
      expect([...(await sql`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`)]).toEqual([]);
      await sql.end();
    }
    await rename('renamed', 'feed_acknowledgements');
    for (const empty of [url, await databaseUpTo(to, migrationNames.at(-1)!)])
      expect((await copyStore(app.databaseUrl, empty))['users']).toBe(1);
  });
}

test('while a PostgreSQL database is copied, no process starts on it', async () => {
  const app = await openApp('postgres');
  await app.close();
  const sql = postgres(app.databaseUrl, { max: 1 });
  await inLongTransaction(app.databaseUrl, async (tx) => {
    await requireUnserved(tx);
    const starting = sql`SELECT FROM kysely_migration_lock FOR UPDATE NOWAIT`;
    await expect(starting.execute()).rejects.toThrow('could not obtain lock');
  });
  await sql.end();
});
