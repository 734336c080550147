import type { Expression } from 'kysely';
import { sql } from 'kysely';
import type { Dialect } from './executor.ts';

/** The strings of a JSON array, for `in`: passes a list of any length as a single value of a statement. */
export const textsOf = (json: Expression<string>, dialect: Dialect) =>
  dialect === 'postgres'
    ? sql<string>`(select jsonb_array_elements_text(cast(cast(${json} as text) as jsonb)))`
    : sql<string>`(select value from json_each(${json}))`;
