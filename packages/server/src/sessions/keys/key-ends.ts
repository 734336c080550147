// Tells the owners of keys that a key is about to expire.

import { lockAccountRow } from '../../accounts/locks.ts';
import type { Context } from '../../platform/context.ts';
import { composeMessage } from '../../platform/mail/compose.ts';
import type { Template } from '../../platform/mail/message.ts';
import { repeat } from '../../platform/timers.ts';
import { mailOwner, referenceOf, writerForOwner } from '../../security-log/notices/notices.ts';
import * as store from '../store.ts';

export const keyEndsTemplate = 'key_ends';

/** How long before its end a key is announced. */
const leadMs = 7 * 86_400_000;

const pauseMs = 5 * 60_000;
const batchSize = 100;

/**
 * Announces each long-lived key that ends within 7 days, once, whichever nodes do this at the same time. A key whose time came while no
 * node ran is announced late.
 */
export async function announceKeyEnds(ctx: Context, signal?: AbortSignal): Promise<void> {
  for (let announced = batchSize; announced > 0; ) {
    announced = 0;
    const now = ctx.clock();
    const keys = await store.listKeysToAnnounce(ctx.db.read, { now, before: now + leadMs, limit: batchSize });
    for (const key of keys) {
      if (signal?.aborted) return;
      if (await announce(ctx, key)) announced++;
    }
  }
}

/** Returns whether this call announced the key, and no other. */
const announce = (ctx: Context, { id, user_id: userId }: { id: string; user_id: string }): Promise<boolean> =>
  ctx.db.transaction(async (tx) => {
    const [account] = await lockAccountRow(tx, { id: userId });
    const [marked] = await store.markAnnounced(tx, { id, now: ctx.clock() });
    if (!account || !marked) return false;
    const { email: recipient, email_key: recipientKey } = account;
    const mail = { template: keyEndsTemplate, recipient, recipientKey, userId, reference: id };
    await mailOwner(ctx, tx, { ...mail, expiresAt: marked.expires_at });
    return true;
  });

/** Has no link: the reader needs to do nothing, and a new key needs a recent sign-in. Not sent if the key has ended meanwhile. */
export const keyEndsMail: Template = async (ctx, mail) => {
  const { reference: id, language } = referenceOf(mail);
  const [key] = await store.findActiveKey(ctx.db.read, { id, now: ctx.clock() });
  if (!key) return undefined;
  const writer = await writerForOwner(ctx, key.user_id, language);
  const { fill, when, texts } = writer;
  const { subject, what, expires, next } = texts.keyEnds;
  const time = when(key.expires_at);
  return composeMessage(writer, fill(subject), [
    fill(what, { time }),
    {
      facts: [
        { label: texts.notice.key, claimed: key.client_name ?? '' },
        { label: expires, value: time },
      ],
    },
    next,
  ]);
};

/** Announces again and again until it is aborted, on every node. */
export const keepAnnouncingKeyEnds = (ctx: Context, signal: AbortSignal): Promise<void> =>
  repeat(ctx.timers, pauseMs, signal, () =>
    announceKeyEnds(ctx, signal).catch(() => ctx.log.warn('the ends of keys were not announced')),
  );
