// What an earlier release has stored, and what it writes beside this one.

import { expect, test } from 'bun:test';
import { outcome } from '../../../../../tests/support/account.ts';
import { onBothDatabases, openApp, type TestApp } from '../../../../../tests/support/app.ts';
import { databaseUpTo } from '../../../../../tests/support/old-database.ts';
import { mintHandle } from '../crypto/handle.ts';
import { inLongTransaction } from './long-transaction.ts';

const day = 86_400_000;

/** What was stored is later than the clock says, which must not matter. */
const now = 2_000_000_000_000;

/** Inserts rows as the program before the migration does: with only these columns. */
const insert = (table: string, row: Readonly<Record<string, string | number | null>>): string => {
  const values = Object.values(row).map((value) => (typeof value === 'string' ? `'${value}'` : `${value}`));
  return `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${values.join(', ')})`;
};

const account = (at: number) =>
  insert('users', {
    ...{
      id: 'usr_a',
      email: 'Ada@example.com',
      email_key: 'ada@example.com',
      email_verified: 1,
      name: 'Ada',
    },
    ...{ webauthn_user_handle: 'h', revision: 1, session_epoch: 0, created_at: at, updated_at: at },
  });

const session = (id: string, at: number) =>
  insert('sessions', {
    ...{ id, user_id: 'usr_a', session_epoch: 0, kind: 'browser', method: 'magic_link', generation: 1 },
    ...{
      rotated_at: at,
      created_at: at,
      last_used_at: at,
      idle_expires_at: at + 60 * day,
      expires_at: at + 60 * day,
    },
  });

const passkey = (id: string, at: number) =>
  insert('passkeys', {
    ...{ id, user_id: 'usr_a', credential_id: id, public_key: '', counter: 0, name: id, aaguid: '' },
    ...{ device_type: 'multi_device', backed_up: 0, transports: '[]', created_at: at },
  });

const notice = (id: string, session_id: string, at: number) => [
  insert('notices', {
    ...{ id, user_id: 'usr_a', kind: 'new_browser', email_key: 'ada@example.com', session_id },
    ...{ created_at: at, expires_at: at + 7 * day },
  }),
  insert('outbox', {
    ...{
      id: `mail_${id}`,
      template: 'notice',
      recipient: 'Ada@example.com',
      recipient_key: 'ada@example.com',
    },
    ...{
      reference: id,
      user_id: 'usr_a',
      created_at: at,
      expires_at: at + day,
      next_attempt_at: at,
      attempts: 1,
    },
    sent_at: at,
  }),
];

const change = (at: number) =>
  insert('email_changes', {
    ...{
      id: 'c',
      user_id: 'usr_a',
      session_id: 'ses_thief',
      session_epoch: 0,
      new_email: 'evil@example.com',
    },
    ...{ new_email_key: 'evil@example.com', old_email: 'Ada@example.com', old_email_key: 'ada@example.com' },
    ...{ created_at: at, expires_at: at + 7 * day, changed_at: at },
  });

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

  const left = async (app: TestApp) => {
    const live =
      'SELECT id FROM sessions WHERE revoked_at IS NULL UNION ALL SELECT id FROM passkeys ORDER BY id';
    return (await app.ctx.db.read.run<{ id: string }>(live, [])).map(({ id }) => id);
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
    expect((await app.ask('GET', '/me', { token: login.access_token })).status).toBe(401);
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
    const answer = await use(app, idOf(2), now);
    expect(outcome(answer)).toBe('200');
    expect(answer.body).toMatchObject({ passkeys_removed: ['pk_old'] });
    expect((await app.ask('GET', '/me', { token: login.access_token })).status).toBe(200);
  });

  test('an ordinal is never drawn twice, whatever is deleted', async () => {
    const app = await upgraded(() => []);
    const drawn: number[] = [];
    const ordinalOf = async (table: string, id: string, row: string) => {
      await app.ctx.db.single.run(row, []);
      const query = `SELECT ordinal FROM ${table} WHERE id = '${id}'`;
      drawn.push((await app.ctx.db.read.run<{ ordinal: number }>(query, []))[0]!.ordinal);
    };
    await ordinalOf('sessions', 's1', session('s1', 1));
    await ordinalOf('passkeys', 'p1', passkey('p1', 1));
    await ordinalOf('sessions', 's2', session('s2', 1));
    await ordinalOf('sessions', 's3', session('s3', 1));
    await app.ctx.db.single.run("DELETE FROM sessions WHERE id <> 's1'", []);
    await ordinalOf('sessions', 's4', session('s4', 1));
    await ordinalOf('notices', 'n1', notice('n1', 's4', now)[0]!);
    await app.ctx.db.single.run("DELETE FROM users WHERE id = 'usr_a'", []);
    await app.ctx.db.single.run(account(now), []);
    await ordinalOf('passkeys', 'p2', passkey('p2', 1));
    await ordinalOf('sessions', 's5', session('s5', 1));
    expect(drawn).toEqual([...new Set(drawn)].toSorted((a, b) => a - b));
  });
});
