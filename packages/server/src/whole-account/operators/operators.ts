// What a service with the right `operate` sees of a user and may do. Every act names the service in the user's security log.

import { changeDisabled, requireUser, revokeAllSessions } from '../../identity/account/account.ts';
import type { CallingService, Context } from '../../platform/context.ts';
import type { PageRequest } from '../../platform/database/pagination.ts';
import { listMailsTo } from '../../platform/mail/outbox.ts';
import { noClient } from '../../platform/values/client-info.ts';
import { emailKeyOf } from '../../platform/values/email-key.ts';
import { listEvents } from '../../security-log/events/reading.ts';
import { listSessions } from '../../sessions/listing.ts';
import { revokeSession } from '../../sessions/revocation.ts';
import { withdrawApproval } from '../../sign-in/device/device.ts';

/** @throws {AuthError} `not_found` */
export async function listUserSessions(ctx: Context, userId: string, page: PageRequest) {
  await requireUser(ctx, userId);
  const { sessions, next_cursor } = await listSessions(ctx, { userId }, page);
  return { sessions: sessions.map(({ current: _, ...session }) => session), next_cursor };
}

/** @throws {AuthError} `not_found` */
export async function listUserEvents(ctx: Context, userId: string, page: PageRequest) {
  await requireUser(ctx, userId);
  return listEvents(ctx, { userId }, page);
}

/** @throws {AuthError} `not_found` */
export async function listUserEmails(ctx: Context, userId: string, page: PageRequest) {
  const { email } = await requireUser(ctx, userId);
  return listMailsTo(ctx, { userId, emailKey: emailKeyOf(email) }, page);
}

/** @throws {AuthError} `not_found` */
export async function setDisabledBy(
  ctx: Context,
  { id: by }: CallingService,
  userId: string,
  disabled: boolean,
): Promise<void> {
  await requireUser(ctx, userId);
  await changeDisabled(ctx, userId, disabled, by);
}

/** @throws {AuthError} `not_found` */
export async function revokeAllSessionsBy(
  ctx: Context,
  { id: by }: CallingService,
  userId: string,
): Promise<void> {
  await requireUser(ctx, userId);
  await revokeAllSessions(ctx, userId, by);
}

/** @throws {AuthError} `not_found`, also for a session of another user and for a key */
export const revokeSessionBy = (
  ctx: Context,
  { id: serviceId }: CallingService,
  userId: string,
  sessionId: string,
): Promise<void> => revokeSession(ctx, { userId, serviceId }, sessionId, noClient, withdrawApproval);
