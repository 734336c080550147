import { expect, test } from 'bun:test';
import { onBothDatabases, type TestApp } from '../../../../../tests/support/app.ts';
import { lookup, maxTogether } from './gather.ts';

const organization = lookup((db, p) =>
  db.selectFrom('organizations').select(['id', 'name']).where('id', '=', p.id).where('personal', '=', 0),
);

onBothDatabases('look-ups', (open, dialect) => {
  const withOrganizations = async (names: readonly string[]): Promise<TestApp> => {
    const app = await open();
    const text = (name: string) =>
      `INSERT INTO organizations (id, slug, name, personal, created_at) VALUES ('${name}', '${name}', 'Named ${name}', 0, 1)`;
    await app.ctx.db.transaction(async (tx) => {
      for (const name of names) await tx.run(text(name), []);
    });
    return app;
  };
  const lookupsSince = ({ statements }: TestApp, before: number) =>
    statements.slice(before).filter((text) => text.includes('from "organizations"'));
  const together = (count: number) => (dialect === 'postgres' ? Math.ceil(count / maxTogether) : count);

  test('of one turn each get their own row or none, also when several ask for the same', async () => {
    const app = await withOrganizations(['a', 'b']);
    const { read } = app.ctx.db;
    const asked = ['b', 'none', 'a', 'b', "';--"];
    const before = app.statements.length;
    const found = await Promise.all(asked.map((id) => organization(read, { id })));
    const [a, b] = ['a', 'b'].map((id) => [{ id, name: `Named ${id}` }]);
    expect(found).toEqual([b!, [], a!, b!, []]);
    expect(lookupsSince(app, before)).toHaveLength(together(asked.length));
  });

  test('see what was committed before they were asked, whatever was asked earlier in the turn', async () => {
    const app = await withOrganizations(['a']);
    const early = organization(app.ctx.db.read, { id: 'a' });
    await app.ctx.db.single.run("UPDATE organizations SET name = 'Renamed'", []);
    const late = organization(app.ctx.db.read, { id: 'a' });
    expect((await late).map(({ name }) => name)).toEqual(['Renamed']);
    expect(await early).toHaveLength(1);
  });

  test('share a statement 32 at a time on PostgreSQL', async () => {
    const names = Array.from({ length: 150 }, (_, index) => `o${index}`);
    const app = await withOrganizations(names);
    const before = app.statements.length;
    const found = await Promise.all(names.map((id) => organization(app.ctx.db.read, { id })));
    expect(found.map(([row]) => row?.id)).toEqual(names);
    expect(lookupsSince(app, before)).toHaveLength(together(names.length));
  });

  test('in a transaction see its own changes, one by one', async () => {
    const app = await withOrganizations(['a']);
    await app.ctx.db.transaction(async (tx) => {
      await tx.run("UPDATE organizations SET name = 'Mine'", []);
      const before = app.statements.length;
      expect((await organization(tx, { id: 'a' })).map(({ name }) => name)).toEqual(['Mine']);
      expect((await organization(tx, { id: 'b' })).length).toBe(0);
      expect(lookupsSince(app, before)).toHaveLength(2);
    });
  });

  test('fail together when the database does', async () => {
    const app = await withOrganizations([]);
    const broken = lookup((db, p) => db.selectFrom('users').select('id').where('id', '=', p.id));
    await app.ctx.db.single.run('ALTER TABLE users RENAME TO former_users', []);
    const outcomes = await Promise.allSettled(['a', 'b'].map((id) => broken(app.ctx.db.read, { id })));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await app.ctx.db.single.run('ALTER TABLE former_users RENAME TO users', []);
  });
});
