import { expect, test } from 'bun:test';
import type { Executor, Value } from './executor.ts';
import { statement } from './statement.ts';

const find = statement<{ id: string }>()((db, p) =>
  db.selectFrom('users').select('id').where('id', '=', p.id).where('name', 'in', ["O'Hara", 'Ada']).limit(7),
);

test.each([
  ['sqlite', '+?'],
  ['postgres', '$1'],
] as const)(
  'constants of a statement are in its text, quoted, and values never are (%s)',
  async (dialect, value) => {
    const sent: [text: string, values: readonly Value[]][] = [];
    const run: Executor['run'] = async (...statement) => {
      sent.push(statement);
      return [];
    };
    await find({ dialect, run }, { id: "it's" });
    const text = `select "id" from "users" where "id" = ${value} and "name" in ('O''Hara', 'Ada') limit 7`;
    expect(sent).toEqual([[text, ["it's"]]]);
  },
);
