import { type AliasableExpression, type Compilable, type Kysely, sql } from 'kysely';
import type { Dialect, Executor } from './executor.ts';
import type { Tables } from './schema.ts';
import { type Slots, statement } from './statement.ts';

/** How many look-ups share one statement. More than that use other connections, and so other cores of PostgreSQL. */
const maxTogether = 64;

interface Question<Row> {
  readonly id: string;
  resolve(rows: Row[]): void;
  reject(error: unknown): void;
}

/**
 * A statement that looks up the row of an id. Where the executor gathers look-ups, those of one turn of the event loop are a
 * single statement: a round trip to PostgreSQL costs several times what the look-up itself does.
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
        sql`(select distinct jsonb_array_elements_text(cast(cast(${p.ids} as text) as jsonb)) as id)`.as(
          'asked',
        ),
      )
      .crossJoinLateral(build(db, { id: sql`asked.id` }, dialect).as('found'))
      .select(sql<string>`asked.id`.as('asked_id'))
      .selectAll('found'),
  );

  const answer = async (on: Executor, questions: readonly Question<Row>[]): Promise<void> => {
    try {
      const [first] = questions;
      if (first && questions.length === 1) return first.resolve(await findOne(on, { id: first.id }));
      const rows = await findAll(on, { ids: JSON.stringify(questions.map(({ id }) => id)) });
      const found = new Map(rows.map((row) => [row.asked_id as string, [row as Row]]));
      for (const { id, resolve } of questions) resolve(found.get(id) ?? []);
    } catch (error) {
      for (const { reject } of questions) reject(error);
    }
  };

  const waiting = new Map<Executor, Question<Row>[]>();
  const answerWaiting = (on: Executor): void => {
    const questions = waiting.get(on) ?? [];
    waiting.delete(on);
    for (let at = 0; at < questions.length; at += maxTogether)
      void answer(on, questions.slice(at, at + maxTogether));
  };

  return (on: Executor, { id }: { readonly id: string }): Promise<Row[]> => {
    if (!on.gathersLookups) return findOne(on, { id });
    return new Promise((resolve, reject) => {
      const question = { id, resolve, reject };
      const others = waiting.get(on);
      if (others) return void others.push(question);
      waiting.set(on, [question]);
      setImmediate(answerWaiting, on);
    });
  };
}
