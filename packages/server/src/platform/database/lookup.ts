import { type AliasableExpression, type Compilable, type Kysely, sql } from 'kysely';
import type { Dialect } from './executor.ts';
import { gathered } from './gather.ts';
import type { Tables } from './schema.ts';
import { type Slots, statement } from './statement.ts';

/**
 * A statement that looks up the row of a well-formed id. Those of one turn go to PostgreSQL together.
 *
 * @example const byId = lookup((db, p) => db.selectFrom('users').selectAll().where('id', '=', p.id));
 */
export function lookup<Row>(
  build: (
    db: Kysely<Tables>,
    p: Slots<{ id: string }>,
    dialect: Dialect,
  ) => Compilable<Row> & AliasableExpression<Row>,
) {
  const findOne = statement<{ id: string }>()(build);
  const findAll = statement<{ ids: string }>()((db, p, dialect) =>
    db
      .selectFrom(
        // PostgreSQL expects five of them. If it knew how many there are, it would plan every statement anew.
        sql`(select distinct id from string_to_table(${p.ids}, ' ') as id where id = trim(id))`.as('asked'),
      )
      // The offset keeps it one look-up for each id: PostgreSQL expects more of them than there are, and might read whole tables.
      .crossJoinLateral(sql<Row>`(${build(db, { id: sql`asked.id` }, dialect)} offset 0)`.as('found'))
      .select(sql<string>`asked.id`.as('asked_id'))
      .selectAll('found'),
  );
  return gathered<{ readonly id: string }, Row>(findOne, async (on, asked) => {
    const rows = await findAll(on, { ids: asked.map(({ id }) => id).join(' ') });
    const found = new Map(rows.map(({ asked_id, ...row }) => [asked_id as string, row as Row]));
    return asked.map(({ id }) => {
      const row = found.get(id);
      return row === undefined ? [] : [row];
    });
  });
}
