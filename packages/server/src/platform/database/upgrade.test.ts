// Opens databases of earlier releases: every schema there ever was, with rows in every table. A new migration is
// covered as soon as it is listed.

import { expect, test } from 'bun:test';
import type { TableMetadata } from 'kysely';
import { onBothDatabases, openApp, type TestApp } from '../../../../../tests/support/app.ts';
import { createAuthenticator } from '../../../../../tests/support/authenticator.ts';
import { databaseAt, type Row } from '../../../../../tests/support/old-database.ts';
import { openDatabase } from './database.ts';
import { migrations } from './migrate.ts';

const names = Object.keys(migrations).toSorted();
const log = { warn: () => undefined };

/** Runs all inserts, repeating those that fail until the rows that they refer to exist. */
async function inSomeOrder(work: readonly (() => Promise<void>)[]): Promise<void> {
  const failed: (() => Promise<void>)[] = [];
  let lastError: unknown;
  for (const one of work) {
    await one().catch((error: unknown) => {
      failed.push(one);
      lastError = error;
    });
  }
  if (failed.length === work.length && failed.length > 0) throw lastError;
  if (failed.length > 0) await inSomeOrder(failed);
}

const primaryKeys = ['id', 'sequence'];

/**
 * Two rows for any table: one with a value in every column, one with nulls in nullable columns. Primary keys are never
 * null, although SQLite would accept that.
 */
function rowsFor({ columns }: TableMetadata): Row[] {
  return [1, 2].map((n) =>
    Object.fromEntries(
      columns.map(({ name, dataType, isNullable }) => [
        name,
        isNullable && !primaryKeys.includes(name) && n === 2
          ? null
          : /text|char/i.test(dataType)
            ? `row ${n}`
            : n,
      ]),
    ),
  );
}

/** A row without the columns that later migrations added. */
const withKnownColumns = ({ columns }: TableMetadata, row: Row): Row =>
  Object.fromEntries(columns.map(({ name }) => [name, row[name] ?? null]));

/** A row after the upgrade from a migration. Until scopes had a meaning, devices asked for some to no effect. */
const upgraded = (from: string, table: string, row: Row): Row =>
  table === 'device_authorizations' && from < '0013-scopes' ? { ...row, scope: null } : row;

const rowsOf = (app: TestApp, table: string) => app.ctx.db.read.run<Row>(`SELECT * FROM ${table}`, []);

/** The last schema whose keys of international addresses are not in ASCII. */
const lastWithOldKeys = names[names.indexOf('0015-international-domains') - 1];

onBothDatabases('an upgrade', (open, dialect) => {
  for (const migration of names.slice(0, -1)) {
    test(`an upgrade from ${migration} keeps every row of every table`, async () => {
      const written = new Map<string, Row[]>();
      const url = await databaseAt(dialect, migration, async ({ tables, insert }) => {
        for (const table of tables) written.set(table.name, rowsFor(table));
        await inSomeOrder(
          [...written].flatMap(([table, rows]) => rows.map((row) => () => insert(table, row))),
        );
      });
      expect(written.size).toBeGreaterThan(0);

      const db = await openDatabase(url, { log });
      const ran = await db.read.run<{ name: string }>('SELECT name FROM kysely_migration ORDER BY name', []);
      expect(ran.map(({ name }) => name)).toEqual(names);
      for (const [table, rows] of written) {
        const kept = await db.read.run<Row>(`SELECT * FROM ${table}`, []);
        expect(kept).toHaveLength(rows.length);
        for (const row of rows.map((one) => upgraded(migration, table, one)))
          expect(kept).toContainEqual(expect.objectContaining(row));
      }
      await db.close();
    });

    if (migration === names[0] || migration === lastWithOldKeys) {
      test(`after an upgrade from ${migration} an account with an international domain signs in by email`, async () => {
        const before = await open();
        await before.login('ada@b\u00fccher.example');
        await before.login('eva@xn--bcher-kva.example');
        const url = await databaseAt(dialect, migration, async ({ tables, insert }) => {
          const users = tables.find(({ name }) => name === 'users')!;
          const [ada, eva] = await before.ctx.db.read.run<Row>('SELECT * FROM users ORDER BY email', []);
          const email = 'ada@b\u00fccher.example';
          await insert('users', withKnownColumns(users, { ...ada!, email, email_key: email }));
          // Earlier releases also accepted spellings that the mapping changes, and took them for other addresses.
          const copies = { '\u00dc': 'eva@B\u00dcCHER.example', '\u00fc': 'eva@b\u00fccher.example' };
          await insert('users', withKnownColumns(users, eva!));
          for (const [id, copy] of Object.entries(copies)) {
            const row = { ...eva!, id: `usr_${id}`, email: copy, email_key: copy };
            await insert('users', withKnownColumns(users, { ...row, webauthn_user_handle: id }));
          }
        });
        const after = await openApp(dialect, { beside: { ...before, databaseUrl: url } });
        const accountOf = async (email: string) => {
          const { access_token: token } = await after.login(email);
          return (await after.ask('GET', '/me', { token })).body;
        };
        const rows = await after.ctx.db.read.run<Row>('SELECT id, email, email_key FROM users', []);
        const idOf = (email: string) => rows.find((row) => row['email'] === email)?.['id'];
        for (const spelling of ['ada@b\u00fccher.example', 'ada@xn--bcher-kva.example'])
          expect((await accountOf(spelling)).id).toBe(idOf('ada@b\u00fccher.example'));
        for (const spelling of ['eva@b\u00fccher.example', 'eva@xn--bcher-kva.example'])
          expect((await accountOf(spelling)).id).toBe(idOf('eva@xn--bcher-kva.example'));
        expect(await after.ctx.db.read.run('SELECT id FROM users', [])).toHaveLength(4);
        await Promise.all([before.close(), after.close()]);
      });
    }

    test(`an upgrade from ${migration} ends no session, and newer features work`, async () => {
      const before = await open();
      const browser = await before.login();
      const device = await before.deviceLogin(browser);
      const { body: waiting } = await before.ask('POST', '/device');
      const url = await databaseAt(dialect, migration, async ({ tables, insert }) => {
        const work: (() => Promise<void>)[] = [];
        for (const table of tables) {
          const rows = await rowsOf(before, table.name);
          work.push(...rows.map((row) => () => insert(table.name, withKnownColumns(table, row))));
        }
        await inSomeOrder(work);
      });

      const after = await openApp(dialect, { beside: { ...before, databaseUrl: url } });
      const me = await after.ask('GET', '/me', { token: browser.access_token });
      expect([me.status, me.body.email]).toEqual([200, 'ada@example.com']);
      const refreshed = await after.ask('POST', '/refresh', {
        json: { refresh_token: device.refresh_token },
      });
      expect(refreshed.status).toBe(200);
      const approval = { token: browser.access_token, json: { user_code: waiting.user_code } };
      const looked = await after.ask('POST', '/device/verify', approval);
      const namesLogin = names.indexOf(migration) >= names.indexOf('0007-device-session');
      expect(looked.body.session_id).toEqual(namesLogin ? expect.stringMatching(/^ses_/) : null);
      expect((await after.ask('POST', '/device/approve', approval)).status).toBe(204);
      const { device_code } = waiting;
      expect((await after.ask('POST', '/token', { json: { device_code } })).status).toBe(200);
      const options = await after.ask('POST', '/passkey/register/challenge', { token: browser.access_token });
      const authenticator = createAuthenticator({ origin: after.ctx.config.baseUrl });
      const added = await after.ask('POST', '/passkey/register', {
        token: browser.access_token,
        json: authenticator.create(options.body),
      });
      expect(added.status).toBe(201);
      await Promise.all([before.close(), after.close()]);
    });
  }
});
