import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import { onBothDatabases } from '../../../../../../tests/support/app.ts';
import { startPostgres } from '../../../../../../tests/support/postgres.ts';
import { temporaryDirectory } from '../../../../../../tests/support/service.ts';
import { inspectDatabase } from '../inspect.ts';
import { migrationNames, migrations } from '../migrate.ts';
import { type BackupRow, backupLines } from './format.ts';
import { restoreBackup } from './restore.ts';
import { withSnapshot } from './snapshot.ts';

onBothDatabases('restoring', (open, dialect) => {
  const newUrl = async () =>
    dialect === 'sqlite'
      ? `sqlite:${join(temporaryDirectory(), 'restored.db')}`
      : (await startPostgres()).createDatabase();

  /** A backup of a service with one account, as a release with this schema would have written it. */
  async function backupOf(schema: string, change: (row: BackupRow) => BackupRow = (row) => row) {
    const app = await open();
    await app.login('ada@example.com');
    const file = join(temporaryDirectory(), 'latchkey.backup');
    const start = {
      release: '0.0.0',
      schema,
      created_at: '2026-01-01T00:00:00.000Z',
      feed_position: 7,
      event_position: 8,
    };
    const lines = await withSnapshot(app.databaseUrl, (snapshot) => {
      const rows = async function* () {
        for await (const row of snapshot.rows()) yield change(row);
      };
      return Array.fromAsync(backupLines(start, rows(), app.ctx.keys, {}));
    });
    writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
    return { url: await newUrl(), file, seal: { keys: app.ctx.keys, anyKeys: false } };
  }

  test('a backup of an earlier release is brought up to date', async () => {
    const schema = migrationNames.at(-1)!;
    const later = {
      up: async (db: Kysely<unknown>) => db.schema.createTable('later').addColumn('id', 'text').execute(),
    };
    const restored = { ...(await backupOf(schema)), migrations: { ...migrations, '0999-later': later } };
    let users = 0;
    await restoreBackup(restored, async (db) => {
      users = (await db.read.run('SELECT id FROM users', [])).length;
      // What begins after a restore comes after everything that was restored.
      await db.single.run(
        `INSERT INTO passkeys (id, user_id, credential_id, public_key, counter, name, aaguid, device_type, backed_up, transports, created_at)
         SELECT 'pk_new', id, 'new', '', 0, '', '', 'multi_device', 0, '[]', 0 FROM users`,
        [],
      );
      const [ordinals] = await db.read.run<{ last: number; restored: number }>(
        'SELECT (SELECT ordinal FROM passkeys) AS last, (SELECT max(ordinal) FROM sessions) AS restored',
        [],
      );
      expect(ordinals!.last).toBe(ordinals!.restored + 1);
    });
    expect(users).toBe(1);
    expect(await inspectDatabase(restored.url)).toMatchObject({ pending: [], later: ['0999-later'] });
  });

  test('a backup of a later release, and one that does not fit its schema, are refused', async () => {
    const later = await backupOf('9999-later');
    const nothing = async () => undefined;
    await expect(restoreBackup(later, nothing)).rejects.toThrow('newer release of Latchkey (0.0.0)');
    const other = await backupOf(migrationNames.at(-1)!, (row) =>
      row.table === 'users' ? { ...row, table: 'people' } : row,
    );
    await expect(restoreBackup(other, nothing)).rejects.toThrow('it has a table people');
    for (const { url } of [later, other]) await expect(inspectDatabase(url)).rejects.toThrow('no store');
  });

  test('a restore that fails at its end leaves nothing, and can be run again', async () => {
    const restored = await backupOf(migrationNames.at(-1)!);
    const failing = restoreBackup(restored, () => Promise.reject(new Error('killed')));
    await expect(failing).rejects.toThrow('killed');
    await expect(inspectDatabase(restored.url)).rejects.toThrow('no store');
    await restoreBackup(restored, async () => undefined);
    expect(await inspectDatabase(restored.url)).toMatchObject({ pending: [] });
  });
});
