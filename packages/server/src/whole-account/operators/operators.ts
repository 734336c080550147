// The lists that an operator sees of a user.

import { getUser } from '../../identity/account/users.ts';
import type { Context } from '../../platform/context.ts';
import type { PageRequest } from '../../platform/database/pagination.ts';
import { listMailsTo } from '../../platform/mail/outbox.ts';
import { emailKeyOf } from '../../platform/values/email-key.ts';
import { listEvents } from '../../security-log/events/reading.ts';
import { listSessions } from '../../sessions/listing.ts';

/** @throws {AuthError} `not_found` */
export async function listUserSessions(ctx: Context, userId: string, page: PageRequest) {
  await getUser(ctx, userId);
  const { sessions, next_cursor } = await listSessions(ctx, { userId }, page);
  return { sessions: sessions.map(({ current: _, ...session }) => session), next_cursor };
}

/** @throws {AuthError} `not_found` */
export async function listUserEvents(ctx: Context, userId: string, page: PageRequest) {
  await getUser(ctx, userId);
  return listEvents(ctx, { userId }, page);
}

/** @throws {AuthError} `not_found` */
export async function listUserEmails(ctx: Context, userId: string, page: PageRequest) {
  const { email } = await getUser(ctx, userId);
  return listMailsTo(ctx, { userId, emailKey: emailKeyOf(email) }, page);
}
