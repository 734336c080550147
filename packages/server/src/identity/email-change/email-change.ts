import type { Profile } from '@latchkey/contract/account';
import type { Caller, Context } from '../../platform/context.ts';
import { readHandle, subjectBytes } from '../../platform/crypto/handle.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError } from '../../platform/errors.ts';
import { enqueueMail } from '../../platform/mail/outbox.ts';
import { byClient, mailLimits } from '../../platform/rate-limits/by-client.ts';
import type { ClientInfo } from '../../platform/values/client-info.ts';
import { recordEvent, recordingRateLimits } from '../../security-log/events/events.ts';
import { noticeTtlSeconds, notify } from '../../security-log/notices/notices.ts';
import { requireActiveSession } from '../../sessions/sessions.ts';
import {
  emailKeyOf,
  getProfile,
  isEmailTaken,
  lockAccount,
  replaceEmail,
  requireAllowedDomain,
} from '../account/account.ts';
import { formerAddressTtlSeconds, returnsFrom, withoutReturns } from './former-addresses.ts';
import { emailChangeTemplate, emailRestoredTemplate, emailReturnedTemplate } from './mail.ts';
import * as store from './store.ts';

/**
 * Sends a link to the new address and voids every earlier one of the account. Whether another account has the
 * address, nobody looks before the mail is written.
 * `headers` tell where the caller stands with the limits.
 * @throws {AuthError} `signup_disabled` for an address of a domain that may not be used here; `rate_limited`
 */
export async function requestEmailChange(ctx: Context, caller: Caller, email: string, client: ClientInfo) {
  requireAllowedDomain(ctx, email);
  const counted = await recordingRateLimits(ctx, { ...caller, client }, () =>
    ctx.limiter.take(
      { limit: 'email_changes', key: caller.userId, isReported: true },
      ...mailLimits(emailKeyOf(email), client),
    ),
  );
  const now = ctx.clock();
  const id = ctx.random(subjectBytes).toString('base64url');
  const expiresAt = now + ctx.config.emailChangeTtlSeconds * 1000;
  const { userId, sessionId } = caller;
  try {
    await ctx.db.transaction(async (tx) => {
      const account = await lockAccount(tx, userId);
      await requireActiveSession(ctx, tx, caller);
      await store.voidPendingChanges(tx, { user_id: userId, now });
      await store.insertChange(tx, {
        id,
        user_id: userId,
        session_id: sessionId,
        session_epoch: account.session_epoch,
        new_email: email,
        new_email_key: emailKeyOf(email),
        now,
        expires_at: expiresAt,
      });
      await enqueueMail(ctx, tx, {
        template: emailChangeTemplate,
        recipient: email,
        reference: id,
        expiresAt,
        isUrgent: true,
      });
      await recordEvent(ctx, tx, { type: 'email_change_requested', userId, sessionId, client });
    });
  } catch (error) {
    await counted.refund();
    throw error;
  }
  ctx.wakeMailWorker();
  const sent = { status: 'sent' as const, expires_in: ctx.config.emailChangeTtlSeconds };
  return { sent, headers: counted.headers };
}

/** The link of a change ends with this many wrong addresses. */
const maxWrongAddresses = 5;

const refused = (detail: string) =>
  new AuthError(
    'invalid_grant',
    'The link is unknown, expired or already used, its login was ended, or neither a session of its account nor the current address came with it.',
    { detail },
  );

/** The id of the change that a link is for. Only links that were really issued count against the limit. */
async function readLink(ctx: Context, token: string, client: ClientInfo) {
  const handle = readHandle(ctx.keys, 'emailChange', token);
  if (!handle) throw refused('malformed');
  const { headers } = await ctx.limiter.take(byClient('link_logins', client));
  return { id: handle.subject.toString('base64url'), headers };
}

/** Whether the link of a change can still be used. */
const isOpen = (change: ChangeRow, now: number): boolean =>
  change.changed_at === null &&
  change.voided_at === null &&
  change.expires_at > now &&
  change.wrong_addresses < maxWrongAddresses;

type ChangeRow = Awaited<ReturnType<typeof store.findChange>>[number];

/** What a link would change, for a session of the account that asked for it. Spends nothing. */
export async function previewEmailChange(ctx: Context, token: string, caller: Caller, client: ClientInfo) {
  const { id, headers } = await readLink(ctx, token, client);
  const [change] = await store.findChange(ctx.db.read, { id });
  if (!change || !isOpen(change, ctx.clock())) throw refused('over');
  if (change.user_id !== caller.userId) throw refused('unproven');
  const { profile } = await getProfile(ctx.db.read, caller.userId);
  return { preview: { email: profile.email, new_email: change.new_email }, headers };
}

/**
 * Changes the address by the token of a link, once, and tells the old address. The link may have gone to somebody else
 * by a slip of the keyboard, so it counts only with a session of the account, or with the address that the account has
 * now. Whoever has both may be told that another account has the new address.
 * @throws {AuthError} `invalid_grant`, `account_disabled`; `conflict` where another account has the address;
 * `invalid_token` when the session ends meanwhile; `rate_limited`
 */
export async function verifyEmailChange(
  ctx: Context,
  link: { readonly token: string; readonly current_email?: string | undefined },
  caller: Caller | undefined,
  client: ClientInfo,
): Promise<{ profile: Profile; headers: Record<string, string> }> {
  const { id, headers } = await readLink(ctx, link.token, client);
  const result = await ctx.db.transaction(async (tx) => {
    const now = ctx.clock();
    const [change] = await store.findChange(tx, { id });
    if (!change || !isOpen(change, now)) return 'over';
    const account = await lockAccount(tx, change.user_id);
    if (caller?.userId === change.user_id) await requireActiveSession(ctx, tx, caller);
    else if (caller !== undefined || link.current_email === undefined) return 'unproven';
    else if (emailKeyOf(link.current_email) !== account.email_key) {
      await store.countWrongAddress(tx, { id, max_wrong_addresses: maxWrongAddresses, now });
      return 'wrong_address';
    }
    if (account.disabled_at !== null) {
      throw new AuthError('account_disabled', 'This account has been disabled.');
    }
    if (await isEmailTaken(ctx, tx, change.new_email, change.user_id)) throw emailTaken();
    const [spent] = await store.spendChange(tx, {
      id,
      old_email: account.email,
      old_email_key: account.email_key,
      max_wrong_addresses: maxWrongAddresses,
      now,
      undo_until: now + noticeTtlSeconds * 1000,
    });
    if (!spent) return 'over';
    const profile = await replaceEmail(ctx, tx, change.user_id, change.new_email);
    if (!profile) throw emailTaken();
    if (account.email === change.new_email) return profile;
    const { user_id: userId, session_id: sessionId } = change;
    await notifyOldAddress(ctx, tx, change, account, now, client);
    await recordEvent(ctx, tx, { type: 'email_changed', userId, sessionId, client });
    return profile;
  });
  // What was counted is committed before the refusal leaves.
  if (typeof result === 'string') throw refused(result);
  return { profile: result, headers };
}

/** Longer than a change can be undone after the last change that it is compared with. */
const madeSince = (now: number) => now - (formerAddressTtlSeconds + noticeTtlSeconds) * 1000;

/**
 * Tells the old address of a locked account that it was changed. The mail has an undo link unless the change goes back
 * to an address that the account had before: then links mailed in between stop working, too.
 */
async function notifyOldAddress(
  ctx: Context,
  tx: Executor,
  change: ChangeRow,
  old: { readonly email: string; readonly email_key: string },
  /** When it was changed: notices from later on do not tell of the change. */
  now: number,
  client: ClientInfo,
): Promise<void> {
  const { id, user_id: userId, session_id: sessionId } = change;
  const made = await store.listMade(tx, { user_id: userId, since: madeSince(now) });
  const earlier = made.filter((other) => other.id !== id);
  const leftAt = returnsFrom({ ...change, old_email_key: old.email_key }, earlier, now);
  if (leftAt === undefined) {
    const emailChange = { id, newEmail: change.new_email };
    const kind = 'email_changed';
    await notify(ctx, tx, { kind, userId, sessionId, client, emailChange, at: now, recipient: old.email });
    return;
  }
  await store.deleteNoticesSince(tx, { user_id: userId, after: leftAt, except_id: '' });
  await enqueueMail(ctx, tx, {
    template: emailReturnedTemplate,
    recipient: old.email,
    reference: id,
    expiresAt: now + noticeTtlSeconds * 1000,
  });
}

const emailTaken = () => new AuthError('conflict', 'Another account has this address.');

/** Voids the links that these logins of a locked account asked for. */
export async function voidEmailChanges(
  ctx: Context,
  tx: Executor,
  { userId, sessionIds }: { readonly userId: string; readonly sessionIds: readonly string[] },
): Promise<void> {
  await store.voidChangesOf(tx, {
    user_id: userId,
    session_ids: JSON.stringify(sessionIds),
    now: ctx.clock(),
  });
}

/** The changes of address of an account that can still be undone, oldest first. */
export async function listUndoableChanges(ctx: Context, tx: Executor, userId: string) {
  const now = ctx.clock();
  const made = await store.listMade(tx, { user_id: userId, since: madeSince(now) });
  return withoutReturns(made).filter((change) => change.expires_at > now);
}

type UndoableChange = Awaited<ReturnType<typeof listUndoableChanges>>[number];

/**
 * Puts back the address that a locked account had before this change, whatever was changed after it, and takes back
 * the notices that went out since, except the one whose link is being used. The address that is back.
 * @throws {AuthError} `conflict` where another account has it by now
 */
export async function undoEmailChanges(
  ctx: Context,
  tx: Executor,
  { first, usedNoticeId }: { readonly first: UndoableChange; readonly usedNoticeId: string },
  client: ClientInfo,
): Promise<string> {
  const now = ctx.clock();
  const userId = first.user_id;
  const changedSince = first.changed_at!;
  const restored = await replaceEmail(ctx, tx, userId, first.old_email!);
  if (!restored) throw emailTaken();
  const undone = await store.markUndone(tx, { user_id: userId, changed_since: changedSince, now });
  await store.deleteNoticesSince(tx, { user_id: userId, after: changedSince, except_id: usedNoticeId });
  // One mail to each address that the account does not have any more.
  const removed = new Map(undone.map((change) => [change.new_email_key, change]));
  removed.delete(emailKeyOf(restored.email));
  for (const change of removed.values()) {
    await enqueueMail(ctx, tx, {
      template: emailRestoredTemplate,
      recipient: change.new_email,
      reference: change.id,
      expiresAt: now + noticeTtlSeconds * 1000,
    });
  }
  await recordEvent(ctx, tx, { type: 'email_change_undone', userId, sessionId: first.session_id, client });
  return restored.email;
}
