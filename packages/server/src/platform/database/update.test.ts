import { expect, test } from 'bun:test';
import { onBothDatabases, type TestApp } from '../../../../../tests/support/app.ts';
import { until } from '../../../../../tests/support/until.ts';
import { update } from './gather.ts';

/** Takes only a later time, so that of several updates of one row not every order has the same effect. */
const rename = update('organizations', { id: 'text', name: 'text null', now: 'bigint' })((db, p) =>
  db
    .updateTable('organizations')
    .set({ name: p.name as never, created_at: p.now })
    .where('id', '=', p.id)
    .where('created_at', '<', p.now)
    .returning(['id', 'name']),
);

test('updates with an unknown outcome do not run again', async () => {
  const texts: string[] = [];
  const run = async (text: string) => {
    texts.push(text);
    throw Object.assign(new Error('the connection broke'), { code: 'EPROTO' });
  };
  const broken = { dialect: 'postgres', gathers: true, run } as const;
  const outcomes = await Promise.allSettled(
    ['a', 'b'].map((id) => rename(broken, { id, name: 'New', now: 2 })),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(texts).toHaveLength(1);
});

onBothDatabases('updates', (open, dialect) => {
  const withOrganizations = async (ids: readonly string[]): Promise<TestApp> => {
    const app = await open();
    for (const id of ids)
      await app.ctx.db.single.run(
        `INSERT INTO organizations (id, slug, name, personal, created_at) VALUES ('${id}', '${id}', 'Old', 0, 1)`,
        [],
      );
    return app;
  };
  const names = (app: TestApp) =>
    app.ctx.db.read.run<{ id: string; name: string }>('SELECT id, name FROM organizations ORDER BY id', []);

  test('of one turn change their own row, and return it or nothing', async () => {
    const app = await withOrganizations(['a', 'b', 'c']);
    const { single } = app.ctx.db;
    const wanted = [
      { id: 'b', name: `"B" \\ '{}'`, now: 2 },
      { id: 'none', name: 'x', now: 2 },
      { id: 'a', name: 'Á 🔑', now: 9_007_199_254_740_991 },
      { id: 'c', name: 'too early', now: 1 },
    ];
    const before = app.statements.length;
    const returned = await Promise.all(wanted.map((values) => rename(single, values)));
    const [b, , a] = wanted.map(({ id, name }) => ({ id, name }));
    expect(returned).toEqual([[b!], [], [a!], []]);
    expect(await names(app)).toEqual([a!, b!, { id: 'c', name: 'Old' }]);
    // One for all, and another one for each that it did not change.
    const updates = app.statements.slice(before).filter((text) => text.includes('update "organizations"'));
    expect(updates).toHaveLength(dialect === 'postgres' ? 3 : 4);
  });

  test('of the same row have an effect once', async () => {
    const app = await withOrganizations(['a', 'b']);
    const wanted = ['first', 'second', 'third'].map((name) => ({ id: 'a', name, now: 2 }));
    const returned = await Promise.all(
      [...wanted, { id: 'b', name: 'other', now: 2 }].map((values) => rename(app.ctx.db.single, values)),
    );
    const winners = returned.slice(0, 3).flat();
    expect(winners).toHaveLength(1);
    expect(returned[3]).toMatchObject([{ id: 'b', name: 'other' }]);
    expect((await names(app))[0]!.name).toBe(winners[0]!.name!);
  });

  // SQLite has one writer at a time.
  test.if(dialect === 'postgres')('wait only for a lock on their own row', async () => {
    const app = await withOrganizations(['a', 'b', 'c']);
    const ended: string[] = [];
    const done = await app.ctx.db.transaction(async (tx) => {
      await tx.run("UPDATE organizations SET name = 'Locked' WHERE id = 'b'", []);
      const waiting = ['a', 'b', 'c'].map(async (id) => {
        const rows = await rename(app.ctx.db.single, { id, name: 'New', now: 2 });
        ended.push(id);
        return rows;
      });
      await until(() => ended.length >= 2, 'two updates that have ended');
      expect(ended.toSorted()).toEqual(['a', 'c']);
      return { waiting };
    });
    expect((await Promise.all(done.waiting)).map((rows) => rows.length)).toEqual([1, 1, 1]);
    expect((await names(app)).map(({ name }) => name)).toEqual(['New', 'New', 'New']);
  });

  test('that fail do not affect others', async () => {
    const app = await withOrganizations(['a', 'b']);
    const outcomes = await Promise.allSettled([
      rename(app.ctx.db.single, { id: 'a', name: null, now: 2 }),
      rename(app.ctx.db.single, { id: 'b', name: 'New', now: 2 }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect((await names(app)).map(({ name }) => name)).toEqual(['Old', 'New']);
  });
});
