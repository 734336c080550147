import type { DisownedNotice, NoticeKind } from '@latchkey/contract/notices';
import { lockAccount } from '../../identity/account/account.ts';
import {
  listUndoableChanges,
  undoEmailChanges,
  voidEmailChanges,
} from '../../identity/email-change/email-change.ts';
import type { Context } from '../../platform/context.ts';
import { readHandle } from '../../platform/crypto/handle.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError } from '../../platform/errors.ts';
import { enqueueMail } from '../../platform/mail/outbox.ts';
import type { ClientInfo } from '../../platform/values/client-info.ts';
import { recordEvent } from '../../security-log/events/events.ts';
import { disownedTemplate } from './mail.ts';
import { answerOf, merged, type Outcome, outcomeOf, type Undone } from './outcome.ts';
import { descentWithPlaces } from './places.ts';
import * as store from './store.ts';

/** How many devices an answer names. */
const maxDeviceNames = 20;

/** How long the mail about what was undone is tried; its notice is stored for longer. */
const outcomeMailTtlSeconds = 86_400;

const refused = (detail: string) =>
  new AuthError('invalid_grant', 'The link is unknown or has expired.', { detail });

type Account = Awaited<ReturnType<typeof lockAccount>>;

/**
 * "This was not me": ends the login that a notice tells of and undoes everything that it added, directly or by logins
 * that came of it: passkeys, approved devices, a changed address. Where an address is put back, every login of the
 * account ends. With `approver` it does the same for the browser login that approved the device, in this call or a
 * later one. Whoever uses the link again gets the same answer, and nothing more happens.
 * @throws {AuthError} `invalid_grant`; `conflict` where another account has the former address by now
 */
export async function disownNotice(
  ctx: Context,
  link: { readonly token: string; readonly approver?: boolean | undefined },
  client: ClientInfo,
): Promise<DisownedNotice> {
  const handle = readHandle(ctx.keys, 'notice', link.token);
  if (!handle) throw refused('malformed');
  const id = handle.subject.toString('base64url');
  const answer = await ctx.db.transaction(async (tx) => {
    const now = ctx.clock();
    const [found] = await store.findNotice(tx, { id, now });
    if (!found) throw refused('over');
    // The one lock of this transaction, and before everything else: approvals, new passkeys, new addresses and new
    // logins of the account wait for it, and then see that their login has ended.
    const account = await lockAccount(tx, found.user_id).catch((error) => {
      // The account was deleted since: the notice went with it.
      throw error instanceof AuthError && error.code === 'invalid_token' ? refused('over') : error;
    });
    const { kind, session_id: sessionId } = found;
    const [taken] = await store.takeNotice(tx, { id, now });
    if (taken) {
      const undone = await undoLogin(ctx, tx, account, { noticeId: id, kind, sessionId }, client);
      const approver = sessionId === null ? [] : await findApprover(tx, account, sessionId);
      await conclude(ctx, tx, account, id, { ...undone, approver: approver[0] ?? null });
    }
    const [used] = await store.findNotice(tx, { id, now });
    if (!used) throw refused('over');
    const outcome = outcomeOf(used);
    if (!link.approver || outcome.approver === null) return answerOf(used);

    const [takenToo] = await store.takeApprover(tx, { id, now });
    if (!takenToo) return answerOf(used);
    const cause = { noticeId: id, kind, sessionId: outcome.approver.id };
    const undone = await undoLogin(ctx, tx, account, cause, client);
    const both = { ...merged(outcome, undone, maxDeviceNames), approver: outcome.approver };
    await conclude(ctx, tx, account, id, both);
    return answerOf({ ...used, approver_disowned_at: now, outcome: JSON.stringify(both) });
  });
  ctx.wakeMailWorker();
  return answer;
}

const findApprover = (tx: Executor, { id }: Account, sessionId: string) =>
  store.findApprover(tx, { session_id: sessionId, user_id: id });

/** Keeps what was undone for whoever uses the link again, and tells the owner by mail. */
async function conclude(
  ctx: Context,
  tx: Executor,
  account: Account,
  id: string,
  outcome: Outcome,
): Promise<void> {
  await store.noteOutcome(tx, { id, outcome: JSON.stringify(outcome), restored_email: outcome.email });
  await enqueueMail(ctx, tx, {
    template: disownedTemplate,
    recipient: outcome.email ?? account.email,
    reference: id,
    expiresAt: ctx.clock() + outcomeMailTtlSeconds * 1000,
  });
}

/** Why a login of a locked account is disowned. */
interface Cause {
  readonly noticeId: string;
  readonly kind: NoticeKind;
  readonly sessionId: string | null;
}

/** Ends a login of a locked account and everything that came of it. */
async function undoLogin(
  ctx: Context,
  tx: Executor,
  account: Account,
  { noticeId, kind, sessionId }: Cause,
  client: ClientInfo,
): Promise<Undone> {
  const now = ctx.clock();
  const { id: userId } = account;
  const logins = await store.listLogins(tx, { user_id: userId });
  const changes = await listUndoableChanges(ctx, tx, userId);
  const { sessionIds, firstChange: first } = descentWithPlaces(sessionId, logins, changes, kind);
  const email = first && (await undoEmailChanges(ctx, tx, { first, usedNoticeId: noticeId }, client));
  const isLive = (login: (typeof logins)[number]) =>
    login.revoked_at === null && login.session_epoch === account.session_epoch && login.idle_expires_at > now;
  const ended = logins.filter((login) => isLive(login) && (email !== undefined || sessionIds.has(login.id)));
  const descended = [...sessionIds];
  const ids = JSON.stringify([...new Set([...descended, ...ended.map((login) => login.id)])]);
  await store.endLogins(tx, { user_id: userId, ids, now });
  const denied = await store.denyApproved(tx, { user_id: userId, ids, now });
  await voidEmailChanges(ctx, tx, { userId, sessionIds: descended });
  const passkeys = await store.deletePasskeysAdded(tx, { user_id: userId, ids: JSON.stringify(descended) });
  if (email !== undefined) await store.endAllSessions(tx, { user_id: userId });

  const devices = [...ended.filter((login) => login.kind === 'device'), ...denied];
  const undone = {
    email: email ?? null,
    sessions_ended: ended.length - ended.filter((login) => login.kind === 'device').length,
    devices_ended: devices.length,
    device_names: devices
      .flatMap(({ device_name, client_name }) => device_name ?? client_name ?? [])
      .slice(0, maxDeviceNames),
    passkeys_removed: passkeys.map(({ name }) => name),
  };
  for (const passkey of passkeys) {
    await recordEvent(ctx, tx, {
      type: 'passkey_removed',
      userId,
      ...(passkey.session_id === null ? {} : { sessionId: passkey.session_id }),
      client,
      detail: { passkey_id: passkey.id, name: passkey.name, reason: 'disowned' },
    });
  }
  await recordEvent(ctx, tx, {
    type: 'session_disowned',
    userId,
    ...(sessionId === null ? {} : { sessionId }),
    client,
    detail: {
      notice: kind,
      sessions: String(undone.sessions_ended),
      devices: String(undone.devices_ended),
      passkeys: String(undone.passkeys_removed.length),
    },
  });
  return undone;
}
