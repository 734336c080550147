import {
  createQueryId,
  FromNode,
  type InsertQueryNode,
  OnConflictNode,
  type OperationNode,
  OperationNodeTransformer,
  PrimitiveValueListNode,
  RawNode,
  ReturningNode,
  SelectionNode,
  SelectModifierNode,
  SelectQueryNode,
  TableNode,
  type UpdateQueryNode,
  ValueNode,
  ValuesNode,
} from 'kysely';
import type { Executor, Value } from './executor.ts';
import { gathered } from './gather.ts';
import { builders, compiledTexts, Slot } from './statement.ts';

interface BoundStatement {
  readonly text: string;
  readonly values: readonly Value[];
}

/** A write of a batch had no effect. */
export class NoEffect extends Error {}

const noEffect = 'a write had no effect';

/** Whether PostgreSQL refused a combined statement because a part of it had no effect. */
const isWithoutEffect = (error: unknown): boolean =>
  error instanceof Error && error.message.includes(noEffect);

/** A write that returns a row for each one that it affects. */
const withRows = (text: string): string => (/\breturning\b/i.test(text) ? text : `${text} returning 1`);

/** Runs writes that must have an effect. @throws {NoEffect} */
export const requiringEffect = ({ dialect, run }: Executor): Executor => ({
  dialect,
  run: async <Row>(text: string, values: readonly Value[]) => {
    const rows = await run<Row>(withRows(text), values);
    if (rows.length === 0) throw new NoEffect();
    return rows;
  },
});

/** The kinds of batches, by their texts. A program has few of them. */
const kinds = new Map<string, ReturnType<typeof kindOf>>();

/**
 * Runs writes as one statement of PostgreSQL, all or nothing: false if one of them has no effect. Batches of the same kind from one
 * turn of the event loop share a statement, and so a commit. If one of them fails or would wait for its account, each runs alone.
 */
export async function runBatch(on: Executor, writes: (on: Executor) => Promise<void>): Promise<boolean> {
  const batch: BoundStatement[] = [];
  const run: Executor['run'] = async (text, values) => {
    batch.push({ text, values });
    return [];
  };
  await writes({ dialect: 'postgres', run });
  const key = batch.map(({ text }) => text).join(';');
  const kind = kinds.get(key) ?? kindOf(batch);
  kinds.set(key, kind);
  const values = batch.flatMap((write) => write.values);
  return (await kind(on, values)).length > 0;
}

function kindOf(batch: readonly BoundStatement[]) {
  const alone = textOf(
    batch.map(({ text, values: { length } }) => ({ text: withRows(text), length })),
    (part) => `(select count(*) from ${part}) = 0`,
  );
  const isCompiled = batch.every(({ text }) => compiledTexts.has(text));
  let shared: Shared | undefined;
  return gathered<readonly Value[], true>(
    async (on, values) => {
      try {
        await on.run(alone, values);
        return [true];
      } catch (error) {
        if (isWithoutEffect(error)) return [];
        throw error;
      }
    },
    async (on, batches) => {
      if (!isCompiled || !on.typesOf) return [];
      shared ??= sharedBy(batch, await on.typesOf(alone));
      const values = shared.bind(batches);
      if (!values) return [];
      await on.run(shared.text, values);
      return batches.map(() => [true]);
    },
  );
}

/**
 * One statement that does what several writes do, all or nothing. None of them sees what another one writes. PostgreSQL runs each
 * when its rows are counted, and the text that it cannot read as a number rolls all of them back.
 * @see https://www.postgresql.org/docs/current/queries-with.html#QUERIES-WITH-MODIFYING
 */
function textOf(
  writes: readonly { readonly text: string; readonly length: number }[],
  hasNoEffect: (part: string) => string,
  asked?: string,
): string {
  let before = asked ? 1 : 0;
  const parts = writes.map(({ text, length }, index) => {
    const numbered = text.replace(/\$(\d+)/g, (_, number) => `$${before + Number(number)}`);
    before += length;
    return `w${index} as (${numbered})`;
  });
  const checks = parts.map((_, index) => `when ${hasNoEffect(`w${index}`)} then '${noEffect}'`);
  const all = asked ? [asked, ...parts] : parts;
  return `with ${all.join(', ')} select cast(case ${checks.join(' ')} else '1' end as integer)`;
}

interface Shared {
  readonly text: string;
  /** Undefined if the batches cannot share it. */
  bind(batches: readonly (readonly Value[])[]): Value[] | undefined;
}

/** The types of the values of statements, by their numbers in PostgreSQL. */
const typeNames: Readonly<Record<number, string>> = { 20: 'bigint', 23: 'integer', 25: 'text' };

/**
 * The statement that batches of a kind share; their values are the rows of `asked`. It has no effect if a write of one of them has
 * none, or if the account of one is locked. The batches are in the order of their values, so that no two statements with the same
 * ones wait for each other.
 */
function sharedBy(batch: readonly BoundStatement[], types: readonly number[]): Shared {
  /** The columns of `asked`, and which of the values of a batch each has. */
  const columns = new Map<string, number>();
  const constants: ((values: readonly Value[]) => Value)[] = [];
  let before = 0;
  const writes = batch.map(({ text, values }, index) => {
    const { query, parameters } = compiledTexts.get(text)!;
    const columnOf = ({ name }: Slot) => `${name}_${index}`;
    for (const [at, parameter] of parameters.entries())
      if (parameter instanceof Slot) columns.set(columnOf(parameter), before + at);
    before += values.length;
    const forAll = new ForAllAsked(columnOf).transformNode(query);
    const compiled = builders.postgres.getExecutor().compileQuery(forAll, createQueryId());
    for (const parameter of compiled.parameters)
      constants.push((values) =>
        parameter instanceof Slot ? values[columns.get(columnOf(parameter))!]! : (parameter as Value),
      );
    return { text: compiled.sql, length: compiled.parameters.length };
  });
  const typed = [...columns].map(([name, at]) => `"${name}" ${typeNames[types[at]!]}`);
  // PostgreSQL expects a hundred records, and would read whole tables for them. With this condition it expects one.
  const records = `asked as (
    select * from jsonb_to_recordset(cast(cast($1 as text) as jsonb)) as r(at integer, ${typed.join(', ')}) where at = abs(at)
  )`;
  const text = textOf(
    writes,
    (part) => `(select count(distinct at) from ${part}) < (select count(*) from asked)`,
    records,
  );
  const bind: Shared['bind'] = (batches) => {
    const [first, ...others] = batches.map((values) => constants.map((constant) => constant(values)));
    if (others.some((one) => one.some((value, at) => value !== first![at]))) return undefined;
    const rows = batches
      .map((values) => [...columns.values()].map((at) => values[at]))
      .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
      .map((row, at) => ({
        at,
        ...Object.fromEntries([...columns.keys()].map((name, index) => [name, row[index]])),
      }));
    return [JSON.stringify(rows), ...first!];
  };
  return { text, bind };
}

const asked = TableNode.create('asked');
const returning = (text: string) =>
  ReturningNode.create([SelectionNode.create(RawNode.createWithSql(text) as never)]);

/** Turns a write with slots into one that writes for each row of `asked` and never waits for an account. */
class ForAllAsked extends OperationNodeTransformer {
  readonly #columnOf: (slot: Slot) => string;
  constructor(columnOf: (slot: Slot) => string) {
    super();
    this.#columnOf = columnOf;
  }

  protected override transformValue(node: ValueNode): ValueNode {
    // What follows a conflict does not see `asked`.
    const isAsked = node.value instanceof Slot && !this.nodeStack.some(OnConflictNode.is);
    return isAsked ? (RawNode.createWithSql(`asked."${this.#columnOf(node.value as Slot)}"`) as never) : node;
  }

  protected override transformSelectQuery(node: SelectQueryNode): SelectQueryNode {
    const select = super.transformSelectQuery(node);
    const modifiers = select.endModifiers?.map((one) => SelectModifierNode.is(one) && one.modifier) ?? [];
    if (!modifiers.includes('ForUpdate') || modifiers.includes('SkipLocked')) return select;
    return { ...select, endModifiers: [...select.endModifiers!, SelectModifierNode.create('SkipLocked')] };
  }

  protected override transformUpdateQuery(node: UpdateQueryNode): UpdateQueryNode {
    const from = FromNode.create([asked]);
    return { ...super.transformUpdateQuery(node), from, returning: returning('asked.at') };
  }

  protected override transformInsertQuery(node: InsertQueryNode): InsertQueryNode {
    const insert = super.transformInsertQuery(node);
    return { ...insert, values: selected(insert.values!), returning: returning('ctid as at') };
  }
}

/** What an insert selects from `asked` instead of its values, or also from it. */
function selected(values: OperationNode): OperationNode {
  if (SelectQueryNode.is(values))
    return { ...values, from: FromNode.create([...values.from!.froms, asked]) } as SelectQueryNode;
  if (!ValuesNode.is(values)) throw new Error('an insert has no values');
  const [row] = values.values;
  const list = PrimitiveValueListNode.is(row!)
    ? row.values.map((value) => ValueNode.create(value))
    : row!.values;
  const commas = list.map((_, at) => (at === 0 ? 'select ' : ', '));
  return RawNode.create([...commas, ' from asked'], list as OperationNode[]);
}
