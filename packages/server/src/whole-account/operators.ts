// The lists that an operator sees of a user.

import type { AddressReport } from '@latchkey/contract/users';
import { findAccountOf, maySignUp } from '../identity/account/account.ts';
import { getUser } from '../identity/account/users.ts';
import { listOrganizations } from '../identity/organizations/organizations.ts';
import type { Context } from '../platform/context.ts';
import type { PageRequest } from '../platform/database/pagination.ts';
import { listMailsTo } from '../platform/mail/outbox.ts';
import { emailKeyOf } from '../platform/values/email-key.ts';
import { listEvents } from '../security-log/events/reading.ts';
import { listKeys } from '../sessions/keys/keys.ts';
import { listSessions } from '../sessions/sessions.ts';
import { listPasskeys } from '../sign-in/passkeys/passkeys.ts';

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

/** How many entries of each list a report has. */
const maxReported = 100;

/** Why a person with this address can or cannot sign in, whether or not there is an account. */
export async function reportOnAddress(ctx: Context, email: string): Promise<AddressReport> {
  const emailKey = emailKeyOf(email);
  const userId = (await findAccountOf(ctx.db.read, email))?.id;
  const page: PageRequest = { limit: maxReported };
  const { emails } = await listMailsTo(ctx, { userId: userId ?? '', emailKey }, page);
  const report = { sign_up_allowed: maySignUp(ctx, emailKey), emails };
  if (userId === undefined) return { user: null, ...report, passkeys: [], keys: [], organizations: [] };
  return {
    user: await getUser(ctx, userId),
    ...report,
    passkeys: await listPasskeys(ctx, { userId }),
    keys: (await listKeys(ctx, { userId }, page)).keys,
    organizations: (await listOrganizations(ctx, userId, page)).organizations,
  };
}
