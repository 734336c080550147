import { type Kysely, SqliteAdapter, sql } from 'kysely';
import { emailKeyOf } from '../../values/email-key.ts';

// The key of an address used to be the address with its ASCII letters in lower case. Now its domain is in ASCII, so that
// all spellings of an international domain are one mailbox. Only addresses that are not ASCII get another key.

/** Columns with an address and the column with its key, by table. */
const addresses = [
  ['users', 'email', 'email_key'],
  ['magic_links', 'email', 'email_key'],
  ['email_changes', 'new_email', 'new_email_key'],
  ['email_changes', 'old_email', 'old_email_key'],
  ['outbox', 'recipient', 'recipient_key'],
] as const;

export async function up(db: Kysely<unknown>): Promise<void> {
  // The key of the recipient; null in a mail of an earlier release to an ASCII address.
  await sql`ALTER TABLE outbox ADD COLUMN recipient_key TEXT`.execute(db);
  for (const [table, email, key] of addresses) await replaceKeys(db, table, email, key);
}

async function replaceKeys(db: Kysely<unknown>, table: string, email: string, key: string): Promise<void> {
  const isSqlite = db.getExecutor().adapter instanceof SqliteAdapter;
  const [at, from] = [sql.ref(email), sql.table(table)];
  const bytes = isSqlite ? sql`length(cast(${at} AS BLOB))` : sql`octet_length(${at})`;
  const { rows } = await sql<{ id: string; address: string; key: string | null }>`
    SELECT id, ${at} AS address, ${sql.ref(key)} AS key FROM ${from} WHERE ${bytes} > length(${at})
    ORDER BY created_at, id`.execute(db);
  for (const row of rows) {
    const replacement = emailKeyOf(row.address);
    // Of several accounts that turn out to have the same mailbox, one gets its key: the one that has it already, or the
    // oldest. The others keep theirs, which no sign-in by email finds.
    if (replacement === row.key || (table === 'users' && (await isTaken(db, replacement)))) continue;
    await sql`UPDATE ${from} SET ${sql.ref(key)} = ${replacement} WHERE id = ${row.id}`.execute(db);
  }
}

async function isTaken(db: Kysely<unknown>, key: string): Promise<boolean> {
  const { rows } = await sql`SELECT id FROM users WHERE email_key = ${key}`.execute(db);
  return rows.length > 0;
}
