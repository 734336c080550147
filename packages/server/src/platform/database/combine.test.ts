import { expect, test } from 'bun:test';
import { onBothDatabases, type TestApp } from '../../../../../tests/support/app.ts';
import { until } from '../../../../../tests/support/until.ts';
import { lockAccountRow, lockedAccountId } from './locks.ts';
import { statement } from './statement.ts';

/** Locks the account, and takes only a later revision: not every order of several has the same effect. */
const rename = statement<{ id: string; name: string | null; revision: number }>()((db, p, dialect) =>
  db
    .updateTable('users')
    .set({ name: p.name as never, revision: p.revision })
    .where('id', '=', lockedAccountId(db, p.id, dialect))
    .where('revision', '<', p.revision),
);

const record = statement<{ id: string; slug: string }>()((db, p) =>
  db
    .insertInto('organizations')
    .values({ id: p.id, slug: p.slug, name: 'recorded', personal: 0, created_at: 1 })
    .onConflict((c) => c.column('id').doNothing()),
);

interface Renaming {
  readonly id: string;
  readonly name: string | null;
  readonly revision?: number;
  readonly recordedAs?: string;
}

onBothDatabases('batches of one turn', (open, dialect) => {
  const withAccounts = async (ids: readonly string[]): Promise<TestApp> => {
    const app = await open();
    for (const id of ids)
      await app.ctx.db.single.run(
        `INSERT INTO users (id, email, email_key, email_verified, name, webauthn_user_handle, revision, session_epoch, created_at, updated_at)
          VALUES ('${id}', '${id}', '${id}', 1, 'Old', '${id}', 1, 1, 1, 1)`,
        [],
      );
    return app;
  };
  const renameIn = (app: TestApp, { id, name, revision = 2, recordedAs = id }: Renaming): Promise<boolean> =>
    app.ctx.db.batch(async (on) => {
      await record(on, { id: recordedAs, slug: recordedAs });
      await rename(on, { id, name, revision });
    });
  const state = async (app: TestApp) => {
    const read = (text: string) => app.ctx.db.read.run<{ value: string }>(text, []);
    const names = await read('SELECT name AS value FROM users ORDER BY id');
    const recorded = await read('SELECT id AS value FROM organizations ORDER BY id');
    return [names, recorded].map((rows) => rows.map(({ value }) => value).join());
  };

  test('share a statement on PostgreSQL', async () => {
    const app = await withAccounts(['a', 'b', 'c']);
    const renamings = [
      { id: 'b', name: `"B" \\ '{}' $1` },
      { id: 'a', name: 'Á 🔑' },
      { id: 'c', name: '' },
    ];
    const before = app.statements.length;
    expect(await Promise.all(renamings.map((one) => renameIn(app, one)))).toEqual([true, true, true]);
    expect(await state(app)).toEqual([`Á 🔑,"B" \\ '{}' $1,`, 'a,b,c']);
    const writes = app.statements.slice(before).filter((text) => text.includes('update "users"'));
    expect(writes).toHaveLength(dialect === 'postgres' ? 1 : 3);
    await app.close();
  });

  test('take effect or fail independently of each other', async () => {
    const app = await withAccounts(['a', 'b', 'c', 'd']);
    const outcomes = await Promise.allSettled(
      [
        { id: 'a', name: 'New' },
        { id: 'none', name: 'New' },
        { id: 'b', name: 'too early', revision: 1 },
        { id: 'c', name: null },
        { id: 'd', name: 'New' },
      ].map((one) => renameIn(app, one)),
    );
    expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'failed'))).toEqual([
      true,
      false,
      false,
      'failed',
      true,
    ]);
    expect(await state(app)).toEqual(['New,Old,Old,New', 'a,d']);
    await app.close();
  });

  test('about the same rows take effect once', async () => {
    const app = await withAccounts(['a', 'b']);
    const outcomes = await Promise.all([
      renameIn(app, { id: 'a', name: 'first', recordedAs: 'x' }),
      renameIn(app, { id: 'a', name: 'second', recordedAs: 'y' }),
      renameIn(app, { id: 'b', name: 'other', recordedAs: 'z' }),
    ]);
    expect(outcomes.toSorted()).toEqual([false, true, true]);
    expect(outcomes[2]).toBe(true);
    expect(await state(app)).toEqual(outcomes[0] ? ['first,other', 'x,z'] : ['second,other', 'y,z']);
    await app.close();
  });

  // SQLite has one writer at a time.
  test.if(dialect === 'postgres')('wait only for the lock of their own account', async () => {
    const app = await withAccounts(['a', 'b', 'c']);
    const ended: string[] = [];
    const { waiting } = await app.ctx.db.transaction(async (tx) => {
      await lockAccountRow(tx, { id: 'b' });
      const waiting = ['a', 'b', 'c'].map(async (id) => {
        const isDone = await renameIn(app, { id, name: 'New' });
        ended.push(id);
        return isDone;
      });
      await until(() => ended.length >= 2);
      await Bun.sleep(100);
      expect(ended.toSorted()).toEqual(['a', 'c']);
      return { waiting };
    });
    expect(await Promise.all(waiting)).toEqual([true, true, true]);
    expect(await state(app)).toEqual(['New,New,New', 'a,b,c']);
    await app.close();
  });
});
