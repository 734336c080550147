// `restore` is killed in the middle.

import { beforeAll, expect, test } from 'bun:test';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import { generateKey } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { startPostgres } from '../support/postgres.ts';
import { runOperator, startOperator, temporaryDirectory } from '../support/service.ts';
import { until } from '../support/until.ts';

/** So many that SQLite writes pages of the transaction to its file before the end. */
const accounts = 2_000;
const minLogBytes = 500_000;
const maxAttempts = 20;

const keys = generateKey();
const file = join(temporaryDirectory(), 'latchkey.backup');
const envOf = (databaseUrl: string) => ({ DATABASE_URL: databaseUrl, LATCHKEY_KEYS: keys });

async function succeed(databaseUrl: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runOperator(envOf(databaseUrl), ...args);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}\n${stdout}${stderr}`);
  return stdout;
}

/** Starts a restore and kills it when it is in the middle. False if it ended before that was seen. */
async function killRestore(
  databaseUrl: string,
  isInTheMiddle: () => boolean | Promise<boolean>,
): Promise<boolean> {
  const restore = startOperator(envOf(databaseUrl), 'restore', file);
  let hasEnded = false;
  void restore.exited.then(() => {
    hasEnded = true;
  });
  await until(async () => hasEnded || (await isInTheMiddle()), 'the middle of a restore');
  if (hasEnded) return false;
  restore.kill('SIGKILL');
  expect(await restore.exited).toBe(137);
  return true;
}

async function requireRestored(databaseUrl: string): Promise<void> {
  expect(await succeed(databaseUrl, 'restore', file)).toContain(`: ${accounts} accounts, `);
  expect((await succeed(databaseUrl, 'users', 'list', '--json')).trimEnd().split('\n')).toHaveLength(
    accounts,
  );
  await succeed(databaseUrl, 'events', 'verify');
}

beforeAll(async () => {
  const source = `sqlite:${join(temporaryDirectory(), 'source.db')}`;
  await succeed(source, 'migrate');
  const people = join(temporaryDirectory(), 'people.jsonl');
  const lines = Array.from({ length: accounts }, (_, index) => `{"email":"person${index}@example.com"}\n`);
  writeFileSync(people, lines.join(''));
  await succeed(source, 'users', 'import', people);
  await succeed(source, 'backup', file);
});

test('a restore into SQLite that is killed leaves no store, and runs again', async () => {
  let path = '';
  let listed = { code: 0, stderr: '' };
  // On a busy machine the kill may come after the commit, or not at all.
  for (let attempt = 0; attempt < maxAttempts && listed.code === 0; attempt++) {
    path = join(temporaryDirectory(), 'restored.db');
    const log = `${path}-wal`;
    const isLogLarge = () => existsSync(log) && statSync(log).size > minLogBytes;
    if (await killRestore(`sqlite:${path}`, isLogLarge))
      listed = await runOperator(envOf(`sqlite:${path}`), 'users', 'list');
  }
  const databaseUrl = `sqlite:${path}`;
  expect(existsSync(path)).toBe(true);
  const { code, stderr } = listed;
  expect([code, stderr]).toEqual([1, expect.stringContaining('there is no store yet')]);
  await requireRestored(databaseUrl);
});

test('a restore into PostgreSQL that is killed leaves no row, and runs again', async () => {
  const databaseUrl = await (await startPostgres()).createDatabase();
  await succeed(databaseUrl, 'migrate');
  const sql = postgres(databaseUrl, { max: 2 });
  // Whoever inserts into this table waits, after the accounts are inserted.
  const blocker = await sql.reserve();
  await blocker`BEGIN`;
  await blocker`LOCK TABLE events IN SHARE MODE`;
  const isKilled = await killRestore(databaseUrl, async () => {
    const rows = await sql`SELECT 1 FROM pg_stat_activity WHERE application_name = 'latchkey restore'
        AND wait_event_type = 'Lock' AND query LIKE 'INSERT INTO "events"%'`;
    return rows.length > 0;
  });
  expect(isKilled).toBe(true);
  await blocker`ROLLBACK`;
  blocker.release();
  expect(await succeed(databaseUrl, 'users', 'list', '--json')).toBe('');
  await requireRestored(databaseUrl);
  await sql.end();
});
