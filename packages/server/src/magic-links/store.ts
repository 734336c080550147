import { statement } from '../database/statement.ts';

export const insertMagicLink = statement<{
  id: string;
  email: string;
  email_key: string;
  now: number;
  expires_at: number;
}>()((db, p) =>
  db.insertInto('magic_links').values({
    id: p.id,
    email: p.email,
    email_key: p.email_key,
    created_at: p.now,
    expires_at: p.expires_at,
    code_tries: 0,
  }),
);

export const findMagicLink = statement<{ id: string }>()((db, p) =>
  db.selectFrom('magic_links').selectAll().where('id', '=', p.id),
);

/** Takes one of the tries that a code has, before it is looked at; no row when none is left or all is over. */
export const takeCodeTry = statement<{ id: string; greatest_tries: number; now: number }>()((db, p) =>
  db
    .updateTable('magic_links')
    .set((e) => ({ code_tries: e('code_tries', '+', 1) }))
    .where('id', '=', p.id)
    .where('code_tries', '<', p.greatest_tries)
    .where('spent_at', 'is', null)
    .where('expires_at', '>', p.now)
    .returningAll(),
);

/**
 * Spends every unspent link of an address. Of any number of links of one address that are used at once, the
 * caller whose own id is among the rows is the one that logs in.
 */
export const spendLinksOfAddress = statement<{ email_key: string; now: number }>()((db, p) =>
  db
    .updateTable('magic_links')
    .set({ spent_at: p.now })
    .where('email_key', '=', p.email_key)
    .where('spent_at', 'is', null)
    .returning('id'),
);

/** Deletes some links that expired before a moment. */
export const sweepMagicLinks = statement<{ before: number; limit: number }>()((db, p, dialect) =>
  db
    .deleteFrom('magic_links')
    .where('id', 'in', (e) =>
      e
        .selectFrom('magic_links')
        .select('id')
        .where('expires_at', '<', p.before)
        .limit(p.limit)
        .$if(dialect === 'postgres', (q) => q.forUpdate().skipLocked()),
    )
    .returning('id'),
);
