import {
  type Compilable,
  type CompiledQuery,
  type DefaultQueryCompiler,
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
import type { Database, Dialect, Executor, Value } from './executor.ts';
import type { Tables } from './schema.ts';

/** A placeholder for a named value in a compiled statement. `of` says which of its parts the value belongs to. */
class Slot {
  readonly name: string;
  readonly of: number;
  constructor(name: string, of: number) {
    this.name = name;
    this.of = of;
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

/**
 * Constants are part of a statement's text. PostgreSQL would plan some statements anew at each run otherwise, because it
 * would not know a limit, or could not use an index of some rows only.
 */
const withConstants = (Compiler: typeof DefaultQueryCompiler) =>
  class extends Compiler {
    protected override appendValue(value: unknown): void {
      if (value instanceof Slot) super.appendValue(value);
      else this.appendImmediateValue(value);
    }
  };

const compilers = {
  sqlite: withConstants(SqliteQueryCompiler),
  postgres: withConstants(PostgresQueryCompiler),
} satisfies Record<Dialect, unknown>;

const builderOf = (dialect: Dialect): Kysely<Tables> =>
  new Kysely<Tables>({
    dialect: {
      ...kyselyDialects[dialect],
      createQueryCompiler: () => new compilers[dialect](),
      createDriver: () => new DummyDriver(),
    },
  });

const builders: Record<Dialect, Kysely<Tables>> = {
  sqlite: builderOf('sqlite'),
  postgres: builderOf('postgres'),
};

/**
 * On SQLite a value is an expression, `+?`, which has the same value as `?`. SQLite prepares some statements anew whenever a
 * bare parameter is bound to them, most of those with a join among them, and that costs several times what they do.
 * @see https://sqlite.org/c3ref/c_dbconfig_defensive.html SQLITE_DBCONFIG_ENABLE_QPSG
 */
const slotsFor = (dialect: Dialect, of: number): object =>
  new Proxy(
    {},
    {
      get: (_, name) => {
        const slot = new Slot(String(name), of);
        return dialect === 'sqlite' ? sql`+${slot}` : sql`${slot}`;
      },
    },
  );

type Values = Readonly<Record<string, Value>>;
type Build<P, Row> = (db: Kysely<Tables>, p: Slots<P>, dialect: Dialect) => Compilable<Row>;

/** A statement, with what it is built from. */
type Statement<P, Row> = ((on: Executor, values: P) => Promise<Row[]>) & { readonly build: Build<P, Row> };

/** Compiles a statement once for each dialect, at its first run; later runs only bind the values of each part. */
function compiling<Row>(compile: (db: Kysely<Tables>, dialect: Dialect) => Compilable<Row>) {
  const compiled: Partial<Record<Dialect, CompiledQuery<Row>>> = {};
  return (on: Executor, values: readonly Values[]): Promise<Row[]> => {
    compiled[on.dialect] ??= compile(builders[on.dialect], on.dialect).compile();
    const { sql: text, parameters, query } = compiled[on.dialect]!;
    const bound = (parameters as readonly Slot[]).map(({ of, name }) => values[of]![name]!);
    const hasRows = query.kind === 'SelectQueryNode' || ('returning' in query && query.returning);
    return hasRows || !on.write ? on.run<Row>(text, bound) : on.write(text, bound);
  };
}

/**
 * A statement that Kysely compiles. Returns the rows. A write without `returning` has none.
 *
 * @example const byId = statement<{ id: string }>()((db, p) => db.selectFrom('users').selectAll().where('id', '=', p.id));
 */
export function statement<P extends Values = Record<never, never>>() {
  return <Row>(build: Build<P, Row>): Statement<P, Row> => {
    const run = compiling((db, dialect) => build(db, slotsFor(dialect, 0) as Slots<P>, dialect));
    return Object.assign((on: Executor, values: P) => run(on, [values]), { build });
  };
}

/**
 * Writes without rows that happen together: on PostgreSQL in one statement, whose parts see the state before
 * all of them, so no two may concern the same row. Given a database, they are a transaction.
 */
export function together<P extends readonly Values[]>(
  ...writes: { readonly [K in keyof P]: Statement<P[K], unknown> }
): (on: Executor | Pick<Database, 'single' | 'transaction'>, ...values: P) => Promise<void> {
  const runMerged = compiling((db, dialect) => {
    const partOf = (on: unknown, of: number) =>
      writes[of]!.build(on as Kysely<Tables>, slotsFor(dialect, of) as Slots<P[number]>, dialect);
    const last = writes.length - 1;
    let on: Pick<Kysely<Tables>, 'with'> = db;
    for (let of = 0; of < last; of++) on = on.with(`part_${of}`, partOf(db, of) as never);
    return partOf(on, last);
  });
  const runEach = async (on: Executor, values: P): Promise<void> => {
    for (const [of, write] of writes.entries()) await write(on, values[of]!);
  };
  return async (on, ...values) => {
    const isDatabase = 'transaction' in on;
    const { dialect } = isDatabase ? on.single : on;
    if (dialect === 'postgres') await runMerged(isDatabase ? on.single : on, values);
    else if (isDatabase) await on.transaction((tx) => runEach(tx, values));
    else await runEach(on, values);
  };
}

/** PostgreSQL takes the type of a value in a select list from its cast only. */
export const bigint = <T extends number | null>(value: Expression<T>) => sql<T>`cast(${value} as bigint)`;

/** The strings of a JSON array, for `in`: passes a list of any length as a single value of a statement. */
export const textsOf = (json: Expression<string>, dialect: Dialect) =>
  dialect === 'postgres'
    ? sql<string>`(select jsonb_array_elements_text(cast(cast(${json} as text) as jsonb)))`
    : sql<string>`(select value from json_each(${json}))`;
