// How many pages of PostgreSQL a statement touches.

import type postgres from 'postgres';
import type { Executor } from '../../packages/server/src/platform/database/executor.ts';

interface Plan {
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
}

/** Runs each statement twice, the first time to count the pages that it touches. Call it in a transaction. */
export function countingPages(sql: postgres.TransactionSql): { readonly on: Executor; pages(): number } {
  let pages = 0;
  const on: Executor = {
    dialect: 'postgres',
    run: async <Row>(text: string, values: readonly (string | number | null)[]) => {
      await sql.unsafe('SAVEPOINT explained');
      const [row] = await sql.unsafe<{ 'QUERY PLAN': { readonly Plan: Plan }[] }[]>(
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
        [...values],
      );
      await sql.unsafe('ROLLBACK TO SAVEPOINT explained');
      const plan = row!['QUERY PLAN'][0]!.Plan;
      pages += plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
      return (await sql.unsafe(text, [...values])) as unknown as Row[];
    },
  };
  return { on, pages: () => pages };
}
