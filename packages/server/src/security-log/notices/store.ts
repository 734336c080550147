import type { NoticeKind } from '@latchkey/contract/notices';
import { type Expression, sql } from 'kysely';
import { lookup } from '../../platform/database/lookup.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { named, statement } from '../../platform/database/statement.ts';
import { sweepStatement } from '../../platform/database/sweep.ts';
import { textsOf } from '../../platform/database/texts.ts';

/** The address that an account's notices go to; no row when the account is gone. */
export const findAddress = statement<{ user_id: string }>()((db, p) =>
  db.selectFrom('users').select('email').where('id', '=', p.user_id),
);

/** What decides how times are written to the owner of an account; no row when it is gone. */
export const findReader = lookup((db, p) =>
  db.selectFrom('users').select(['locale', 'time_zone']).where('id', '=', p.id),
);

/**
 * Counts a notice in the current window of an account and kind, or starts the next one under a new `id`, of `window_ms`.
 * Locks the window until the transaction ends, so that its digest does not miss a notice that was counted.
 */
export const countNotice = statement<{
  user_id: string;
  kind: NoticeKind;
  id: string;
  ends_at: number;
  window_ms: number;
}>()((db, p) =>
  db
    .insertInto('notice_windows')
    .values({ user_id: p.user_id, kind: p.kind, id: p.id, notices: 1, ends_at: p.ends_at })
    .onConflict((c) =>
      c.columns(['user_id', 'kind']).doUpdateSet((e) => {
        const hasEnded = sql<boolean>`notice_windows.ends_at <= excluded.ends_at - ${p.window_ms}`;
        const next = <T>(fresh: Expression<T>, current: Expression<T>) =>
          sql<T>`case when ${hasEnded} then ${fresh} else ${current} end`;
        return {
          id: next(e.ref('excluded.id'), e.ref('notice_windows.id')),
          notices: next(e.lit(1), e('notice_windows.notices', '+', 1)),
          ends_at: next(e.ref('excluded.ends_at'), e.ref('notice_windows.ends_at')),
        };
      }),
    )
    .returning(['id', 'notices', 'ends_at']),
);

/**
 * Closes a window: from then on no notice counts towards it, and every notice that did is committed. Closing it again
 * does nothing.
 */
export const closeWindow = statement<{ id: string }>()((db, p) =>
  db.deleteFrom('notice_windows').where('id', '=', p.id),
);

/** Deletes a batch of windows that ended before a moment. */
export const sweepNoticeWindows = sweepStatement()('notice_windows', 'id', (e, p) =>
  e('ends_at', '<', p.before),
);

export const insertNotice = statement<
  Omit<Tables['notices'], 'disowned_at' | 'restored_email' | 'outcome' | 'approver_disowned_at'>
>()((db, p) =>
  db.insertInto('notices').values({
    ...named(p, ['id', 'user_id', 'kind', 'email_key', 'session_id', 'email_change_id', 'client_name']),
    ...named(p, ['device_name', 'passkey_name', 'new_email', 'ip_address', 'user_agent']),
    ...named(p, ['created_at', 'expires_at', 'digest_id']),
  }),
);

export const findNotice = lookup((db, p) => db.selectFrom('notices').selectAll().where('id', '=', p.id));

/** The notices of a digest, newest first. */
export const listDigest = statement<{ digest_id: string; limit: number }>()((db, p) =>
  db
    .selectFrom('notices')
    .selectAll()
    .where('digest_id', '=', p.digest_id)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.limit),
);

export const countDigest = statement<{ digest_id: string }>()((db, p) =>
  db
    .selectFrom('notices')
    .select((e) => e.fn.countAll<number>().as('notices'))
    .where('digest_id', '=', p.digest_id),
);

/** A notice whose link has not expired, used or not. */
export const findOpenNotice = statement<{ id: string; now: number }>()((db, p) =>
  db.selectFrom('notices').selectAll().where('id', '=', p.id).where('expires_at', '>', p.now),
);

/** Spends the link of a notice; a row for exactly one caller. */
export const spendNotice = statement<{ id: string; now: number }>()((db, p) =>
  db
    .updateTable('notices')
    .set({ disowned_at: p.now })
    .where('id', '=', p.id)
    .where('disowned_at', 'is', null)
    .where('expires_at', '>', p.now)
    .returning('id'),
);

/** Spends the link a second time, for the session that approved the device; a row for exactly one caller. */
export const spendNoticeForApprover = statement<{ id: string; now: number }>()((db, p) =>
  db
    .updateTable('notices')
    .set({ approver_disowned_at: p.now })
    .where('id', '=', p.id)
    .where('disowned_at', 'is not', null)
    .where('approver_disowned_at', 'is', null)
    .where('expires_at', '>', p.now)
    .returning('id'),
);

/** Stores what the link of a notice undid, as JSON, and the address that was restored. */
export const storeOutcome = statement<{ id: string; outcome: string; restored_email: string | null }>()(
  (db, p) =>
    db
      .updateTable('notices')
      .set({ outcome: p.outcome, restored_email: p.restored_email })
      .where('id', '=', p.id),
);

type NoticesTo = { user_id: string; email_keys: string; except_id: string };

/** The newest notices of an account to these addresses, up to a limit for each kind, oldest first; leaves one out. */
export const listNewestTo = statement<NoticesTo & { limit: number }>()((db, p, dialect) =>
  db
    .selectFrom(
      db
        .selectFrom('notices')
        .selectAll()
        .select((e) =>
          e.fn
            .agg<number>('row_number')
            .over((over) => over.partitionBy('kind').orderBy('created_at', 'desc').orderBy('id', 'desc'))
            .as('position'),
        )
        .where('user_id', '=', p.user_id)
        .where('email_key', 'in', textsOf(p.email_keys, dialect))
        .where('id', '<>', p.except_id)
        .as('n'),
    )
    .selectAll()
    .where('position', '<=', p.limit)
    .orderBy('created_at')
    .orderBy('id'),
);

/** Deletes the notices of an account to these addresses, except one. Their links stop working, and no mail is sent. */
export const deleteNoticesTo = statement<NoticesTo>()((db, p, dialect) =>
  db
    .deleteFrom('notices')
    .where('user_id', '=', p.user_id)
    .where('email_key', 'in', textsOf(p.email_keys, dialect))
    .where('id', '<>', p.except_id),
);

/** Deletes a batch of notices whose links expired before a moment. */
export const sweepNotices = sweepStatement()('notices', 'id', (e, p) => e('expires_at', '<', p.before));
