import { Database } from 'bun:sqlite';
import type { TestApp } from './app.ts';

/** How the database carries out a statement, as it plans it when it does not know the values. */
export const planOf = async ({ ctx: { db }, databaseUrl }: TestApp, text: string): Promise<string> => {
  const values = text.match(db.dialect === 'postgres' ? /\$\d+/g : /\?/g)?.map(() => null) ?? [];
  if (db.dialect === 'sqlite') {
    // The plan of a write would keep a connection of the service at the state of this moment.
    using connection = new Database(databaseUrl.slice('sqlite:'.length), { readonly: true });
    return JSON.stringify(connection.query(`EXPLAIN QUERY PLAN ${text}`).all(...values));
  }
  return db.transaction(async (tx) => {
    for (const setting of [
      'enable_seqscan = off',
      'enable_bitmapscan = off',
      'plan_cache_mode = force_generic_plan',
    ])
      await tx.run(`SET LOCAL ${setting}`, []);
    await tx.run(`PREPARE planned AS ${text}`, []);
    const plan = await tx.run(`EXPLAIN EXECUTE planned(${values.map(String)})`, []);
    await tx.run('DEALLOCATE planned', []);
    return JSON.stringify(plan);
  });
};
