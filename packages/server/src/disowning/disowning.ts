import type { DisownedNotice } from '@latchkey/contract/notices';
import { lockAccount } from '../account/account.ts';
import type { Context, Requester } from '../context.ts';
import { readHandle } from '../crypto/handle.ts';
import type { Executor } from '../database/executor.ts';
import { undoEmailChanges } from '../email-change/email-change.ts';
import { AuthError } from '../errors.ts';
import { recordEvent } from '../events/events.ts';
import * as store from './store.ts';

/** What a disowned login added is undone from this long before the notice on. */
const undoneBeforeNoticeMs = 3_600_000;

/** More logins than this are not followed one by one: all of the account are ended. */
const greatestLogins = 200;

const refused = (detail: string) =>
  new AuthError('invalid_grant', 'The link is unknown or its time is over.', { detail });

/**
 * "This was not me": ends the login that a notice tells of and undoes what it added since an hour before: passkeys,
 * the logins made with them, approved devices, a changed address; and the same for each login it led to. Where an
 * address comes back, every login of the account ends. Whoever uses the link again is told the same, and nothing
 * more happens.
 * @throws {AuthError} `invalid_grant`; `conflict` where another account has the former address by now
 */
export async function disownNotice(
  ctx: Context,
  token: string,
  requester: Requester,
): Promise<DisownedNotice> {
  const handle = readHandle(ctx.keys, 'notice', token);
  if (!handle) throw refused('malformed');
  const id = handle.subject.toString('base64url');
  return ctx.db.transaction(async (tx) => {
    const now = ctx.clock();
    const [found] = await store.findNotice(tx, { id, now });
    if (!found) throw refused('over');
    await lockAccount(tx, found.user_id).catch((error) => {
      // The account was deleted since: the notice went with it.
      throw error instanceof AuthError && error.code === 'invalid_token' ? refused('over') : error;
    });
    const [notice] = await store.takeNotice(tx, { id, now });
    if (!notice) {
      const [done] = await store.findNotice(tx, { id, now });
      if (!done) throw refused('over');
      return { kind: done.kind, email: done.restored_email };
    }
    const since = notice.created_at - undoneBeforeNoticeMs;
    const { user_id: userId, session_id: sessionId } = notice;
    const undone = await undoLogin(tx, { userId, sessionId, since, now });
    const email = await undoEmailChanges(
      ctx,
      tx,
      { userId, changeId: notice.email_change_id, sessionIds: undone.sessionIds, since },
      requester,
    );
    if (email !== undefined) await store.noteRestored(tx, { id, restored_email: email });
    if (email !== undefined || undone.isCutShort) await store.endAllSessions(tx, { user_id: userId });
    for (const passkey of undone.passkeys) {
      await recordEvent(ctx, tx, {
        type: 'passkey_removed',
        userId,
        sessionId: passkey.addedBy,
        requester,
        detail: { passkey_id: passkey.id, name: passkey.name, reason: 'disowned' },
      });
    }
    await recordEvent(ctx, tx, {
      type: 'session_disowned',
      userId,
      ...(sessionId === null ? {} : { sessionId }),
      requester,
      detail: { notice: notice.kind, passkeys: String(undone.passkeys.length) },
    });
    return { kind: notice.kind, email: email ?? null };
  });
}

interface DisownedLogin {
  readonly userId: string;
  readonly sessionId: string | null;
  readonly since: number;
  readonly now: number;
}

interface UndoneLogin {
  readonly sessionIds: readonly string[];
  readonly passkeys: readonly { readonly id: string; readonly name: string; readonly addedBy: string }[];
  /** There were too many logins to follow. */
  readonly isCutShort: boolean;
}

/** Ends a login and all that it led to. */
async function undoLogin(
  tx: Executor,
  { userId: user_id, sessionId, since, now }: DisownedLogin,
): Promise<UndoneLogin> {
  const sessionIds = new Set(sessionId === null ? [] : [sessionId]);
  const limit = greatestLogins;
  const passkeys: UndoneLogin['passkeys'][number][] = [];
  // A set takes in what is added while it is walked.
  for (const session_id of sessionIds) {
    if (sessionIds.size > greatestLogins) break;
    await store.endSession(tx, { id: session_id, user_id, now });
    await store.denyApproved(tx, { session_id, user_id });
    const led = await store.listChildren(tx, { session_id, user_id, since, limit });
    for (const passkey of await store.deletePasskeysAdded(tx, { session_id, user_id, since })) {
      passkeys.push({ ...passkey, addedBy: session_id });
      led.push(...(await store.listStartedWith(tx, { passkey_id: passkey.id, user_id, limit })));
    }
    for (const { id } of led) sessionIds.add(id);
  }
  return { sessionIds: [...sessionIds], passkeys, isCutShort: sessionIds.size > greatestLogins };
}
