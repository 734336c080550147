import type { DisownedNotice, NoticePreview } from '@latchkey/contract/notices';
import { announceEndOfAll, endAllSessions } from '../identity/account/account.ts';
import {
  announceEmailChange,
  lockAccountAndAddresses,
  restoreEmail,
  voidEmailChanges,
} from '../identity/email-change/email-change.ts';
import type { Context } from '../platform/context.ts';
import { readHandle } from '../platform/crypto/handle.ts';
import type { Executor } from '../platform/database/executor.ts';
import { untilDone } from '../platform/database/races.ts';
import { AuthError, invalidGrant } from '../platform/errors.ts';
import type { ClientInfo } from '../platform/values/client-address.ts';
import { emailKeyOf } from '../platform/values/email-key.ts';
import { recordEvent } from '../security-log/events/events.ts';
import { findOpenNotice, mailOwner, useNotices, writerForOwner } from '../security-log/notices/notices.ts';
import { announceEnds, disownSessions, listInUse } from '../sessions/ending.ts';
import { timesOfUse } from '../sessions/status.ts';
import { spendCodes } from '../sign-in/authorize/authorize.ts';
import { denyApproved } from '../sign-in/device/device.ts';
import { voidMagicLinksTo } from '../sign-in/magic-links/magic-links.ts';
import { announcePasskey, deletePasskeys } from '../sign-in/passkeys/passkeys.ts';
import { disownedTemplate, mergeUndone, readUndone, type Undone, undoneOf } from './mail.ts';
import * as store from './store.ts';

/** How long delivery of the mail about what was undone is attempted. Its notice is stored for longer. */
const outcomeMailTtlSeconds = 86_400;

/** How far the clock of a machine may be set back after a run has ended, so that it is not over yet. */
const clockStepMs = 300_000;

const refused = invalidGrant('The link is unknown or has expired.');

type Account = Awaited<ReturnType<typeof lockAccountAndAddresses>>;
type OpenNotice = NonNullable<Awaited<ReturnType<typeof findOpenNotice>>>;

/**
 * "This wasn't me": undoes everything since the session of a security notice began, no matter who did it;
 * with `approver`, in this call or a later one, since the browser session that approved it began. Using the
 * link again, or one about a session that was undone, changes nothing.
 * @throws {AuthError} `invalid_grant`; `conflict` if another account now has the address that would be
 * restored
 */
export async function disownNotice(
  ctx: Context,
  link: { readonly token: string; readonly approver?: boolean | undefined },
  client: ClientInfo,
): Promise<DisownedNotice> {
  const id = noticeIdOf(ctx, link.token);
  let response: DisownedNotice | undefined;
  await untilDone(ctx.db, 'the address of an account kept changing while it was being locked', async (tx) => {
    const { user_id: userId } = await requireNotice(ctx, tx, id);
    const account = await lockAccount(tx, userId);
    response = await useLink(ctx, tx, account, await requireNotice(ctx, tx, id), link, client);
    return 'done';
  });
  ctx.wakeMailWorker();
  return response!;
}

/** @throws {AuthError} `invalid_grant` */
async function requireNotice(ctx: Context, on: Executor, id: string): Promise<OpenNotice> {
  const notice = await findOpenNotice(ctx, on, id);
  if (!notice) throw refused('ended');
  return notice;
}

/** Whatever changes something of the account waits for these locks, and then finds what was undone. */
const lockAccount = (tx: Executor, userId: string): Promise<Account> =>
  lockAccountAndAddresses(tx, userId).catch((error) => {
    // The account has been deleted since, and the notice with it.
    throw error instanceof AuthError && error.code === 'invalid_token' ? refused('ended') : error;
  });

async function useLink(
  ctx: Context,
  tx: Executor,
  account: Account,
  notice: OpenNotice,
  link: { readonly approver?: boolean | undefined },
  client: ClientInfo,
): Promise<DisownedNotice> {
  const { id, kind, session_id, undoes_since, sent_to: sentTo } = notice;
  const [origin] = await store.findOrigin(tx, { session_id, user_id: account.id });
  const approver = origin?.id == null ? undefined : { ...origin, ordinal: origin.ordinal! };
  const isDisowned = approver?.distrusted_as === 'disowned';
  const undoesApprover = link.approver === true && approver !== undefined && !isDisowned;
  let undone = notice.outcome === null ? undefined : readUndone(notice.outcome);
  if (undone === undefined || undoesApprover) {
    const since = undoesApprover ? approver.ordinal : undoes_since;
    const passkeyIds = [origin?.passkey_id, undoesApprover ? approver.approver_passkey_id : null];
    const cause = { notice, since, sentTo, passkeyIds: passkeyIds.flatMap((passkeyId) => passkeyId ?? []) };
    undone = mergeUndone(undone, await undoSince(ctx, tx, account, cause, client));
    await useNotices(ctx, tx, { userId: account.id, id, since, outcome: JSON.stringify(undone) });
    const recipient = undone.email ?? account.email;
    await mailOwner(ctx, tx, {
      template: disownedTemplate,
      recipient,
      recipientKey: emailKeyOf(recipient),
      userId: account.id,
      reference: id,
      expiresAt: ctx.clock() + outcomeMailTtlSeconds * 1000,
    });
  }
  return {
    kind,
    ...undone,
    approver: approver
      ? {
          created_at: new Date(approver.created_at!).toISOString(),
          ip_address: approver.ip_address,
          user_agent: approver.user_agent,
          disowned: isDisowned || undoesApprover,
        }
      : null,
  };
}

/** What the notice of a link is about, used or not. @throws {AuthError} `invalid_grant` */
export async function previewNotice(ctx: Context, token: string): Promise<NoticePreview> {
  const notice = await requireNotice(ctx, ctx.db.read, noticeIdOf(ctx, token));
  const { kind, created_at, ip_address, user_id } = notice;
  const { fill, texts } = await writerForOwner(ctx, user_id);
  const subject = fill(texts.notices[kind].subject);
  return { kind, subject, created_at: new Date(created_at).toISOString(), ip_address };
}

function noticeIdOf(ctx: Context, token: string): string {
  const handle = readHandle(ctx.keys, 'notice', token);
  if (!handle) throw refused('malformed');
  return handle.subject.toString('base64url');
}

interface Cause {
  readonly notice: OpenNotice;
  readonly since: number;
  readonly sentTo: string;
  /** The passkeys by which the reported session and its approver came. */
  readonly passkeyIds: readonly string[];
}

/** Undoes everything since an ordinal of a locked account. What was there before stays. */
async function undoSince(
  ctx: Context,
  tx: Executor,
  account: Account,
  { notice, since, sentTo, passkeyIds }: Cause,
  client: ClientInfo,
): Promise<Undone> {
  const { id: userId } = account;
  const owner = { user_id: userId, ...timesOfUse(ctx) };
  const before = await listInUse(tx, owner);
  const email = await restoreEmail(ctx, tx, account, { sentTo, since });
  const undoing = { since, passkey_ids: JSON.stringify(passkeyIds) };
  const passkeys = await deletePasskeys(tx, { user_id: userId, ...undoing });
  await disownSessions(tx, { ...owner, ...undoing, ended_before: owner.now - clockStepMs });
  if (email !== null) await endAllSessions(tx, userId);
  const approvals = [...(await denyApproved(tx, owner)), ...(await spendCodes(tx, owner))];
  let links = await voidEmailChanges(ctx, tx, userId);
  for (const emailKey of new Set([account.email_key, emailKeyOf(email ?? account.email)]))
    links += await voidMagicLinksTo(ctx, tx, emailKey);
  const left = new Set((await listInUse(tx, owner)).map(({ id }) => id));
  const ended = before.filter(({ id }) => !left.has(id));
  const undone = undoneOf(email, ended, approvals, passkeys, links);
  await recordUndone(ctx, tx, userId, notice, undone, passkeys, client);
  for (const passkey of passkeys) await announcePasskey(ctx, tx, passkey, 'delete');
  if (email === null) await announceEnds(ctx, tx, userId, ended);
  else {
    await announceEmailChange(ctx, tx, userId);
    await announceEndOfAll(ctx, tx, userId);
  }
  return undone;
}

/** Records in the security log what was undone: each removed passkey, a restored address, then all of it. */
async function recordUndone(
  ctx: Context,
  tx: Executor,
  userId: string,
  { kind, session_id: sessionId }: OpenNotice,
  undone: Undone,
  passkeys: Awaited<ReturnType<typeof deletePasskeys>>,
  client: ClientInfo,
): Promise<void> {
  const cause = { userId, sessionId, client };
  for (const { id, name } of passkeys) {
    const detail = { passkey_id: id, name, reason: 'disowned' };
    await recordEvent(ctx, tx, { ...cause, type: 'passkey_removed', detail });
  }
  if (undone.email !== null) await recordEvent(ctx, tx, { ...cause, type: 'email_change_undone' });
  const { sessions_ended, devices_ended, device_names, passkeys_removed, keys_removed } = undone;
  await recordEvent(ctx, tx, {
    ...cause,
    type: 'session_disowned',
    detail: {
      notice: kind,
      sessions: String(sessions_ended),
      devices: String(devices_ended),
      passkeys: String(passkeys_removed.length),
      keys: String(keys_removed.length),
      runs: String(undone.runs_ended),
      links: String(undone.links_voided),
      ...namesIn('device_names', device_names),
      ...namesIn('passkey_names', passkeys_removed),
      ...namesIn('key_names', keys_removed),
    },
  });
}

/** Names as a JSON array, since they may contain anything. */
const namesIn = (member: string, names: readonly string[]): Record<string, string> =>
  names.length === 0 ? {} : { [member]: JSON.stringify(names) };
