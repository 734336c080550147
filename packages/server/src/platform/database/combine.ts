import type { Executor, Value } from './executor.ts';

interface BoundStatement {
  readonly text: string;
  readonly values: readonly Value[];
}

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

/**
 * One statement that does what several writes do, all or nothing. None of them sees what another one writes.
 * @see https://www.postgresql.org/docs/current/queries-with.html#QUERIES-WITH-MODIFYING
 */
function combine(statements: readonly BoundStatement[]): BoundStatement {
  const values: Value[] = [];
  const texts = statements.map((statement) => {
    const first = values.length;
    values.push(...statement.values);
    return statement.text.replace(/\$(\d+)/g, (_, number) => `$${first + Number(number)}`);
  });
  const [last = '', ...others] = texts.reverse();
  const named = others.map((text, index) => `w${index} as (${text})`);
  return { text: named.length === 0 ? last : `with ${named.join(', ')} ${last}`, values };
}
