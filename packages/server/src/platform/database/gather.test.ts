// Look-ups and updates that arrive in one turn, which PostgreSQL runs as one statement.

import { expect, test } from 'bun:test';
import { onBothDatabases, type TestApp } from '#support/app.ts';
import { until } from '#support/until.ts';
import { lookup, maxTogether, update } from './gather.ts';

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

/** The statements since then that look up or change organizations. */
const since = ({ statements }: TestApp, before: number) =>
  statements.slice(before).filter((text) => /(from|update) "organizations"/.test(text)).length;

onBothDatabases('look-ups', (open, dialect) => {
  const together = (count: number) => (dialect === 'postgres' ? Math.ceil(count / maxTogether) : count);

  test('of one turn each get their own row or none, also when several ask for the same', async () => {
    const app = await withOrganizations(open, ['a', 'b']);
    const { read } = app.ctx.db;
    const asked = ['b', 'none', 'a', 'b', "';--"];
    const before = app.statements.length;
    const found = await Promise.all(asked.map((id) => organization(read, { id })));
    const [a, b] = ['a', 'b'].map((id) => [{ id, name: `Old ${id}` }]);
    expect(found).toEqual([b!, [], a!, b!, []]);
    expect(since(app, before)).toBe(together(asked.length));
  });

  test('see what was committed before they were asked, whatever was asked earlier in the turn', async () => {
    const app = await withOrganizations(open, ['a']);
    const early = organization(app.ctx.db.read, { id: 'a' });
    await app.ctx.db.single.run("UPDATE organizations SET name = 'Renamed'", []);
    const late = organization(app.ctx.db.read, { id: 'a' });
    expect((await late).map(({ name }) => name)).toEqual(['Renamed']);
    expect(await early).toHaveLength(1);
  });

  test('share a statement 32 at a time on PostgreSQL', async () => {
    const names = Array.from({ length: 150 }, (_, index) => `o${index}`);
    const app = await withOrganizations(open, names);
    const before = app.statements.length;
    const found = await Promise.all(names.map((id) => organization(app.ctx.db.read, { id })));
    expect(found.map(([row]) => row?.id)).toEqual(names);
    expect(since(app, before)).toBe(together(names.length));
  });

  test('in a transaction see its own changes, one by one', async () => {
    const app = await withOrganizations(open, ['a']);
    await app.ctx.db.transaction(async (tx) => {
      await tx.run("UPDATE organizations SET name = 'Mine'", []);
      const before = app.statements.length;
      expect((await organization(tx, { id: 'a' })).map(({ name }) => name)).toEqual(['Mine']);
      expect((await organization(tx, { id: 'b' })).length).toBe(0);
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
  const named = async ({ ctx }: TestApp) => {
    const query = 'SELECT id, name FROM organizations ORDER BY id';
    const rows = await ctx.db.read.run<{ id: string; name: string }>(query, []);
    return rows.map(({ name }) => name);
  };

  test('of one turn change their own row, and return it or nothing', async () => {
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
    expect(await named(app)).toEqual([a!.name, b!.name, 'Old c']);
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
    expect((await named(app))[0]).toBe(winners[0]!.name!);
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
    expect(await named(app)).toEqual(['New', 'New', 'New']);
  });

  test('that fail do not affect others', async () => {
    const app = await withOrganizations(open, ['a', 'b']);
    const outcomes = await Promise.allSettled([
      rename(app.ctx.db.single, { id: 'a', name: null, now: 2 }),
      rename(app.ctx.db.single, { id: 'b', name: 'New', now: 2 }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(await named(app)).toEqual(['Old a', 'New']);
  });
});
