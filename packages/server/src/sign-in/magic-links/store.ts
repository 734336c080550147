import type { Expression, Kysely } from 'kysely';
import { lockOnAddress } from '../../accounts/locks.ts';
import type { Dialect } from '../../platform/database/executor.ts';
import { lookup } from '../../platform/database/gather.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { named, statement, together } from '../../platform/database/statement.ts';
import { sweepStatement } from '../../platform/database/sweep.ts';
import { insertMail } from '../../platform/mail/outbox-store.ts';

export const insertMagicLink = statement<Omit<Tables['magic_links'], 'code_tries' | 'spent_at'>>()((db, p) =>
  db.insertInto('magic_links').values({
    ...named(p, ['id', 'email', 'email_key', 'created_at', 'expires_at']),
    ...named(p, ['ip_address', 'user_agent', 'language']),
    code_tries: 0,
  }),
);

export const insertMagicLinkAndMail = together(insertMagicLink, insertMail);

export const findMagicLink = lookup((db, p) =>
  db.selectFrom('magic_links').selectAll().where('id', '=', p.id),
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

const spendLinks = (db: Kysely<Tables>, emailKey: Expression<string>, now: Expression<number>) =>
  db
    .updateTable('magic_links')
    .set({ spent_at: now })
    .where('email_key', '=', emailKey)
    .where('spent_at', 'is', null)
    .returning(['id', 'expires_at']);

/** Spends every unspent link to a locked address. */
export const spendLinksTo = statement<{ email_key: string; now: number }>()((db, p) =>
  spendLinks(db, p.email_key, p.now),
);

/** Sign-ins with an address run one at a time. Only the caller whose link is among the rows may sign in. */
export const spendLinksFor = statement<{ email_key: string; now: number }>()((db, p, dialect) => {
  const address = db
    .selectNoFrom((e) => [
      e.cast<string>(p.email_key, 'text').as('email_key'),
      lockOnAddress(p.email_key, dialect).as('lock'),
    ])
    .as('address');
  return spendLinks(db, db.selectFrom(address).select('address.email_key').$asScalar(), p.now);
});

export const deleteMagicLinks = statement<{ email_key: string }>()((db, p) =>
  db.deleteFrom('magic_links').where('email_key', '=', p.email_key),
);

export const sweepMagicLinks = sweepStatement()('magic_links', 'id', (e, p) =>
  e('expires_at', '<', p.before),
);
