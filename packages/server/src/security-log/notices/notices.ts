import type { NoticeKind } from '@latchkey/contract/notices';
import type { Context } from '../../platform/context.ts';
import { subjectBytes } from '../../platform/crypto/handle.ts';
import { sha256 } from '../../platform/crypto/hash.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { enqueueMail } from '../../platform/mail/outbox.ts';
import type { ClientInfo } from '../../platform/values/client-info.ts';
import { digestTemplate, noticeTemplate } from './mail.ts';
import * as store from './store.ts';

/** How long the link of a notice is good, and so how long the old address can undo a change of address. */
export const noticeTtlSeconds = 7 * 86_400;

export interface Notice {
  readonly kind: NoticeKind;
  readonly userId: string;
  /** The login that did what the notice tells of. */
  readonly sessionId: string;
  readonly client: ClientInfo;
  readonly clientName?: string | null;
  readonly deviceName?: string | null;
  readonly passkeyName?: string;
  readonly emailChange?: { readonly id: string; readonly newEmail: string };
  /** Milliseconds since 1970; the clock's time if left out. */
  readonly at?: number;
  /** Where it goes, if not to the address of the account. */
  readonly recipient?: string;
}

/** The one digest of a window that goes to an address, by its id in the outbox. */
const digestIdOf = (windowId: string, recipient: string): string =>
  `mail_${sha256('notice digest', windowId, recipient).subarray(0, subjectBytes).toString('base64url')}`;

/**
 * Puts a notice to the owner of an account into the outbox, in the transaction of its cause. Beyond the limit for
 * notices of its kind it stands in a digest instead, which is sent when the window ends.
 */
export async function notify(ctx: Context, tx: Executor, notice: Notice): Promise<void> {
  const recipient =
    notice.recipient ?? (await store.findAddress(tx, { user_id: notice.userId })).at(0)?.email;
  if (recipient === undefined) return;
  const now = notice.at ?? ctx.clock();
  const id = ctx.random(subjectBytes).toString('base64url');
  const expiresAt = now + noticeTtlSeconds * 1000;
  const { quota, windowSeconds } = ctx.config.rateLimitQuotas.notices;
  const [window] = await store.countNotice(tx, {
    user_id: notice.userId,
    kind: notice.kind,
    id: ctx.random(subjectBytes).toString('base64url'),
    now,
    ends_at: now + windowSeconds * 1000,
  });
  if (!window) throw new Error('a notice was not counted');
  const digestId = window.notices > quota ? digestIdOf(window.id, recipient) : null;
  await store.insertNotice(tx, {
    id,
    user_id: notice.userId,
    kind: notice.kind,
    session_id: notice.sessionId,
    email_change_id: notice.emailChange?.id ?? null,
    client_name: notice.clientName ?? null,
    device_name: notice.deviceName ?? null,
    passkey_name: notice.passkeyName ?? null,
    new_email: notice.emailChange?.newEmail ?? null,
    ip_address: notice.client.ipAddress,
    user_agent: notice.client.userAgent,
    now,
    expires_at: expiresAt,
    digest_id: digestId,
  });
  if (digestId === null) {
    await enqueueMail(ctx, tx, { template: noticeTemplate, recipient, reference: id, expiresAt });
    return;
  }
  ctx.metrics.limitsHit.inc({ limit: 'notices' });
  await enqueueMail(ctx, tx, {
    id: digestId,
    template: digestTemplate,
    recipient,
    reference: window.id,
    due: window.ends_at,
    expiresAt: window.ends_at + noticeTtlSeconds * 1000,
  });
}
