import { expect, test } from 'bun:test';
import { onBothDatabases } from '#support/app.ts';
import { databaseUpTo } from '#support/new-database.ts';
import { isUnfinishedRestore, markRestoreFinished, removeRestoreGuard } from './stored-rows.ts';

onBothDatabases('a restored database', (open, dialect) => {
  test('is not what an earlier release wrote, and is none any more once it is finished', async () => {
    const databaseUrl = await databaseUpTo(dialect, '0005-key-ends-from-0003');
    const app = await open({ databaseUrl });
    const { db } = app.ctx;
    expect(await isUnfinishedRestore(db.read)).toBe(false);
    await db.single.run(removeRestoreGuard, []);
    expect(await isUnfinishedRestore(db.read)).toBe(true);
    await db.transaction(markRestoreFinished);
    expect(await isUnfinishedRestore(db.read)).toBe(false);
  });
});
