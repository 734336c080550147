import type { Profile } from '@latchkey/contract/account';
import type { Caller, Context, Requester } from '../../platform/context.ts';
import { readHandle, subjectBytes } from '../../platform/crypto/handle.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { Raced } from '../../platform/database/races.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { accountDisabled, conflict, invalidGrant, orThrow } from '../../platform/errors.ts';
import { enqueueMail } from '../../platform/mail/outbox.ts';
import { byClient, refundingOnError } from '../../platform/rate-limits/limiter.ts';
import type { ClientInfo } from '../../platform/values/client-address.ts';
import { emailKeyOf } from '../../platform/values/email-key.ts';
import { recordEvent, takeForUser } from '../../security-log/events/events.ts';
import { writeFeedEvent } from '../../security-log/feed-events/feed-events.ts';
import { deleteNoticesToOthers, noticeTtlSeconds, notify } from '../../security-log/notices/notices.ts';
import { lockAccountAs } from '../../sessions/sessions.ts';
import {
  getProfile,
  isEmailTaken,
  lockAccount,
  replaceEmail,
  requireAllowedDomain,
} from '../account/account.ts';
import { mailLimits } from '../known-browsers/known-browsers.ts';
import { emailChangeTemplate, emailRestoredTemplate } from './mail.ts';
import * as store from './store.ts';

/** Lifetime of the link that confirms a new address. */
const ttlSeconds = 3600;

/**
 * Sends a link to the new address and voids the account's earlier links. Whether another account has the
 * address is checked when the mail is written, so the response does not reveal it.
 * @throws {AuthError} `signup_disabled` if the domain of the address is not allowed; `rate_limited`
 */
export async function requestEmailChange(ctx: Context, by: Requester, email: string) {
  const { caller, client } = by;
  requireAllowedDomain(ctx, email);
  const counted = await takeForUser(
    ctx,
    { ...caller, client },
    { limit: 'email_changes', subject: caller.userId, isReported: true },
    ...mailLimits(emailKeyOf(email), client),
  );
  await refundingOnError(counted, () => ctx.db.transaction((tx) => createChange(ctx, tx, by, email)));
  ctx.wakeMailWorker();
  return { body: { status: 'sent' as const, expires_in: ttlSeconds }, headers: counted.headers };
}

async function createChange(ctx: Context, tx: Executor, by: Requester, email: string): Promise<void> {
  const { caller, client } = by;
  const { userId, sessionId } = caller;
  const id = ctx.random(subjectBytes).toString('base64url');
  const now = ctx.clock();
  const expiresAt = now + ttlSeconds * 1000;
  const account = await lockAccountAs(ctx, tx, caller);
  await store.voidPendingChanges(tx, { user_id: userId, now });
  const emailKey = emailKeyOf(email);
  await store.insertChange(tx, {
    id,
    user_id: userId,
    session_id: sessionId,
    session_epoch: account.session_epoch,
    new_email: email,
    new_email_key: emailKey,
    created_at: now,
    expires_at: expiresAt,
  });
  await enqueueMail(ctx, tx, {
    template: emailChangeTemplate,
    recipient: email,
    recipientKey: emailKey,
    userId,
    reference: id,
    expiresAt,
    isUrgent: true,
  });
  await recordEvent(ctx, tx, { type: 'email_change_requested', userId, sessionId, client });
}

/** A link stops working after this many wrong current addresses. */
const maxWrongAddresses = 5;

const refused = invalidGrant(
  'The link is unknown, expired or already used; its session has ended; or the request has neither a session of its account nor its current address.',
);

/** The id of the change that a link confirms. Forged links do not count against the rate limit. */
async function readLink(ctx: Context, token: string, client: ClientInfo) {
  const handle = readHandle(ctx.keys, 'emailChange', token);
  if (!handle) throw refused('malformed');
  const { headers } = await ctx.limiter.take(byClient('link_logins', client));
  return { id: handle.subject.toString('base64url'), headers };
}

type ChangeRow = Awaited<ReturnType<typeof store.findChange>>[number];

const isPending = (
  change: Pick<ChangeRow, 'changed_at' | 'voided_at' | 'expires_at' | 'wrong_addresses'>,
  now: number,
): boolean =>
  change.changed_at === null &&
  change.voided_at === null &&
  change.expires_at > now &&
  change.wrong_addresses < maxWrongAddresses;

/**
 * What a link would change, for a session of the account that requested it. Does not spend the link.
 * @throws {AuthError} `invalid_grant`, `rate_limited`
 */
export async function previewEmailChange(ctx: Context, { caller, client }: Requester, token: string) {
  const { id, headers } = await readLink(ctx, token, client);
  const [change] = await store.findChange(ctx.db.read, { id });
  if (!change || !isPending(change, ctx.clock())) throw refused('ended');
  if (change.user_id !== caller.userId) throw refused('unproven');
  const { profile } = await getProfile(ctx.db.read, caller.userId);
  return { body: { email: profile.email, new_email: change.new_email }, headers };
}

/**
 * Spends a link: changes the address and sends a notice to the old one. A typo may have sent the link to a
 * stranger, so it works only with a session of the account or with the account's current address. With
 * either, `conflict` may reveal that another account has the new address.
 * @throws {AuthError} `invalid_grant`, `account_disabled`; `conflict` if another account has the address;
 * `invalid_token` if the session ends meanwhile; `rate_limited`
 */
export async function verifyEmailChange(
  ctx: Context,
  link: { readonly token: string; readonly current_email?: string | undefined },
  caller: Caller | undefined,
  client: ClientInfo,
): Promise<{ body: Profile; headers: Record<string, string> }> {
  const { id, headers } = await readLink(ctx, link.token, client);
  const decided = await ctx.db.transaction(async (tx) => {
    const [found] = await store.findChange(tx, { id });
    if (!found) throw refused('ended');
    const account = await lockAccount(tx, found.user_id);
    // Under the lock, so that of concurrent addresses no more are compared than may be wrong.
    const [change] = await store.findChange(tx, { id });
    if (!change || !isPending(change, ctx.clock())) throw refused('ended');
    const isOwnLogin = caller?.userId === change.user_id && caller.kind !== 'key' && caller.kind !== 'run';
    if (isOwnLogin) await lockAccountAs(ctx, tx, caller);
    // The credential of another account, or of a program, never counts as a missing one.
    else if (caller !== undefined || link.current_email === undefined) throw refused('unproven');
    else if (emailKeyOf(link.current_email) !== account.email_key) {
      await store.countWrongAddress(tx, { id, max_wrong_addresses: maxWrongAddresses, now: ctx.clock() });
      return refused('wrong_address');
    }
    if (account.disabled_at !== null) throw accountDisabled();
    return applyChange(ctx, tx, change, account, client);
  });
  return { body: orThrow(decided), headers };
}

type LockedAccount = Awaited<ReturnType<typeof lockAccount>>;

/** Spends the link and replaces the address. @throws {AuthError} `invalid_grant` if it was spent before */
async function applyChange(
  ctx: Context,
  tx: Executor,
  change: ChangeRow,
  account: LockedAccount,
  client: ClientInfo,
): Promise<Profile> {
  const now = ctx.clock();
  const { id, user_id: userId, session_id: sessionId, new_email: newEmail } = change;
  if (await isEmailTaken(ctx, tx, newEmail, userId)) throw emailTaken();
  const [spent] = await store.spendChange(tx, {
    id,
    old_email: account.email,
    old_email_key: account.email_key,
    max_wrong_addresses: maxWrongAddresses,
    now,
    undo_until: now + noticeTtlSeconds * 1000,
  });
  if (!spent) throw refused('ended');
  const profile = await replaceEmail(ctx, tx, userId, newEmail);
  if (!profile) throw emailTaken();
  if (account.email === newEmail) return profile;
  const kind = 'email_changed';
  await notify(ctx, tx, { kind, userId, sessionId, client, newEmail, at: now, recipient: account.email });
  await recordEvent(ctx, tx, { type: 'email_changed', userId, sessionId, client });
  await announceEmailChange(ctx, tx, userId);
  return profile;
}

/** Announces to services that an account has another address. Call it last. */
export const announceEmailChange = (ctx: Context, tx: Executor, userId: string): Promise<void> =>
  writeFeedEvent(ctx, tx, { type: 'profile-changed', userId, detail: { fields: ['email'] } });

const emailTaken = () => conflict('Another account has this email address.');

/** Voids the links that a locked account requested and nobody has confirmed. Returns how many there were. */
export async function voidEmailChanges(ctx: Context, tx: Executor, userId: string): Promise<number> {
  const now = ctx.clock();
  const voided = await store.voidPendingChanges(tx, { user_id: userId, now });
  return voided.filter((change) => isPending({ ...change, voided_at: null }, now)).length;
}

/**
 * Gives a locked account its address at an ordinal again, if a link that was sent to `sentTo` may do that,
 * and tells the addresses that it loses; null if it keeps its address. Call `announceEmailChange` last.
 * @throws {AuthError} `conflict` if another account has that address now
 */
export async function restoreEmail(
  ctx: Context,
  tx: Executor,
  account: LockedAccount,
  { sentTo, since }: { readonly sentTo: string; readonly since: number },
): Promise<string | null> {
  const now = ctx.clock();
  const { id: userId } = account;
  const confirmed = await store.listConfirmed(tx, { user_id: userId });
  const email = addressToRestore(confirmed, { sentTo, since, current: account.email, now });
  if (email === undefined) return null;
  if (!(await replaceEmail(ctx, tx, userId, email))) throw emailTaken();
  const undone = await store.markUndone(tx, { user_id: userId, since, now });
  const emailKey = emailKeyOf(email);
  const removed = new Map(undone.map((change) => [change.new_email_key, change]));
  removed.delete(emailKey);
  for (const change of removed.values()) {
    await enqueueMail(ctx, tx, {
      template: emailRestoredTemplate,
      recipient: change.new_email,
      recipientKey: change.new_email_key,
      userId,
      reference: change.id,
      expiresAt: now + noticeTtlSeconds * 1000,
    });
  }
  await deleteNoticesToOthers(tx, { user_id: userId, email_key: emailKey });
  return email;
}

/** Locks an account, and before it the addresses that it has and had. @throws {Raced} */
export async function lockAccountAndAddresses(
  tx: Executor,
  userId: string,
  lock: (tx: Executor) => Promise<LockedAccount> = () => lockAccount(tx, userId),
): Promise<LockedAccount> {
  const addresses = await store.lockAddresses(tx, { user_id: userId });
  const account = await lock(tx);
  if (!addresses.some(({ email_key }) => email_key === account.email_key)) throw new Raced();
  return account;
}

export const { listReservedEmails } = store;

/** How long the first address that an account had is the only one that can be restored. */
export const formerAddressTtlSeconds = 30 * 86_400;

/** A change of address that was confirmed and not undone. `expires_at`: until when it can be undone. */
type ConfirmedChange = {
  [Column in 'old_email' | 'old_email_key' | 'changed_at' | 'expires_at' | 'ordinal']: NonNullable<
    Tables['email_changes'][Column]
  >;
};

interface Link {
  /** The address that the link was sent to. */
  readonly sentTo: string;
  /** The ordinal of the session that it concerns. */
  readonly since: number;
  /** The address of the account. */
  readonly current: string;
  readonly now: number;
}

/**
 * The address that the link of a notice restores: the one that the account had when the reported session
 * began, if the link was sent there and the account has left it within 7 days. Undefined if the account
 * keeps its address. Of several addresses within 30 days only the first is restored, so holding an address
 * briefly is not enough to take an account back. Letter case makes another address, but not another
 * mailbox. `changes` are in their order.
 */
export function addressToRestore(changes: readonly ConfirmedChange[], link: Link): string | undefined {
  const { sentTo, since, current, now } = link;
  const left = changes.find(({ ordinal }) => ordinal > since);
  if (!left || left.old_email === current || sentTo === current) return undefined;
  const isThere = ({ old_email_key }: ConfirmedChange) => old_email_key === left.old_email_key;
  const lastLeft = changes.findLast(isThere);
  const first = changes.find(({ changed_at }) => changed_at > now - formerAddressTtlSeconds * 1000);
  const canRestore =
    emailKeyOf(sentTo) === left.old_email_key && lastLeft!.expires_at > now && first && isThere(first);
  return canRestore ? left.old_email : undefined;
}
