// Upgrading a database from before the log was sealed loses no event, and the chain continues from there.

import { Database as Connection } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { Kysely, Migrator, SqliteDialect } from 'kysely';
import { PostgresJSDialect } from 'kysely-postgres-js';
import postgres from 'postgres';
import { onBothDatabases } from '../../../../../tests/support/app.ts';
import { startPostgres } from '../../../../../tests/support/postgres.ts';
import { temporaryDirectory } from '../../../../../tests/support/service.ts';
import { up as first } from '../../platform/database/migrations/0001-first.ts';
import { up as passkeys } from '../../platform/database/migrations/0002-passkeys.ts';
import { auditLogs, listEventsAfterPosition } from './events.ts';

const oldRows = [
  ...['ada', 'eve', 'new'].map(
    (name) =>
      `INSERT INTO users (id, email, email_key, email_verified, name, webauthn_user_handle, revision, session_epoch, created_at, updated_at)
       VALUES ('usr_${name}', '${name}@example.com', '${name}@example.com', 1, 'x', '${name}', 1, 0, 1, 1)`,
  ),
  ...Array.from(
    { length: 7 },
    (_, n) =>
      `INSERT INTO events (id, user_id, type, created_at) VALUES ('evt_${n}', 'usr_${n % 2 ? 'ada' : 'eve'}', '${n < 2 ? 'account_created' : 'login'}', ${1000 * (10 - n)})`,
  ),
];

/** A database as the previous release left it, with these rows. */
async function openOld(dialect: 'sqlite' | 'postgres', rows: readonly string[]): Promise<string> {
  const provider = {
    getMigrations: async () => ({ '0001-first': { up: first }, '0002-passkeys': { up: passkeys } }),
  };
  if (dialect === 'sqlite') {
    const path = `${temporaryDirectory()}/latchkey.db`;
    const connection = new Connection(path, { create: true });
    const prepare = (text: string) => {
      const prepared = connection.prepare(text);
      return {
        reader: prepared.columnNames.length > 0,
        all: (values: readonly unknown[]) => prepared.all(...(values as string[])),
        run: (values: readonly unknown[]) => prepared.run(...(values as string[])),
        iterate: (values: readonly unknown[]) =>
          prepared.iterate(...(values as string[])) as IterableIterator<unknown>,
      };
    };
    const db = new Kysely<unknown>({
      dialect: new SqliteDialect({ database: { prepare, close: () => undefined } }),
    });
    expect((await new Migrator({ db, provider }).migrateToLatest()).error).toBeUndefined();
    for (const row of rows) connection.run(row);
    connection.close();
    return `sqlite:${path}`;
  }
  const url = await (await startPostgres()).createDatabase();
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  const db = new Kysely<unknown>({ dialect: new PostgresJSDialect({ postgres: sql }) });
  expect((await new Migrator({ db, provider }).migrateToLatest()).error).toBeUndefined();
  for (const row of rows) await sql.unsafe(row);
  await sql.end();
  return url;
}

onBothDatabases('upgrading', (open, dialect) => {
  test('upgrading keeps earlier events in order and seals the events that follow', async () => {
    const t = await open({ databaseUrl: await openOld(dialect, oldRows) });
    const audit = async () => {
      const found: Record<string, { problems: string[]; events: number; unsealed: number }> = {};
      for await (const { userId, audit: one } of auditLogs(t.ctx, undefined)) {
        const problems = one.findings.map(({ problem, where }) => `${problem}: ${where}`);
        found[userId] = { problems, events: one.events, unsealed: one.unsealed };
      }
      return found;
    };
    expect(await audit()).toEqual({
      usr_ada: { problems: [], events: 3, unsealed: 3 },
      usr_eve: { problems: [], events: 4, unsealed: 4 },
      usr_new: { problems: [], events: 0, unsealed: 0 },
    });
    const tokens = await t.login('ada@example.com');
    const { body } = await t.ask('GET', '/events', { token: tokens.access_token });
    expect(body.events.map((one: { type: string }) => one.type)).toEqual([
      'login',
      'account_created',
      'login',
      'login',
    ]);
    expect(body.events[1]).toMatchObject({ id: 'evt_1', created_at: '1970-01-01T00:00:09.000Z', detail: {} });
    expect(await audit()).toMatchObject({ usr_ada: { problems: [], events: 4, unsealed: 3 } });

    await t.ctx.db.single.run("UPDATE events SET mac = 'x' WHERE id = 'evt_1'", []);
    expect((await audit())['usr_ada']?.problems).not.toEqual([]);
    await t.ctx.db.single.run("UPDATE events SET mac = '' WHERE id = 'evt_1'", []);
    await t.ctx.db.single.run("DELETE FROM events WHERE id = 'evt_3'", []);
    expect((await audit())['usr_ada']?.problems).toEqual(['removed: event 2']);
    await t.close();
  });

  test('unsealed events are swept when they expire, like all others', async () => {
    const t = await open({ databaseUrl: await openOld(dialect, oldRows) });
    const tokens = await t.login('ada@example.com');
    expect(await t.sweep()).toBe(7);
    const { body } = await t.ask('GET', '/events', { token: tokens.access_token });
    expect(body.events.map((one: { type: string }) => one.type)).toEqual(['login']);
    await t.login('eve@example.com');
    for await (const { audit } of auditLogs(t.ctx, undefined))
      expect(audit).toMatchObject({ findings: [], unsealed: 0 });
    await t.close();
  });

  test('earlier events come before new ones in the order of all events, oldest first', async () => {
    const t = await open({ databaseUrl: await openOld(dialect, oldRows) });
    await t.login('ada@example.com');
    const events = await listEventsAfterPosition(t.ctx, 0);
    expect(events.slice(0, 7).map(({ id }) => id)).toEqual([6, 5, 4, 3, 2, 1, 0].map((n) => `evt_${n}`));
    expect(events.slice(7).map(({ type }) => type)).toEqual(['login']);
    await t.close();
  });
});
