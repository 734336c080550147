import type { Kysely } from 'kysely';
import { lockedAccountId } from '../../accounts/locks.ts';
import type { Dialect } from '../../platform/database/executor.ts';
import { lookup } from '../../platform/database/gather.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { named, type Slots, statement, textsOf } from '../../platform/database/statement.ts';
import { sweepStatement } from '../../platform/database/sweep.ts';

/** The members of `user` in the creation options. */
export const findAccount = statement<{ user_id: string }>()((db, p) =>
  db.selectFrom('users').select(['email', 'name', 'webauthn_user_handle']).where('id', '=', p.user_id),
);

/** Spends a challenge. Of any number of callers on any number of nodes one gets a row; the others wait for its commit. */
export const spendChallenge = statement<{ id: string; expires_at: number }>()((db, p) =>
  db
    .insertInto('spent_challenges')
    .values({ id: p.id, expires_at: p.expires_at })
    .onConflict((c) => c.column('id').doNothing())
    .returning('id'),
);

export const countPasskeys = statement<{ user_id: string }>()((db, p) =>
  db
    .selectFrom('passkeys')
    .select((e) => e.cast<number>(e.fn.countAll(), 'integer').as('count'))
    .where('user_id', '=', p.user_id),
);

/** Adds a passkey; no row when its credential is already registered, to any user. */
export const insertPasskey = statement<
  Omit<Tables['passkeys'], 'created_at' | 'last_used_at' | 'ordinal'> & { now: number }
>()((db, p) =>
  db
    .insertInto('passkeys')
    .values({
      ...named(p, ['id', 'user_id', 'credential_id', 'public_key', 'counter', 'name', 'aaguid']),
      ...named(p, ['device_type', 'backed_up', 'transports']),
      created_at: p.now,
    })
    .onConflict((c) => c.column('credential_id').doNothing())
    .returningAll(),
);

/** A passkey by its credential ID, with its owner's user handle (by subquery, which is faster than a join). */
export const findCredential = lookup((db, p) =>
  db
    .selectFrom('passkeys')
    .select((e) => [
      'id',
      'user_id',
      'public_key',
      'device_type',
      e
        .selectFrom('users')
        .select('users.webauthn_user_handle')
        .whereRef('users.id', '=', 'passkeys.user_id')
        .$asScalar()
        .$notNull()
        .as('webauthn_user_handle'),
    ])
    .where('credential_id', '=', p.id),
);

/** A use of a passkey, as a verified assertion says. */
export type PasskeyUse = Pick<Tables['passkeys'], 'id' | 'user_id' | 'counter' | 'backed_up'> & {
  now: number;
};

/** Locks the account and records a sign-in with one of its passkeys. */
const recordUse = (db: Kysely<Tables>, p: Slots<PasskeyUse>, dialect: Dialect) =>
  db
    .updateTable('passkeys')
    .set({ counter: p.counter, backed_up: p.backed_up, last_used_at: p.now })
    .where('id', '=', p.id)
    .where('user_id', '=', lockedAccountId(db, p.user_id, dialect))
    .returning('id');

/** Locks the account and records a sign-in whose counter grew or stays at 0; no row otherwise. */
export const advanceCounter = statement<PasskeyUse>()((db, p, dialect) =>
  recordUse(db, p, dialect).where((e) =>
    e.or([
      e('counter', '<', p.counter),
      e.and([e('counter', '=', 0), e(e.cast<number>(p.counter, 'bigint'), '=', e.lit(0))]),
    ]),
  ),
);

/** Locks the account and records a sign-in with any counter on a multi-device passkey; no row for a single-device one. */
export const replaceCounter = statement<PasskeyUse>()((db, p, dialect) =>
  recordUse(db, p, dialect).where('device_type', '=', 'multi_device'),
);

export const findPasskey = statement<{ id: string }>()((db, p) =>
  db.selectFrom('passkeys').select('name').where('id', '=', p.id),
);

export const listPasskeys = statement<{ user_id: string }>()((db, p) =>
  db
    .selectFrom('passkeys')
    .selectAll()
    .where('user_id', '=', p.user_id)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc'),
);

/** Renames one of the passkeys of a locked account; no row when it has no such passkey. */
export const renamePasskey = statement<{ id: string; user_id: string; name: string }>()((db, p) =>
  db
    .updateTable('passkeys')
    .set({ name: p.name })
    .where('id', '=', p.id)
    .where('user_id', '=', p.user_id)
    .returningAll(),
);

/** Removes one of the passkeys of a locked account; a row for exactly one caller. */
export const deletePasskey = statement<{ id: string; user_id: string }>()((db, p) =>
  db
    .deleteFrom('passkeys')
    .where('id', '=', p.id)
    .where('user_id', '=', p.user_id)
    .returning(['id', 'user_id', 'name', 'transports']),
);

/** Deletes these passkeys of a locked account, a JSON array, and those that were added at this ordinal or later; returns them. */
export const deletePasskeys = statement<{ user_id: string; since: number; passkey_ids: string }>()(
  (db, p, dialect) =>
    db
      .deleteFrom('passkeys')
      .where('user_id', '=', p.user_id)
      .where((e) => e.or([e('ordinal', '>=', p.since), e('id', 'in', textsOf(p.passkey_ids, dialect))]))
      .returning(['id', 'user_id', 'name', 'transports']),
);

/** Deletes a batch of spent challenges that would be refused as expired anyway. */
export const sweepSpentChallenges = sweepStatement()('spent_challenges', 'id', (e, p) =>
  e('expires_at', '<', p.before),
);
