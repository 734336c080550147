// What an earlier release has stored, and what it writes beside this one.

import { expect, test } from 'bun:test';
import { isLive } from '#support/account.ts';
import { onBothDatabases, openApp, type TestApp } from '#support/app.ts';
import { databaseUpTo } from '#support/new-database.ts';
import { mintHandle } from '../crypto/handle.ts';
import { inLongTransaction } from './long-transaction.ts';

const day = 86_400_000;

/** What was stored is later than the clock says, which must not matter. */
const now = 2_000_000_000_000;

// Rows as the program before the migration inserts them: with only these columns.
const account = (at: number) =>
  `INSERT INTO users (id, email, email_key, email_verified, name, webauthn_user_handle, revision, session_epoch, created_at, updated_at)
   VALUES ('usr_a', 'Ada@example.com', 'ada@example.com', 1, 'Ada', 'h', 1, 0, ${at}, ${at})`;

const session = (id: string, at: number) =>
  `INSERT INTO sessions (id, user_id, session_epoch, kind, method, generation, rotated_at, created_at, last_used_at, idle_expires_at, expires_at)
   VALUES ('${id}', 'usr_a', 0, 'browser', 'magic_link', 1, ${at}, ${at}, ${at}, ${at + 60 * day}, ${at + 60 * day})`;

const passkey = (id: string, at: number) =>
  `INSERT INTO passkeys (id, user_id, credential_id, public_key, counter, name, aaguid, device_type, backed_up, transports, created_at)
   VALUES ('${id}', 'usr_a', '${id}', '', 0, '${id}', '', 'multi_device', 0, '[]', ${at})`;

const notice = (id: string, about: string, at: number) => [
  `INSERT INTO notices (id, user_id, kind, email_key, session_id, created_at, expires_at)
   VALUES ('${id}', 'usr_a', 'new_browser', 'ada@example.com', '${about}', ${at}, ${at + 7 * day})`,
  `INSERT INTO outbox (id, template, recipient, recipient_key, reference, user_id, created_at, expires_at, next_attempt_at, attempts, sent_at)
   VALUES ('mail_${id}', 'notice', 'Ada@example.com', 'ada@example.com', '${id}', 'usr_a', ${at}, ${at + day}, ${at}, 1, ${at})`,
];

const change = (at: number) =>
  `INSERT INTO email_changes (id, user_id, session_id, session_epoch, new_email, new_email_key, old_email, old_email_key, created_at, expires_at, changed_at)
   VALUES ('c', 'usr_a', 'ses_thief', 0, 'evil@example.com', 'evil@example.com', 'Ada@example.com', 'ada@example.com', ${at}, ${at + 7 * day}, ${at})`;

async function use(app: TestApp, id: string, at: number) {
  const subject = Buffer.from(id, 'base64url');
  const token = mintHandle(app.ctx.keys, 'notice', { subject, value: at + 7 * day });
  return app.ask('POST', '/notices/disown', { json: { token } });
}

const idOf = (byte: number) => Buffer.alloc(16, byte).toString('base64url');

onBothDatabases('what an earlier release stored', (_, dialect) => {
  /** The service on a database that an earlier release has filled with these rows. */
  async function upgraded(rows: (at: number) => string[]) {
    const databaseUrl = await databaseUpTo(dialect, '0001-first');
    await inLongTransaction(databaseUrl, async (tx) => {
      for (const row of [account(now - 9 * day), ...rows(now)]) await tx.run(row, []);
    });
    return openApp(dialect, { databaseUrl });
  }

  const left = async ({ ctx }: TestApp) => {
    const sessions = 'SELECT id FROM sessions WHERE revoked_at IS NULL';
    const live = `${sessions} UNION ALL SELECT id FROM passkeys ORDER BY id`;
    return (await ctx.db.read.run<{ id: string }>(live, [])).map(({ id }) => id);
  };

  test('is in the order of its times, and everything new comes after it', async () => {
    const app = await upgraded((at) => [
      session('ses_before', at - 3 * day),
      passkey('pk_before', at - 3 * day),
      session('ses_thief', at - 2 * day),
      ...notice(idOf(1), 'ses_thief', at - 2 * day),
      session('ses_same_moment', at - 2 * day),
      passkey('pk_since', at - day),
      session('ses_since', at - day),
    ]);
    const login = await app.login('ada@example.com');
    expect(await left(app)).toHaveLength(7);
    const { body } = await use(app, idOf(1), now - 2 * day);
    expect(body).toMatchObject({ sessions_ended: 4, passkeys_removed: ['pk_since'], email: null });
    expect(await left(app)).toEqual(['pk_before', 'ses_before']);
    expect(await isLive(app, login)).toBe(false);
  });

  test('restores the address as it was typed', async () => {
    const app = await upgraded((at) => [
      session('ses_thief', at - 2 * day),
      ...notice(idOf(1), 'ses_thief', at - 2 * day),
      change(at - day),
      "UPDATE users SET email = 'evil@example.com', email_key = 'evil@example.com'",
    ]);
    expect((await use(app, idOf(1), now - 2 * day)).body.email).toBe('Ada@example.com');
  });

  test('beside this release it is ordered, too', async () => {
    const app = await upgraded(() => []);
    const login = await app.login('ada@example.com');
    const rows = [session('ses_old', 1), passkey('pk_old', 1), ...notice(idOf(2), 'ses_old', now)];
    for (const row of rows) await app.ctx.db.single.run(row, []);
    expect((await use(app, idOf(2), now)).body).toMatchObject({ passkeys_removed: ['pk_old'] });
    expect(await isLive(app, login)).toBe(true);
  });

  test('an ordinal is never drawn twice, whatever is deleted', async () => {
    const { db } = (await upgraded(() => [])).ctx;
    const drawn: number[] = [];
    const draw = async (table: string, id: string, row: string) => {
      await db.single.run(row, []);
      const query = `SELECT ordinal FROM ${table} WHERE id = '${id}'`;
      drawn.push((await db.read.run<{ ordinal: number }>(query, []))[0]!.ordinal);
    };
    await draw('sessions', 's1', session('s1', 1));
    await draw('passkeys', 'p1', passkey('p1', 1));
    await draw('sessions', 's2', session('s2', 1));
    await db.single.run("DELETE FROM sessions WHERE id <> 's1'", []);
    await draw('sessions', 's3', session('s3', 1));
    await draw('notices', 'n1', notice('n1', 's3', now)[0]!);
    await db.single.run("DELETE FROM users WHERE id = 'usr_a'", []);
    await db.single.run(account(now), []);
    await draw('passkeys', 'p2', passkey('p2', 1));
    await draw('sessions', 's4', session('s4', 1));
    expect(drawn).toEqual([...new Set(drawn)].toSorted((a, b) => a - b));
  });
});
