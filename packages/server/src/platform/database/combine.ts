import type { Executor, Value } from './executor.ts';

interface BoundStatement {
  readonly text: string;
  readonly values: readonly Value[];
}

/** A write of a batch had no effect. */
export class NoEffect extends Error {}

const noEffect = 'a write had no effect';

/** Whether PostgreSQL refused a combined statement because a part of it had no effect. */
export const isWithoutEffect = (error: unknown): boolean =>
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

/** Collects what `writes` would run and returns it as one statement for PostgreSQL. */
export async function combined(writes: (on: Executor) => Promise<void>): Promise<BoundStatement> {
  const collected: BoundStatement[] = [];
  const run: Executor['run'] = async (text, values) => {
    collected.push({ text, values });
    return [];
  };
  await writes({ dialect: 'postgres', run });
  return combine(collected);
}

/** The texts that batches have been combined to. A program has few kinds of batches. */
const texts = new Map<string, string>();

function combine(statements: readonly BoundStatement[]): BoundStatement {
  const key = statements.map(({ text }) => text).join(';');
  const text = texts.get(key) ?? textOf(statements);
  texts.set(key, text);
  return { text, values: statements.flatMap(({ values }) => values) };
}

/**
 * One statement that does what several writes do, all or nothing. None of them sees what another one writes. PostgreSQL runs each
 * when its rows are counted, and the text that it cannot read as a number rolls all of them back.
 * @see https://www.postgresql.org/docs/current/queries-with.html#QUERIES-WITH-MODIFYING
 */
function textOf(statements: readonly BoundStatement[]): string {
  let first = 0;
  const parts = statements.map(({ text, values }, index) => {
    const numbered = withRows(text).replace(/\$(\d+)/g, (_, number) => `$${first + Number(number)}`);
    first += values.length;
    return `w${index} as (${numbered})`;
  });
  const checks = parts.map((_, index) => `when (select count(*) from w${index}) = 0 then '${noEffect}'`);
  return `with ${parts.join(', ')} select cast(case ${checks.join(' ')} else '1' end as integer)`;
}
