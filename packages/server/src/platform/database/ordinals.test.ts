// The place of each login, key, run and passkey in the order of its account.

import { expect, test } from 'bun:test';
import { onBothDatabases } from '#support/app.ts';
import { fresh } from '#support/shared.ts';

onBothDatabases('an ordinal', (open) => {
  const t = fresh(open);

  test('is never drawn twice, whatever is deleted', async () => {
    const { db } = t.ctx;
    const day = 86_400_000;
    const account = `INSERT INTO users (id, email, email_key, email_verified, name, webauthn_user_handle, revision, session_epoch, created_at, updated_at)
      VALUES ('usr_a', 'a@example.com', 'a@example.com', 1, 'Ada', 'h', 1, 0, 1, 1)`;
    const rows = {
      sessions: (id: string) =>
        `INSERT INTO sessions (id, user_id, session_epoch, kind, method, generation, rotated_at, created_at, last_used_at, idle_expires_at, expires_at)
         VALUES ('${id}', 'usr_a', 0, 'browser', 'magic_link', 1, 1, 1, 1, ${day}, ${day})`,
      passkeys: (id: string) =>
        `INSERT INTO passkeys (id, user_id, credential_id, public_key, counter, name, aaguid, device_type, backed_up, transports, created_at)
         VALUES ('${id}', 'usr_a', '${id}', '', 0, '${id}', '', 'multi_device', 0, '[]', 1)`,
      notices: (id: string) =>
        `INSERT INTO notices (id, user_id, kind, email_key, session_id, created_at, expires_at)
         VALUES ('${id}', 'usr_a', 'new_browser', 'a@example.com', 's3', 1, ${day})`,
    };
    const drawn: number[] = [];
    const draw = async (table: keyof typeof rows, id: string) => {
      await db.single.run(rows[table](id), []);
      const query = `SELECT ordinal FROM ${table} WHERE id = '${id}'`;
      drawn.push((await db.read.run<{ ordinal: number }>(query, []))[0]!.ordinal);
    };
    await db.single.run(account, []);
    await draw('sessions', 's1');
    await draw('passkeys', 'p1');
    await draw('sessions', 's2');
    await db.single.run("DELETE FROM sessions WHERE id <> 's1'", []);
    await draw('sessions', 's3');
    await draw('notices', 'n1');
    await db.single.run("DELETE FROM users WHERE id = 'usr_a'", []);
    await db.single.run(account, []);
    await draw('passkeys', 'p2');
    await draw('sessions', 's4');
    expect(drawn).toEqual([...new Set(drawn)].toSorted((a, b) => a - b));
  });
});
