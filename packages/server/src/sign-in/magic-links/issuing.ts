import { importAccount, lockAccountOf } from '../../identity/account/account.ts';
import type { Context } from '../../platform/context.ts';
import { mintHandle, subjectBytes } from '../../platform/crypto/handle.ts';
import { noClient } from '../../platform/values/client-info.ts';
import { emailKeyOf } from '../../platform/values/email-key.ts';
import { recordEvent } from '../../security-log/events/events.ts';
import { notify } from '../../security-log/notices/notices.ts';
import * as store from './store.ts';

/**
 * For the operator: makes a sign-in link to the account of an address that emails do not reach, records it, and notifies the owner. With
 * `create`, an address without an account gets one, even where sign-up is closed. `show` is called before the commit, with the only copy
 * of the link.
 * @throws {AuthError} `not_found`; with `create`, what `importAccount` throws
 */
export async function issueSignInLink(
  ctx: Context,
  { email, create }: { readonly email: string; readonly create: boolean },
  show: (link: string) => Promise<void>,
): Promise<void> {
  const subject = ctx.random(subjectBytes);
  const now = ctx.clock();
  const expiresAt = now + ctx.config.magicLinkTtlSeconds * 1000;
  const token = mintHandle(ctx.keys, 'magicLink', { subject, value: expiresAt });
  let shown: Promise<void> | undefined;
  await ctx.db.transaction(async (tx) => {
    const { id: userId } = create ? await importAccount(ctx, tx, { email }) : await lockAccountOf(tx, email);
    await store.insertMagicLink(tx, {
      id: subject.toString('base64url'),
      email,
      email_key: emailKeyOf(email),
      created_at: now,
      expires_at: expiresAt,
      ip_address: null,
      user_agent: null,
      language: null,
    });
    await notify(ctx, tx, { kind: 'sign_in_link_issued', userId, sessionId: null, client: noClient });
    await recordEvent(ctx, tx, { type: 'sign_in_link_issued', userId, detail: { by: 'operator' } });
    // A transaction may run again.
    shown ??= show(`${ctx.config.baseUrl}/magic-link#token=${token}`);
    await shown;
  });
}
