import { expect, test } from 'bun:test';
import { onBothDatabases } from '../../../../../../tests/support/app.ts';
import type { Tables } from '../schema.ts';
import { type BackupRow, backupTables } from './format.ts';
import { withSnapshot } from './snapshot.ts';

onBothDatabases('a snapshot', (open) => {
  test('a snapshot has nothing of what is written after it began, and holds no writer up', async () => {
    const app = await open();
    await app.login('ada@example.com');
    const rows: BackupRow[] = [];
    await withSnapshot(app.databaseUrl, async (snapshot) => {
      for await (const row of snapshot.rows()) {
        if (rows.length === 0) await app.login('bob@example.com');
        rows.push(row);
      }
    });
    const idsIn = (table: keyof Tables, column: string) =>
      new Set(
        rows
          .filter((row) => row.table === table)
          .map(({ columns, values }) => values[columns.indexOf(column)]),
      );
    const users = idsIn('users', 'id');
    expect(users.size).toBe(1);
    for (const table of ['sessions', 'memberships', 'events', 'event_chains'] as const) {
      expect([table, idsIn(table, 'user_id')]).toEqual([table, users]);
    }
    expect(idsIn('organizations', 'id').size).toBe(1);
    expect(rows.filter(({ table }) => !backupTables.includes(table))).toEqual([]);
  });
});
