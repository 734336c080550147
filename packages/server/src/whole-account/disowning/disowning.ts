import type { DisownedNotice, NoticeKind, NoticePreview } from '@latchkey/contract/notices';
import { announceEndOfAll, endAllSessions, lockAccount } from '../../identity/account/account.ts';
import {
  announceEmailChange,
  listUndoableChanges,
  undoEmailChanges,
  voidEmailChanges,
} from '../../identity/email-change/email-change.ts';
import type { Context } from '../../platform/context.ts';
import { readHandle } from '../../platform/crypto/handle.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError, type ErrorDetail } from '../../platform/errors.ts';
import { enqueueMail } from '../../platform/mail/outbox.ts';
import { writerFor } from '../../platform/mail/writer.ts';
import type { ClientInfo } from '../../platform/values/client-info.ts';
import { recordEvent } from '../../security-log/events/events.ts';
import {
  findOpenNotice,
  findReader,
  spendNotice,
  spendNoticeForApprover,
  storeOutcome,
} from '../../security-log/notices/notices.ts';
import { announceEnded, disownSessions } from '../../sessions/ending.ts';
import { denyApprovedBy } from '../../sign-in/device/device.ts';
import { announcePasskey, removePasskeys } from '../../sign-in/passkeys/passkeys.ts';
import { disownedTemplate } from './mail.ts';
import { mergeUndone, type Outcome, outcomeOf, responseOf, type Undone } from './outcome.ts';
import { descentWithPlaces } from './places.ts';
import * as store from './store.ts';

/** How many device names a response lists at most. */
const maxDeviceNames = 20;

/** How long delivery of the mail about what was undone is attempted. Its notice is stored for longer. */
const outcomeMailTtlSeconds = 86_400;

const refused = (detail: ErrorDetail) =>
  new AuthError('invalid_grant', 'The link is unknown or has expired.', { detail });

type Account = Awaited<ReturnType<typeof lockAccount>>;

/**
 * "This wasn't me": ends the session that a security notice is about and undoes everything it added, directly or through
 * sessions that came from it: passkeys, keys, approved devices, a changed address. A passkey that one of them signed in with is
 * removed too, with every session that signed in with it. Restoring an address ends every session of the account and removes
 * every passkey added since the address was changed. With `approver`, does the same for the browser session that approved the device, in this call or a
 * later one. Using the link again returns the same response and changes nothing.
 * @throws {AuthError} `invalid_grant`; `conflict` if another account now has the former address
 */
export async function disownNotice(
  ctx: Context,
  link: { readonly token: string; readonly approver?: boolean | undefined },
  client: ClientInfo,
): Promise<DisownedNotice> {
  const id = noticeIdOf(ctx, link.token);
  const response = await ctx.db.transaction(async (tx) => {
    const notice = await findOpenNotice(ctx, tx, id);
    if (!notice) throw refused('ended');
    const account = await lockAccountOf(tx, notice.user_id);
    const { kind, session_id: sessionId } = notice;
    const [spent] = await spendNotice(tx, { id, now: ctx.clock() });
    if (spent) {
      const undone = await undoSession(ctx, tx, account, { noticeId: id, kind, sessionId }, client);
      const [approver] =
        sessionId === null
          ? []
          : await store.findApprover(tx, { session_id: sessionId, user_id: account.id });
      await conclude(ctx, tx, account, id, { ...undone, approver: approver ?? null });
    }
    const used = await findOpenNotice(ctx, tx, id);
    if (!used) throw refused('ended');
    const outcome = outcomeOf(used);
    if (!link.approver || outcome.approver === null) return responseOf(used);
    const [spentForApprover] = await spendNoticeForApprover(tx, { id, now: ctx.clock() });
    if (!spentForApprover) return responseOf(used);
    const cause = { noticeId: id, kind, sessionId: outcome.approver.id };
    const undone = await undoSession(ctx, tx, account, cause, client);
    const both = { ...mergeUndone(outcome, undone, maxDeviceNames), approver: outcome.approver };
    await conclude(ctx, tx, account, id, both);
    return responseOf({ ...used, approver_disowned_at: ctx.clock(), outcome: JSON.stringify(both) });
  });
  ctx.wakeMailWorker();
  return response;
}

/**
 * What the notice of a link is about, used or not, for the page that asks about it. Changes nothing.
 * @throws {AuthError} `invalid_grant`
 */
export async function previewNotice(ctx: Context, token: string): Promise<NoticePreview> {
  const notice = await findOpenNotice(ctx, ctx.db.read, noticeIdOf(ctx, token));
  if (!notice) throw refused('ended');
  const { kind, created_at, ip_address, user_id } = notice;
  const { fill, texts } = writerFor(ctx.config.product, await findReader(ctx.db.read, user_id));
  const subject = fill(texts.notices[kind].subject);
  return { kind, subject, created_at: new Date(created_at).toISOString(), ip_address };
}

function noticeIdOf(ctx: Context, token: string): string {
  const handle = readHandle(ctx.keys, 'notice', token);
  if (!handle) throw refused('malformed');
  return handle.subject.toString('base64url');
}

/**
 * Locks the account of a notice: the only lock of the transaction, and its first. Approvals, new passkeys, new addresses
 * and new sessions of the account wait for it and then find that their session has ended.
 */
const lockAccountOf = (tx: Executor, userId: string): Promise<Account> =>
  lockAccount(tx, userId).catch((error) => {
    // The account has been deleted since, and the notice with it.
    throw error instanceof AuthError && error.code === 'invalid_token' ? refused('ended') : error;
  });

/** Stores what was undone, for later uses of the link, and mails it to the owner of the account. */
async function conclude(
  ctx: Context,
  tx: Executor,
  account: Account,
  id: string,
  outcome: Outcome,
): Promise<void> {
  await storeOutcome(tx, { id, outcome: JSON.stringify(outcome), restored_email: outcome.email });
  await enqueueMail(ctx, tx, {
    template: disownedTemplate,
    recipient: outcome.email ?? account.email,
    userId: account.id,
    reference: id,
    expiresAt: ctx.clock() + outcomeMailTtlSeconds * 1000,
  });
}

/** The session to disown and the notice that leads to it. */
interface Cause {
  readonly noticeId: string;
  readonly kind: NoticeKind;
  readonly sessionId: string | null;
}

/** Ends a session of a locked account and everything that came from it. */
async function undoSession(
  ctx: Context,
  tx: Executor,
  account: Account,
  cause: Cause,
  client: ClientInfo,
): Promise<Undone> {
  const { noticeId, kind, sessionId } = cause;
  const { id: userId } = account;
  const sessions = await store.listSessionOrigins(tx, { user_id: userId });
  const changes = await listUndoableChanges(ctx, tx, userId);
  const { sessionIds, firstChange: first } = descentWithPlaces(sessionId, sessions, changes, kind);
  const restored = first && (await undoEmailChanges(ctx, tx, { first, usedNoticeId: noticeId }, client));
  const usedPasskeyIds = sessions
    .filter(({ id }) => sessionIds.has(id))
    .flatMap(({ passkey_id }) => passkey_id ?? []);
  const passkeys = await removePasskeys(tx, {
    userId,
    ids: usedPasskeyIds,
    sessionIds: [...sessionIds],
    emailChangeIds: restored?.changeIds ?? [],
  });
  const passkeyIds = new Set([...usedPasskeyIds, ...passkeys.map(({ id }) => id)]);
  const now = ctx.clock();
  const isActive = (session: (typeof sessions)[number]) =>
    session.revoked_at === null &&
    session.session_epoch === account.session_epoch &&
    session.idle_expires_at > now;
  const distrusted = sessions.filter(
    (session) =>
      sessionIds.has(session.id) ||
      passkeyIds.has(session.passkey_id ?? '') ||
      (first && (isActive(session) || session.created_at >= first.changed_at!)),
  );
  const ended = distrusted.filter(isActive);
  const all = { userId, sessionIds: [...new Set([...sessionIds, ...distrusted.map(({ id }) => id)])] };
  const disowned = await disownSessions(ctx, tx, all);
  const denied = await denyApprovedBy(ctx, tx, all);
  await voidEmailChanges(ctx, tx, all);
  if (restored) await endAllSessions(tx, userId);

  const endedDevices = ended.filter(({ kind }) => kind === 'device' || kind === 'app');
  const endedKeys = ended.filter(({ kind }) => kind === 'key');
  const devices = [...endedDevices, ...denied];
  const undone = {
    email: restored?.email ?? null,
    sessions_ended: ended.filter(({ kind }) => kind === 'browser').length,
    devices_ended: devices.length,
    device_names: devices
      .flatMap(({ device_name, client_name }) => device_name ?? client_name ?? [])
      .slice(0, maxDeviceNames),
    passkeys_removed: passkeys.map(({ name }) => name),
    keys_removed: endedKeys.map(({ client_name }) => client_name ?? ''),
  };
  await recordUndone(ctx, tx, userId, cause, undone, passkeys, client);
  for (const passkey of passkeys) await announcePasskey(ctx, tx, passkey, 'delete');
  if (!restored) await announceEnded(ctx, tx, userId, disowned);
  else {
    await announceEmailChange(ctx, tx, userId);
    await announceEndOfAll(ctx, tx, userId);
  }
  return undone;
}

/** Records what was undone in the security log: each removed passkey, then the disowned session. */
async function recordUndone(
  ctx: Context,
  tx: Executor,
  userId: string,
  { kind, sessionId }: Cause,
  undone: Undone,
  passkeys: Awaited<ReturnType<typeof removePasskeys>>,
  client: ClientInfo,
): Promise<void> {
  for (const { id, name, session_id } of passkeys) {
    await recordEvent(ctx, tx, {
      type: 'passkey_removed',
      userId,
      sessionId: session_id,
      client,
      detail: { passkey_id: id, name, reason: 'disowned' },
    });
  }
  await recordEvent(ctx, tx, {
    type: 'session_disowned',
    userId,
    sessionId,
    client,
    detail: {
      notice: kind,
      sessions: String(undone.sessions_ended),
      devices: String(undone.devices_ended),
      passkeys: String(undone.passkeys_removed.length),
      keys: String(undone.keys_removed.length),
    },
  });
}
