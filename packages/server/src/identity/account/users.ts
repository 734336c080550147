import type { User } from '@latchkey/contract/users';
import type { Context } from '../../platform/context.ts';
import { resourceNotFound } from '../../platform/errors.ts';
import * as store from './store.ts';

type Row = Awaited<ReturnType<typeof store.findUserRecord>>[number];

export const userOf = (row: Row): User => ({
  id: row.id,
  email: row.email,
  email_verified: row.email_verified === 1,
  name: row.name,
  avatar_url: row.avatar_url,
  disabled: row.disabled_at !== null,
  created_at: new Date(row.created_at).toISOString(),
});

/** @throws {AuthError} `not_found` */
export async function getUser(ctx: Context, id: string): Promise<User> {
  const [row] = await store.findUserRecord(ctx.db.read, { id });
  if (!row) throw resourceNotFound();
  return userOf(row);
}

/** @throws {AuthError} `not_found` */
export async function lookupUser(ctx: Context, emailKey: string): Promise<User> {
  const [row] = await store.findUserRecordByEmail(ctx.db.read, { email_key: emailKey });
  if (!row) throw resourceNotFound();
  return userOf(row);
}
