import type { NoticeKind } from '@latchkey/contract/notices';
import { type Expression, type Kysely, sql } from 'kysely';
import { lookup } from '../../platform/database/gather.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { named, statement } from '../../platform/database/statement.ts';
import { sweepStatement } from '../../platform/database/sweep.ts';

/** The address of an account, and what decides the languages and times of its mails. */
export const findOwner = lookup((db, p) =>
  db
    .selectFrom('users')
    .select(['email', 'email_key', 'locale', 'time_zone', 'former_languages'])
    .where('id', '=', p.id),
);

/**
 * Counts a notice in the current window of an account and kind, or starts the next one under a new `id`.
 * Locks it until the transaction ends, so that its digest misses no notice that was counted.
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

/** Closes a window: every notice that counted towards it is committed, and no other one will. */
export const closeWindow = statement<{ id: string }>()((db, p) =>
  db.deleteFrom('notice_windows').where('id', '=', p.id),
);

export const sweepNoticeWindows = sweepStatement()('notice_windows', 'id', (e, p) =>
  e('ends_at', '<', p.before),
);

/** Stores a notice with the ordinal of its session, which may be deleted before the link expires. */
export const insertNotice = statement<
  Omit<Tables['notices'], 'ordinal' | 'since' | 'disowned_at' | 'outcome'>
>()((db, p) =>
  db.insertInto('notices').values({
    ...named(p, ['id', 'user_id', 'kind', 'email', 'email_key', 'language', 'session_id']),
    ...named(p, ['client_name', 'device_name', 'passkey_name', 'new_email', 'ip_address', 'user_agent']),
    ...named(p, ['created_at', 'expires_at', 'digest_id']),
    since: ordinalOf(db, p.session_id),
  }),
);

const ordinalOf = (db: Kysely<Tables>, sessionId: Expression<string | null>) =>
  db.selectFrom('sessions').select('sessions.ordinal').where('sessions.id', '=', sessionId).$asScalar();

export const findNotice = lookup((db, p) => db.selectFrom('notices').selectAll().where('id', '=', p.id));

/** The newest notices of a digest, each with how many there are. */
export const listDigest = statement<{ digest_id: string; limit: number }>()((db, p) =>
  db
    .selectFrom('notices')
    .selectAll()
    .select((e) => e.fn.countAll<number>().over().as('in_digest'))
    .where('digest_id', '=', p.digest_id)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.limit),
);

/**
 * A notice whose link has not expired, used or not, with the address that it was sent to and the ordinal from
 * which on its link undoes everything. Notices of earlier releases store neither.
 */
export const findOpenNotice = statement<{ id: string; now: number }>()((db, p) =>
  db
    .selectFrom('notices')
    .selectAll()
    .select((e) => [
      e.fn.coalesce('email', 'email_key').as('sent_to'),
      e.fn.coalesce('since', ordinalOf(db, e.ref('notices.session_id')), 'ordinal').as('undoes_since'),
    ])
    .where('id', '=', p.id)
    .where('expires_at', '>', p.now),
);

/**
 * Stores with a notice what its link undid. Marks as used, with the same outcome, every unused link about
 * what began at this ordinal or later, or about a session that was disowned.
 */
export const useNotices = statement<{
  user_id: string;
  id: string;
  since: number;
  outcome: string;
  now: number;
}>()((db, p) =>
  db
    .updateTable('notices')
    .set({ disowned_at: p.now, outcome: p.outcome })
    .where('user_id', '=', p.user_id)
    .where((e) =>
      e.or([
        e('id', '=', p.id),
        e.and([
          e('disowned_at', 'is', null),
          e.or([
            e('since', '>=', p.since),
            e(
              'session_id',
              'in',
              db
                .selectFrom('sessions')
                .select('sessions.id')
                .where('sessions.user_id', '=', p.user_id)
                .where('sessions.distrusted_as', '=', 'disowned'),
            ),
          ]),
        ]),
      ]),
    ),
);

/** Deletes the notices of an account after this ordinal that were not sent yet; leaves one out. */
export const deleteUnsentNotices = statement<{ user_id: string; except_id: string; since: number }>()(
  (db, p) => {
    const waiting = (template: string) =>
      db
        .selectFrom('outbox')
        .where('outbox.user_id', '=', p.user_id)
        .where('outbox.template', '=', template)
        .where('outbox.sent_at', 'is', null);
    return db
      .deleteFrom('notices')
      .where('user_id', '=', p.user_id)
      .where('id', '<>', p.except_id)
      .where('ordinal', '>', p.since)
      .where((e) =>
        e.or([
          e('id', 'in', waiting('notice').select('outbox.reference')),
          e('digest_id', 'in', waiting('notice_digest').select('outbox.id')),
        ]),
      );
  },
);

/** Deletes the notices of a locked account that went to any other address, so their links stop working. */
export const deleteNoticesToOthers = statement<{ user_id: string; email_key: string }>()((db, p) =>
  db.deleteFrom('notices').where('user_id', '=', p.user_id).where('email_key', '<>', p.email_key),
);

export const sweepNotices = sweepStatement()('notices', 'id', (e, p) => e('expires_at', '<', p.before));
