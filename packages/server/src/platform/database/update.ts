import { type Compilable, type Kysely, sql } from 'kysely';
import type { Dialect } from './executor.ts';
import { gathered } from './gather.ts';
import type { Tables } from './schema.ts';
import { type Slots, statement } from './statement.ts';

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
