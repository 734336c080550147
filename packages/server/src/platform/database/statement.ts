import {
  type Compilable,
  type CompiledQuery,
  DummyDriver,
  type Expression,
  Kysely,
  type Dialect as KyselyDialect,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import type { Dialect, Executor, Value } from './executor.ts';
import type { Tables } from './schema.ts';

/** A placeholder for a named value in a compiled statement. */
class Slot {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** The named values of a statement. */
export type Slots<P> = { readonly [K in keyof P]-?: RawBuilder<P[K]> };

/** Some values of a statement, for an insert or update whose columns have the same names. */
export const named = <P, K extends keyof P>(p: Slots<P>, names: readonly K[]): Pick<Slots<P>, K> =>
  // `fromEntries` forgets the names.
  Object.fromEntries(names.map((name) => [name, p[name]])) as unknown as Pick<Slots<P>, K>;

/** What Kysely knows of each database. Who uses it says how statements run. */
export const kyselyDialects: Record<Dialect, Omit<KyselyDialect, 'createDriver'>> = {
  sqlite: {
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
  postgres: {
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
};

const builderOf = (dialect: Dialect): Kysely<Tables> =>
  new Kysely<Tables>({ dialect: { ...kyselyDialects[dialect], createDriver: () => new DummyDriver() } });

const builders: Record<Dialect, Kysely<Tables>> = {
  sqlite: builderOf('sqlite'),
  postgres: builderOf('postgres'),
};

/**
 * On SQLite a value is an expression, `+?`, which has the same value as `?`. SQLite prepares some statements anew whenever a
 * bare parameter is bound to them, most of those with a join among them, and that costs several times what they do.
 * @see https://sqlite.org/c3ref/c_dbconfig_defensive.html SQLITE_DBCONFIG_ENABLE_QPSG
 */
const slots: Record<Dialect, object> = {
  sqlite: new Proxy({}, { get: (_, name) => sql`+${new Slot(String(name))}` }),
  postgres: new Proxy({}, { get: (_, name) => sql`${new Slot(String(name))}` }),
};

/**
 * A statement that Kysely compiles once for each dialect, at its first run; later runs only bind new values. Returns the
 * rows. A write without `returning` has none.
 *
 * @example const byId = statement<{ id: string }>()((db, p) => db.selectFrom('users').selectAll().where('id', '=', p.id));
 */
export function statement<P extends Record<string, Value> = Record<never, never>>() {
  return <Row>(build: (db: Kysely<Tables>, p: Slots<P>, dialect: Dialect) => Compilable<Row>) => {
    const compiled: Partial<Record<Dialect, CompiledQuery<Row>>> = {};
    return (on: Executor, values: P): Promise<Row[]> => {
      compiled[on.dialect] ??= build(
        builders[on.dialect],
        slots[on.dialect] as Slots<P>,
        on.dialect,
      ).compile();
      const { sql: text, parameters, query } = compiled[on.dialect]!;
      const bound: Value[] = [];
      for (const parameter of parameters)
        bound.push((parameter instanceof Slot ? values[parameter.name]! : parameter) as Value);
      const hasRows = query.kind === 'SelectQueryNode' || ('returning' in query && query.returning);
      return hasRows || !on.write ? on.run<Row>(text, bound) : on.write(text, bound);
    };
  };
}

/** The strings of a JSON array, for `in`: passes a list of any length as a single value of a statement. */
export const textsOf = (json: Expression<string>, dialect: Dialect) =>
  dialect === 'postgres'
    ? sql<string>`(select jsonb_array_elements_text(cast(cast(${json} as text) as jsonb)))`
    : sql<string>`(select value from json_each(${json}))`;
