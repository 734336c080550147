import type { Expression, Kysely } from 'kysely';
import { lockOnAddress } from '../../accounts/locks.ts';
import type { Dialect } from '../../platform/database/executor.ts';
import { lookup } from '../../platform/database/gather.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { named, statement } from '../../platform/database/statement.ts';
import { sweepStatement } from '../../platform/database/sweep.ts';

export const insertMagicLink = statement<Omit<Tables['magic_links'], 'code_tries' | 'spent_at'>>()((db, p) =>
  db.insertInto('magic_links').values({
    ...named(p, ['id', 'email', 'email_key', 'created_at', 'expires_at']),
    ...named(p, ['ip_address', 'user_agent', 'language']),
    code_tries: 0,
  }),
);

export const findMagicLink = lookup((db, p) =>
  db.selectFrom('magic_links').selectAll().where('id', '=', p.id),
);

/** A link, with a lock on its address: sign-ins with one address run one at a time. */
export const lockMagicLink = statement<{ id: string }>()((db, p, dialect) =>
  db
    .selectFrom('magic_links')
    .selectAll()
    .select((e) => lockOnAddress(e.ref('email_key'), dialect).as('lock'))
    .where('id', '=', p.id),
);

/** The id of a link, with its address locked before the row that a statement compares it with. */
const lockedLinkId = (db: Kysely<Tables>, id: Expression<string>, dialect: Dialect) =>
  db
    .selectFrom((e) =>
      e
        .selectFrom('magic_links')
        .select((f) => ['id', lockOnAddress(f.ref('email_key'), dialect).as('lock')])
        .where('id', '=', id)
        .as('locked'),
    )
    .select('locked.id');

/** Locks the address and counts an attempt at the code; no row when none is left or the link is spent or expired. */
export const countCodeAttempt = statement<{ id: string; max_attempts: number; now: number }>()(
  (db, p, dialect) =>
    db
      .updateTable('magic_links')
      .set((e) => ({ code_tries: e('code_tries', '+', 1) }))
      .where('id', '=', lockedLinkId(db, p.id, dialect))
      .where('code_tries', '<', p.max_attempts)
      .where('spent_at', 'is', null)
      .where('expires_at', '>', p.now)
      .returningAll(),
);

/** Spends every unspent link of a locked address. Only the caller whose own link is among the rows may sign in. */
export const spendLinksFor = statement<{ email_key: string; now: number }>()((db, p) =>
  db
    .updateTable('magic_links')
    .set({ spent_at: p.now })
    .where('email_key', '=', p.email_key)
    .where('spent_at', 'is', null)
    .returning(['id', 'expires_at']),
);

/** Deletes every link that was sent to an address. */
export const deleteMagicLinks = statement<{ email_key: string }>()((db, p) =>
  db.deleteFrom('magic_links').where('email_key', '=', p.email_key),
);

/** Deletes a batch of links that expired before a moment. */
export const sweepMagicLinks = sweepStatement()('magic_links', 'id', (e, p) =>
  e('expires_at', '<', p.before),
);
