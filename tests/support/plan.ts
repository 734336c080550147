import type { TestApp } from './app.ts';

/** How the database carries out a statement, as it plans it when it does not know the values. */
export const planOf = async ({ ctx: { db } }: TestApp, text: string): Promise<string> => {
  const values = text.match(db.dialect === 'postgres' ? /\$\d+/g : /\?/g)?.map(() => null) ?? [];
  if (db.dialect === 'sqlite') return JSON.stringify(await db.read.run(`EXPLAIN QUERY PLAN ${text}`, values));
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
