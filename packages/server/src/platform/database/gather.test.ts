// Look-ups and updates that arrive in one turn, and writes that belong together, which PostgreSQL runs as one statement.

import { expect, test } from 'bun:test';
import { onBothDatabases, type TestApp } from '#support/app.ts';
import { until } from '#support/until.ts';
import { lookup, maxTogether, update } from './gather.ts';
import { statement, together } from './statement.ts';

const organization = lookup((db, p) =>
  db.selectFrom('organizations').select(['id', 'name']).where('id', '=', p.id).where('personal', '=', 0),
);

/** Takes only a later time, so that of several updates of one row not every order has the same effect. */
const rename = update('organizations', { id: 'text', name: 'text null', now: 'bigint' })((db, p) =>
  db
    .updateTable('organizations')
    .set({ name: p.name as never, created_at: p.now })
    .where('id', '=', p.id)
    .where('created_at', '<', p.now)
    .returning(['id', 'name']),
);

type Open = () => Promise<TestApp>;

async function withOrganizations(open: Open, ids: readonly string[]): Promise<TestApp> {
  const app = await open();
  await app.ctx.db.transaction(async (tx) => {
    for (const id of ids) {
      const values = `'${id}', '${id}', 'Old ${id}', 0, 1`;
      await tx.run(`INSERT INTO organizations (id, slug, name, personal, created_at) VALUES (${values})`, []);
    }
  });
  return app;
}

const namesIn = async ({ ctx }: TestApp) => {
  const rows = await ctx.db.read.run<{ name: string }>('SELECT name FROM organizations ORDER BY id', []);
  return rows.map(({ name }) => name);
};

/** The statements since then that look up or change organizations. */
const since = ({ statements }: TestApp, before: number) =>
  statements.slice(before).filter((text) => /(from|update) "organizations"/.test(text)).length;

onBothDatabases('look-ups', (open, dialect) => {
  test('of one turn each get their own row or none, also when several ask for the same', async () => {
    const app = await withOrganizations(open, ['a', 'b']);
    const asked = ['b', 'none', 'a', 'b', "';--", ...Array(150).fill('a')];
    const before = app.statements.length;
    const found = await Promise.all(asked.map((id) => organization(app.ctx.db.read, { id })));
    const rows = asked.map((id) => (['a', 'b'].includes(id) ? [{ id, name: `Old ${id}` }] : []));
    expect(found).toEqual(rows);
    // PostgreSQL runs 32 at a time as one statement.
    expect(since(app, before)).toBe(
      dialect === 'postgres' ? Math.ceil(asked.length / maxTogether) : asked.length,
    );
  });

  test('see what was committed before they were asked, and in a transaction its own changes, one by one', async () => {
    const app = await withOrganizations(open, ['a']);
    const early = organization(app.ctx.db.read, { id: 'a' });
    const rename = "UPDATE organizations SET name = 'Renamed'";
    await app.ctx.db.single.run(rename, []);
    expect(await organization(app.ctx.db.read, { id: 'a' })).toMatchObject([{ name: 'Renamed' }]);
    expect(await early).toHaveLength(1);
    await app.ctx.db.transaction(async (tx) => {
      await tx.run(rename.replace('Renamed', 'Mine'), []);
      const before = app.statements.length;
      const found = await Promise.all(['a', 'b'].map((id) => organization(tx, { id })));
      expect(found).toMatchObject([[{ name: 'Mine' }], []]);
      expect(since(app, before)).toBe(2);
    });
  });

  test('fail together when the database does', async () => {
    const app = await withOrganizations(open, []);
    const broken = lookup((db, p) => db.selectFrom('users').select('id').where('id', '=', p.id));
    await app.ctx.db.single.run('ALTER TABLE users RENAME TO former_users', []);
    const outcomes = await Promise.allSettled(['a', 'b'].map((id) => broken(app.ctx.db.read, { id })));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await app.ctx.db.single.run('ALTER TABLE former_users RENAME TO users', []);
  });
});

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
  test('of one turn change their own row, and return it or nothing; one that fails does not affect the others', async () => {
    const app = await withOrganizations(open, ['a', 'b', 'c']);
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
    // One for all, and another one for each that it did not change.
    expect(since(app, before)).toBe(dialect === 'postgres' ? 3 : 4);
    const later = [
      rename(single, { id: 'c', name: null, now: 3 }),
      rename(single, { id: 'b', name: 'New', now: 3 }),
    ];
    const outcomes = await Promise.allSettled(later);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(await namesIn(app)).toEqual([a!.name, 'New', 'Old c']);
  });

  test('of the same row have an effect once', async () => {
    const app = await withOrganizations(open, ['a', 'b']);
    const wanted = ['first', 'second', 'third'].map((name) => ({ id: 'a', name, now: 2 }));
    const returned = await Promise.all(
      [...wanted, { id: 'b', name: 'other', now: 2 }].map((values) => rename(app.ctx.db.single, values)),
    );
    const winners = returned.slice(0, 3).flat();
    expect(winners).toHaveLength(1);
    expect(returned[3]).toMatchObject([{ id: 'b', name: 'other' }]);
    expect((await namesIn(app))[0]).toBe(winners[0]!.name!);
  });

  // SQLite has one writer at a time.
  test.if(dialect === 'postgres')('wait only for a lock on their own row', async () => {
    const app = await withOrganizations(open, ['a', 'b', 'c']);
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
    expect(await namesIn(app)).toEqual(['New', 'New', 'New']);
  });
});

const insertOne = statement<{ id: string; name: string }>()((db, p) =>
  db.insertInto('organizations').values({ id: p.id, slug: p.id, name: p.name, personal: 0, created_at: 1 }),
);
const renameOne = statement<{ id: string; name: string }>()((db, p) =>
  db.updateTable('organizations').set({ name: p.name }).where('id', '=', p.id),
);
const insertTwoAndRename = together(insertOne, insertOne, renameOne);

onBothDatabases('writes together', (open, dialect) => {
  const [first, second, third] = [
    { id: 'b', name: 'B' },
    { id: 'c', name: 'C' },
    { id: 'a', name: 'renamed' },
  ] as const;

  test('have no effect if one of them fails, and else each its own, in one statement on PostgreSQL', async () => {
    const app = await withOrganizations(open, ['a']);
    const { db } = app.ctx;
    await expect(insertTwoAndRename(db, first, first, third)).rejects.toThrow();
    await expect(insertTwoAndRename(db, first, { ...second, id: 'a' }, third)).rejects.toThrow();
    expect(await namesIn(app)).toEqual(['Old a']);
    const before = app.statements.length;
    await insertTwoAndRename(db, first, second, third);
    expect(app.statements.length - before).toBe(dialect === 'postgres' ? 1 : 3);
    expect(await namesIn(app)).toEqual(['renamed', 'B', 'C']);
  });

  test('of a transaction are committed or rolled back with it, and fail it', async () => {
    const app = await withOrganizations(open, ['a']);
    const { db } = app.ctx;
    const failing = db.transaction(async (tx) => {
      await renameOne(tx, { id: 'a', name: 'changed' });
      await insertTwoAndRename(tx, first, first, third);
    });
    await expect(failing).rejects.toThrow();
    const undone = db.transaction(async (tx) => {
      await insertTwoAndRename(tx, first, second, third);
      throw new Error('on purpose');
    });
    await expect(undone).rejects.toThrow('on purpose');
    expect(await namesIn(app)).toEqual(['Old a']);
    await db.transaction((tx) => insertTwoAndRename(tx, first, second, third));
    expect(await namesIn(app)).toEqual(['renamed', 'B', 'C']);
  });
});
