import type { Expression, Kysely } from 'kysely';
import { lockedAccountId } from '../../accounts/locks.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { named, statement } from '../../platform/database/statement.ts';
import { sweepStatement } from '../../platform/database/sweep.ts';
import { isActiveSession } from '../../sessions/status.ts';

/** Issues a code to a locked account. */
export const insertCode = statement<
  Omit<Tables['authorization_codes'], 'spent_at' | 'redeemed' | 'request_hash'>
>()((db, p) =>
  db.insertInto('authorization_codes').values({
    ...named(p, ['id', 'user_id', 'session_epoch', 'approved_by', 'session_id', 'client_id', 'client_name']),
    ...named(p, ['device_name', 'redirect_uri', 'redirect_uri_named', 'code_challenge', 'scope', 'resource']),
    ...named(p, ['nonce', 'passkey_id', 'created_at', 'expires_at']),
    redeemed: 0,
  }),
);

export const findCode = statement<{ id: string }>()((db, p) =>
  db.selectFrom('authorization_codes').selectAll().where('id', '=', p.id),
);

/**
 * Redeems an unspent, unexpired code whose approving session is active. Of concurrent requests, exactly one
 * gets a row, which says how the user had signed in. The account must be locked.
 */
export const redeem = statement<{ id: string; user_id: string; now: number; request_hash: string | null }>()(
  (db, p, dialect) =>
    db
      .updateTable('authorization_codes')
      .set({ spent_at: p.now, redeemed: 1, request_hash: p.request_hash })
      .where('id', '=', p.id)
      .where('user_id', '=', p.user_id)
      .where('spent_at', 'is', null)
      .where('expires_at', '>', p.now)
      .where((e) => isActiveSession(e.ref('approved_by'), p.now, dialect))
      .returning((e) => {
        const approver = e.selectFrom('sessions').whereRef('sessions.id', '=', 'approved_by');
        return [
          approver.select('sessions.created_at').as('authenticated_at'),
          approver.select('sessions.method').as('authenticated_by'),
        ];
      }),
);

const ownerOf = (db: Kysely<Tables>, id: Expression<string>) =>
  db.selectFrom('authorization_codes as code').select('code.user_id').where('code.id', '=', id).$asScalar();

/** Locks the account and spends a code without a session; a row for exactly one caller. */
export const spend = statement<{ id: string; now: number }>()((db, p, dialect) =>
  db
    .updateTable('authorization_codes')
    .set({ spent_at: p.now })
    .where('id', '=', p.id)
    .where('user_id', '=', lockedAccountId(db, ownerOf(db, p.id), dialect))
    .where('spent_at', 'is', null)
    .returning('id'),
);

/** Spends the open codes of a locked account, and returns what they were for. */
export const spendCodes = statement<{ user_id: string; now: number }>()((db, p) =>
  db
    .updateTable('authorization_codes')
    .set({ spent_at: p.now })
    .where('user_id', '=', p.user_id)
    .where('spent_at', 'is', null)
    .where('expires_at', '>', p.now)
    .returning(['client_name', 'device_name']),
);

export const sweepCodes = sweepStatement()('authorization_codes', 'id', (e, p) =>
  e('expires_at', '<', p.before),
);
