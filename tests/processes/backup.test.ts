// `backup` beside a running service, and `restore` into the other kind of database.

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { TokenSet } from '@latchkey/contract/tokens';
import postgres from 'postgres';
import { generateKey } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { mountDisk } from '../support/disk.ts';
import { loginByMail, request } from '../support/http.ts';
import { startPostgres } from '../support/postgres.ts';
import {
  runOperator,
  startOperator,
  startService,
  type TestService,
  temporaryDirectory,
} from '../support/service.ts';
import { basic } from '../support/services.ts';
import { until } from '../support/until.ts';

const keys = generateKey();

type Dialect = 'sqlite' | 'postgres';

const newDatabase = async (dialect: Dialect): Promise<string> =>
  dialect === 'postgres'
    ? (await startPostgres()).createDatabase()
    : `sqlite:${join(temporaryDirectory(), 'restored.db')}`;

const envOf = (databaseUrl: string, more: Record<string, string> = {}) => ({
  DATABASE_URL: databaseUrl,
  LATCHKEY_KEYS: keys,
  ...more,
});

/** Whether a restore that failed left anything. */
async function holdsTables(databaseUrl: string): Promise<boolean> {
  const { stderr } = await runOperator(envOf(databaseUrl), 'services', 'list');
  return !stderr.includes('there is no store yet');
}

for (const [from, to] of [
  ['sqlite', 'postgres'],
  ['postgres', 'sqlite'],
] as const) {
  describe(`backup of ${from}, restored into ${to}`, () => {
    const directory = temporaryDirectory();
    const file = join(directory, 'latchkey.backup.gz');
    let service: TestService;
    let ada: TokenSet;
    let serviceKey: string;

    const operator = (...args: string[]) => runOperator(service.env, ...args);
    const readFeed = (at: TestService) =>
      request(at.url, 'POST', '/feed', {
        headers: { Authorization: basic(serviceKey) },
        json: { returnImmediately: true },
      });
    /** Starts a service on a restored database, for the time of some work. */
    const serving = async (
      databaseUrl: string,
      work: (restored: TestService) => Promise<void>,
      ring: string = keys,
    ) => {
      const restored = await startService({ databaseUrl, env: { LATCHKEY_KEYS: ring } });
      try {
        await work(restored);
      } finally {
        await restored.stop();
      }
    };

    beforeAll(async () => {
      service = await startService({ databaseUrl: await newDatabase(from), env: { LATCHKEY_KEYS: keys } });
      ada = await loginByMail(service.url, 'ada@example.com');
      const created = await operator('services', 'create', 'reader', '--may', 'feed');
      serviceKey = created.stdout.trimEnd().split('\n').at(-1) ?? '';
      await operator('organizations', 'create', '--slug', 'acme', '--name', 'Acme \u202E "x"\\');
      await operator(
        ...['organizations', 'add-member', '--slug', 'acme', '--email', 'ada@example.com', '--role', 'owner'],
      );
      expect((await readFeed(service)).status).toBe(200);
      expect(await operator('backup', file)).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(
          /^Wrote .*: 1 account, 0 passkeys, 1 session, \d+ entries .*\nThe keys /,
        ),
      });
    });

    afterAll(async () => {
      await service.stop();
    });

    test('a restore brings back accounts, organizations, services and an intact log, and ends every session', async () => {
      const databaseUrl = await newDatabase(to);
      const before = await request(service.url, 'GET', '/me', { token: ada.access_token });
      const restored = await runOperator(envOf(databaseUrl), 'restore', file);
      expect(restored).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Store: \S+\n$/) });
      expect(restored.stdout).toContain('All sessions and keys have ended');
      expect(restored.stdout).toContain('Not restored: waiting emails');
      expect(restored.stdout).not.toContain('its seal');

      const show = ['organizations', 'show', '--slug', 'acme', '--json'];
      const shown = await runOperator(envOf(databaseUrl), ...show);
      expect(shown.stdout).toBe((await operator(...show)).stdout);
      const again = await runOperator(envOf(databaseUrl), 'restore', file);
      expect(again).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('the database is not empty'),
      });

      await serving(databaseUrl, async (at) => {
        expect((await request(at.url, 'GET', '/me', { token: ada.access_token })).status).toBe(401);
        const { refresh_token } = ada;
        const refreshed = await request(at.url, 'POST', '/token/refresh', { json: { refresh_token } });
        expect(refreshed.status).toBeGreaterThanOrEqual(400);
        const { access_token: token } = await loginByMail(at.url, 'Ada@Example.com');
        expect((await request(at.url, 'GET', '/me', { token })).body).toEqual(before.body);
        const { body } = await request(at.url, 'GET', '/events', { token });
        expect(body.events.map(({ type }: { type: string }) => type)).toContain('all_sessions_revoked');
        expect((await readFeed(at)).status).toBe(410);
        expect((await readFeed(at)).status).toBe(200);
      });
      const verified = await runOperator(envOf(databaseUrl), 'events', 'verify');
      expect(verified).toMatchObject({ code: 0 });
    });

    test('--keep-sessions keeps the sessions of the backup and warns about them', async () => {
      const databaseUrl = await newDatabase(to);
      const { code, stdout } = await runOperator(envOf(databaseUrl), 'restore', file, '--keep-sessions');
      expect([code, stdout]).toEqual([
        0,
        expect.stringContaining('WARNING: its sessions and keys are active'),
      ]);
      await serving(databaseUrl, async (at) => {
        expect((await request(at.url, 'GET', '/me', { token: ada.access_token })).status).toBe(200);
      });
    });

    test('a backup that is incomplete or was changed, or is of other keys, is refused and leaves nothing', async () => {
      const databaseUrl = await newDatabase(to);
      const whole = gunzipSync(readFileSync(file)).toString();
      const lines = whole.trimEnd().split('\n');
      const bad: [string, Uint8Array | string, RegExp][] = [
        ['cut', readFileSync(file).subarray(0, -20), /cannot be decompressed/],
        ['without its end', gzipSync(lines.slice(0, -1).join('\n')), /its end is missing/],
        ['cut within a line', whole.slice(0, -200), /was changed or damaged|its end is missing/],
        ['changed', whole.replace('"ada@example.com"', '"eve@example.com"'), /does not match its digest/],
        ['without a row', lines.filter((_, at) => at !== 2).join('\n'), /does not match its digest/],
        ['another file', randomBytes(1000), /is not a backup of Latchkey/],
        ['longer', `${whole}{}\n`, /was changed or damaged/],
      ];
      for (const [what, content, reason] of bad) {
        const path = join(directory, 'bad.backup');
        writeFileSync(path, content);
        const { code, stdout, stderr } = await runOperator(envOf(databaseUrl), 'restore', path);
        expect({ what, code, stdout }).toEqual({ what, code: 1, stdout: '' });
        expect(stderr).toMatch(reason);
      }
      const otherKeys = generateKey();
      const others = envOf(databaseUrl, { LATCHKEY_KEYS: otherKeys });
      const { code, stderr } = await runOperator(others, 'restore', file);
      expect([code, stderr]).toEqual([1, expect.stringContaining('are not in the key ring')]);
      expect(await holdsTables(databaseUrl)).toBe(false);
      expect(await runOperator(others, 'restore', file, '--any-keys', '--keep-sessions')).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('its seal is under another key and was not verified'),
      });
      await serving(
        databaseUrl,
        async (at) => void (await loginByMail(at.url, 'ada@example.com')),
        otherKeys,
      );
    });

    test('an existing file is only replaced on request, and a backup is readable by its owner only', async () => {
      const existing = join(directory, 'existing.backup');
      writeFileSync(existing, 'precious', { mode: 0o644 });
      expect(await operator('backup', existing)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('use --force'),
      });
      expect(readFileSync(existing, 'utf8')).toBe('precious');
      expect((await operator('backup', existing, '--force')).code).toBe(0);
      expect(statSync(existing).mode & 0o777).toBe(0o600);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const missing = await operator('backup', join(directory, 'missing/latchkey.backup'));
      expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('ENOENT') });
      expect(readdirSync(directory).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    });

    test('a backup during sign-ups has each account with everything that came with it', async () => {
      let isDone = false;
      let count = 0;
      const signUps = [0, 1, 2].map(async (worker) => {
        while (!isDone) await loginByMail(service.url, `crowd-${worker}-${count++}@example.com`);
      });
      const during = join(directory, 'during.backup');
      try {
        await until(() => count >= 5, '5 accounts');
        expect((await operator('backup', during)).code).toBe(0);
      } finally {
        isDone = true;
        await Promise.all(signUps);
      }
      const tables = rowsOf(readFileSync(during, 'utf8'));
      const ids = (table: string, column: string) =>
        (tables[table] ?? []).map((row) => row[column]).toSorted();
      const users = ids('users', 'id');
      expect(users.length).toBeGreaterThan(3);
      expect([...new Set(ids('sessions', 'user_id'))]).toEqual(users);
      expect([...new Set(ids('memberships', 'user_id'))]).toEqual(users);
      expect(ids('event_chains', 'user_id')).toEqual(users);
      const databaseUrl = await newDatabase(to);
      expect((await runOperator(envOf(databaseUrl), 'restore', during)).code).toBe(0);
      expect((await runOperator(envOf(databaseUrl), 'events', 'verify')).code).toBe(0);
    });
  });
}

/** The rows of a backup, by table. */
function rowsOf(text: string): Record<string, Record<string, unknown>[]> {
  const tables: Record<string, Record<string, unknown>[]> = {};
  let current: { table: string; columns: string[] } | undefined;
  for (const line of text.trimEnd().split('\n').slice(1, -1)) {
    const value = JSON.parse(line);
    if (!Array.isArray(value)) current = value;
    else if (current) {
      const row = Object.fromEntries(current.columns.map((column, at) => [column, value[at]]));
      tables[current.table] = [...(tables[current.table] ?? []), row];
    }
  }
  return tables;
}

test('the numbers of the feed and of the security log go on behind a gap, on both databases', async () => {
  const source = await newDatabase('sqlite');
  await runOperator(envOf(source), 'migrate');
  const people = join(temporaryDirectory(), 'people.jsonl');
  writeFileSync(people, '{"email":"ada@example.com"}\n');
  expect((await runOperator(envOf(source), 'users', 'import', people)).code).toBe(0);
  const file = join(temporaryDirectory(), 'latchkey.backup');
  expect((await runOperator(envOf(source), 'backup', file)).code).toBe(0);
  const [onSqlite, onPostgres] = [await newDatabase('sqlite'), await newDatabase('postgres')];
  for (const url of [onSqlite, onPostgres]) {
    expect((await runOperator(envOf(url), 'restore', file)).code).toBe(0);
    const { stdout } = await runOperator(envOf(url), 'events', 'follow', '--once', '--after', '1');
    const { type, position } = JSON.parse(stdout.split('\n')[0]!);
    // The account had no session that could end.
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(type).toBe('account_created');
    expect(position).toBeGreaterThan(1_000_000);
  }
  const sql = postgres(onPostgres, { max: 1 });
  const [drawn] = await sql`SELECT nextval('feed_sequence')::int AS next`;
  await sql.end();
  expect(drawn?.['next']).toBe(1_000_001);
  using sqlite = new Database(onSqlite.slice('sqlite:'.length));
  // What waits without a session has ended, too.
  expect(sqlite.query<unknown, []>('SELECT session_epoch FROM users').all()).toEqual([{ session_epoch: 1 }]);
  const insert = `INSERT INTO feed_events (id, type, user_id, detail, written_at)
      VALUES ('evt_1', 'session-revoked', 'usr_1', '{}', 0) RETURNING seq`;
  expect(sqlite.query<{ seq: number }, []>(insert).get()).toEqual({ seq: 1_000_001 });
});

/** A migrated database with many accounts, and its URL. */
async function crowded(): Promise<string> {
  const source = await newDatabase('sqlite');
  await runOperator(envOf(source), 'migrate');
  const people = join(temporaryDirectory(), 'people.jsonl');
  const lines = Array.from({ length: 2_000 }, (_, index) => `{"email":"person${index}@example.com"}\n`);
  writeFileSync(people, lines.join(''));
  expect((await runOperator(envOf(source), 'users', 'import', people)).code).toBe(0);
  return source;
}

test('a backup that SIGTERM ends leaves no file', async () => {
  const directory = temporaryDirectory();
  const backup = startOperator(envOf(await crowded()), 'backup', join(directory, 'latchkey.backup'));
  await until(() => readdirSync(directory).length > 0, 'a file of the backup');
  backup.kill('SIGTERM');
  expect(await backup.exited).toBe(143);
  expect(readdirSync(directory)).toEqual([]);
});

test('a backup replaces only regular files, and has no other target than a file', async () => {
  const source = await newDatabase('sqlite');
  await runOperator(envOf(source), 'migrate');
  const directory = temporaryDirectory();
  const [file, link, pipe] = ['file', 'link', 'pipe'].map((name) => join(directory, name));
  writeFileSync(file!, 'precious');
  symlinkSync(file!, link!);
  expect(Bun.spawnSync(['mkfifo', pipe!]).exitCode).toBe(0);
  for (const target of [link!, pipe!, '/dev/null', directory]) {
    const { code, stderr } = await runOperator(envOf(source), 'backup', target, '--force');
    expect([code, stderr]).toEqual([1, expect.stringContaining('it exists and is not a regular file')]);
  }
  const { code, stderr } = await runOperator(envOf(source), 'backup', '-');
  expect([code, stderr]).toEqual([1, expect.stringContaining('not to standard output')]);
  expect((await runOperator({}, 'backup', '--help')).stdout.replace(/\s+/g, ' ')).toContain(
    'with email addresses and names',
  );
  expect(readFileSync(file!, 'utf8')).toBe('precious');
  expect(lstatSync(link!).isSymbolicLink()).toBe(true);
  expect(readdirSync(directory).toSorted()).toEqual(['file', 'link', 'pipe']);
});

test('a restore into SQLite that finds the disk full says so, and leaves nothing', async () => {
  const file = join(temporaryDirectory(), 'latchkey.backup');
  expect((await runOperator(envOf(await crowded()), 'backup', file)).code).toBe(0);
  const directory = temporaryDirectory();
  const disk = mountDisk(directory, '1m');
  // Only root can mount one.
  if (!disk) return;
  const target = envOf(`sqlite:${join(directory, 'restored.db')}`);
  const requireFull = async () => {
    const { code, stderr } = await runOperator(target, 'restore', file);
    expect([code, stderr.split('\n')[1]]).toEqual([
      1,
      'latchkey-server: The database cannot be used: database or disk is full.',
    ]);
  };
  await requireFull();
  expect(readdirSync(directory)).toEqual([]);
  disk.fill();
  await requireFull();
  expect(readdirSync(directory)).toEqual(['filler']);
});
