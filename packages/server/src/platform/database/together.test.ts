import { expect, test } from 'bun:test';
import { onBothDatabases } from '#support/app.ts';
import { statement, together } from './statement.ts';

const insert = statement<{ id: string; name: string }>()((db, p) =>
  db.insertInto('organizations').values({ id: p.id, slug: p.id, name: p.name, personal: 0, created_at: 1 }),
);
const rename = statement<{ id: string; name: string }>()((db, p) =>
  db.updateTable('organizations').set({ name: p.name }).where('id', '=', p.id),
);
const insertTwoAndRename = together(insert, insert, rename);

onBothDatabases('writes together', (open, dialect) => {
  const opened = async () => {
    const app = await open();
    await insert(app.ctx.db.single, { id: 'a', name: 'A' });
    const names = async () => {
      const read = app.ctx.db.read.run<{ name: string }>('SELECT name FROM organizations ORDER BY id', []);
      return (await read).map(({ name }) => name);
    };
    return { app, db: app.ctx.db, names };
  };
  const values = [
    { id: 'b', name: 'B' },
    { id: 'c', name: 'C' },
    { id: 'a', name: 'renamed' },
  ] as const;

  test('each have their own values, and are one statement on PostgreSQL', async () => {
    const { app, db, names } = await opened();
    const before = app.statements.length;
    await insertTwoAndRename(db, ...values);
    expect(app.statements.length - before).toBe(dialect === 'postgres' ? 1 : 3);
    expect(await names()).toEqual(['renamed', 'B', 'C']);
  });

  test('of a database have no effect if one of them fails', async () => {
    const { db, names } = await opened();
    const [first, second, third] = values;
    await expect(insertTwoAndRename(db, first, first, third)).rejects.toThrow();
    await expect(insertTwoAndRename(db, first, { ...second, id: 'a' }, third)).rejects.toThrow();
    expect(await names()).toEqual(['A']);
  });

  test('of a transaction are committed or rolled back with it, and fail it', async () => {
    const { db, names } = await opened();
    const [first, second, third] = values;
    const failing = db.transaction(async (tx) => {
      await rename(tx, { id: 'a', name: 'changed' });
      await insertTwoAndRename(tx, first, first, third);
    });
    await expect(failing).rejects.toThrow();
    const undone = db.transaction(async (tx) => {
      await insertTwoAndRename(tx, ...values);
      throw new Error('on purpose');
    });
    await expect(undone).rejects.toThrow('on purpose');
    expect(await names()).toEqual(['A']);
    await db.transaction((tx) => insertTwoAndRename(tx, first, second, third));
    expect(await names()).toEqual(['renamed', 'B', 'C']);
  });
});
