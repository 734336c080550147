import { type AliasableExpression, type Compilable, type Kysely, sql } from 'kysely';
import postgres from 'postgres';
import type { Dialect, Executor } from './executor.ts';
import type { Tables } from './schema.ts';
import { type Slots, statement } from './statement.ts';

/** How many share one statement. More than that use other connections, and so other cores of PostgreSQL. */
export const maxTogether = 32;

interface Question<P, Row> {
  readonly values: P;
  resolve(rows: Row[]): void;
  reject(error: unknown): void;
}

/**
 * A statement in two forms: `one` for a single set of values, and `all` for several, which returns the rows of each, or undefined
 * for values that need a statement of their own. Where the executor gathers statements, the statements of one turn of the event loop go
 * out as one: a round trip to PostgreSQL costs several times what most of them do. One that fails does not affect the others.
 */
export function gathered<P, Row>(
  one: (on: Executor, values: P) => Promise<Row[]>,
  all: (on: Executor, values: readonly P[]) => Promise<(Row[] | undefined)[]>,
): (on: Executor, values: P) => Promise<Row[]> {
  const answerAlone = (on: Executor, { values, resolve, reject }: Question<P, Row>): void =>
    void one(on, values).then(resolve, reject);

  const answer = async (on: Executor, questions: readonly Question<P, Row>[]): Promise<void> => {
    try {
      const values = questions.map((question) => question.values);
      const found = questions.length === 1 ? [] : await all(on, values);
      for (const [at, question] of questions.entries()) {
        const rows = found[at];
        if (rows) question.resolve(rows);
        else answerAlone(on, question);
      }
    } catch (error) {
      // Nothing has happened if the database refused the statement because of one of them. Otherwise it may have.
      const isRefused = error instanceof postgres.PostgresError;
      for (const question of questions) isRefused ? answerAlone(on, question) : question.reject(error);
    }
  };

  const waiting = new Map<Executor, Question<P, Row>[]>();
  const answerWaiting = (on: Executor): void => {
    const questions = waiting.get(on) ?? [];
    waiting.delete(on);
    for (let at = 0; at < questions.length; at += maxTogether)
      void answer(on, questions.slice(at, at + maxTogether));
  };

  return (on, values) => {
    if (!on.gathers) return one(on, values);
    return new Promise((resolve, reject) => {
      const question = { values, resolve, reject };
      const others = waiting.get(on);
      if (others) return void others.push(question);
      waiting.set(on, [question]);
      setImmediate(answerWaiting, on);
    });
  };
}

interface ValueOf {
  readonly text: string;
  readonly 'text null': string | null;
  readonly bigint: number;
}

/** The types of the values of a statement, as PostgreSQL names them. */
type Types = Readonly<Record<string, keyof ValueOf>> & { readonly id: 'text' };

type ValuesOf<T extends Types> = { -readonly [K in keyof T]: ValueOf[T[K]] };

interface Asked {
  readonly asked_at: number;
}

/** What Kysely builds from `updateTable`. */
interface Update<Row> extends Compilable<Row> {
  from(table: unknown): {
    where(condition: unknown): { returning(column: unknown): Compilable<Row & Asked> };
  };
}

/**
 * A statement that updates the row of an id and returns it, or no row if the update has no effect. Those of one turn go to
 * PostgreSQL together and are one transaction there. It never waits for a lock: what another transaction has locked, or what is about
 * the same row as another one, is left to a statement of its own.
 */
export const update =
  <const T extends Types>(table: keyof Tables, types: T) =>
  <Row>(build: (db: Kysely<Tables>, p: Slots<ValuesOf<T>>, dialect: Dialect) => Update<Row>) => {
    const updateOne = statement<ValuesOf<T>>()(build);
    const names = Object.keys(types);
    const typeOf = (name: string) => sql.raw(types[name]!.replace(' null', ''));
    const columns = sql.join(names.map((name) => sql`${sql.id(`with_${name}`)} ${typeOf(name)}`));
    const slotOf = (name: string) => [name, sql`asked.${sql.id(`with_${name}`)}`];
    const slots = Object.fromEntries(names.map(slotOf)) as unknown as Slots<ValuesOf<T>>;
    const updateUnlocked = statement<{ asked: string }>()((db, p, dialect) => {
      const records = sql`jsonb_to_recordset(cast(cast(${p.asked} as text) as jsonb))`;
      const unlocked = sql<object>`(
        select r.*, t.ctid as place from ${records} as r(at integer, ${columns}) cross join lateral (
          select ctid from ${sql.table(table)} where id = r.with_id for no key update skip locked
        ) as t
      )`;
      const withAsked = db.with('asked', (q) => q.selectFrom(unlocked.as('unlocked')).selectAll());
      return (
        build(withAsked as unknown as Kysely<Tables>, slots, dialect)
          .from(sql`asked`)
          // By its place: PostgreSQL expects more rows than there are, and would otherwise read the whole table.
          .where(sql`${sql.table(table)}.ctid = any(array(select place from asked))`)
          .returning(sql`asked.at`.as('asked_at'))
      );
    });
    return gathered<ValuesOf<T>, Row>(updateOne, async (on, asked) => {
      const records = asked.map((values, at) => ({
        at,
        ...Object.fromEntries(names.map((name) => [`with_${name}`, values[name]])),
      }));
      const updated: Row[][] = [];
      for (const { asked_at, ...row } of await updateUnlocked(on, { asked: JSON.stringify(records) }))
        updated[asked_at] = [row as Row];
      return updated;
    });
  };

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
