// Which store an operator command uses. Only `serve` and `migrate` create a store or change its schema.

import { expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import { generateKey } from '../../packages/server/src/platform/crypto/primitives.ts';
import { spawn } from '../support/cleanup.ts';
import { plantCode } from '../support/cli.ts';
import { loginByMail } from '../support/http.ts';
import { isLong } from '../support/long.ts';
import { newDatabase } from '../support/new-database.ts';
import { databaseWithoutMigrations } from '../support/old-database.ts';
import { startPostgres } from '../support/postgres.ts';
import { runOperator, runOperatorProcess, startService, temporaryDirectory } from '../support/service.ts';
import { until } from '../support/until.ts';

const program = join(import.meta.dir, '../../packages/server/bin/latchkey-server');

/** Runs the program in a directory, with no other environment than `PATH` and `env`. */
async function run(cwd: string, args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn([program, ...args], {
    cwd,
    env: { PATH: process.env['PATH'], ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, stdout, stderr };
}

const commands = [
  ['users', 'sign-out', '--everybody'],
  ['users', 'disable', 'ada@example.com'],
  ['users', 'enable', 'ada@example.com'],
  ['users', 'delete', 'ada@example.com'],
  ['users', 'export', 'ada@example.com'],
  ['organizations', 'create', '--slug', 'acme', '--name', 'Acme'],
  ['organizations', 'add-member', '--slug', 'acme', '--email', 'ada@example.com', '--role', 'admin'],
  ['organizations', 'remove-member', '--slug', 'acme', '--email', 'ada@example.com'],
  ['organizations', 'list'],
  ['organizations', 'show', '--slug', 'acme'],
  ['organizations', 'rename', '--slug', 'acme', '--name', 'Acme'],
  ['organizations', 'delete', '--slug', 'acme'],
  ['users', 'list', '--search', 'ada'],
  ['users', 'sessions', 'ada@example.com'],
  ['outbox'],
  ['backup', 'latchkey.backup'],
  ['finish-restore'],
  ['copy', '--to', 'sqlite:copy.db'],
  ['events', 'verify'],
  ['events', 'follow'],
  ['keys', 'list'],
  ['keys', 'add'],
  ['keys', 'promote', 'AAAAAAA'],
  ['keys', 'retire', 'AAAAAAA'],
  ['services', 'create', 'billing'],
  ['services', 'list'],
  ['services', 'revoke', 'svc_unknown'],
  ['keys', 'rotate-signing'],
];

/** Each command is a process, so only one of each kind runs every time. */
const tried = isLong
  ? commands
  : commands.filter(([kind], index) => commands.findIndex(([other]) => other === kind) === index);

test.each(tried.map((args) => [args.join(' '), args] as const))(
  '%s fails without a store, names the missing store and creates nothing',
  async (_, args) => {
    const directory = temporaryDirectory();
    const { code, stdout, stderr } = await run(directory, args);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`Store: sqlite:${join(directory, 'data/latchkey.db')}\n`);
    expect(stderr).toMatch(/^latchkey-server: DATABASE_URL cannot be opened: there is no store/m);
    expect(readdirSync(directory)).toEqual([]);
  },
);

test('a command fails on an empty PostgreSQL database and leaves it empty, and never shows its password', async () => {
  const url = await (await startPostgres()).createDatabase();
  const env = { DATABASE_URL: url, LATCHKEY_KEYS: generateKey() };
  const { code, stderr } = await runOperator(env, 'users', 'sign-out', '--everybody');
  expect(code).toBe(1);
  const { host, pathname } = new URL(url);
  expect(stderr).toStartWith(`Store: postgres://${host}${pathname}\n`);
  expect(stderr).toContain('there is no store');
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  expect([...(await sql`SELECT 1 FROM information_schema.tables WHERE table_schema = 'public'`)]).toEqual([]);
  await sql.end();

  const secret = { ...env, DATABASE_URL: 'postgres://latchkey:hunter2@127.0.0.1:1/latchkey' };
  const refused = await runOperator(secret, 'outbox');
  expect(refused.stderr).toStartWith('Store: postgres://127.0.0.1:1/latchkey\n');
  expect(refused.stderr + refused.stdout).not.toContain('hunter2');
});

for (const dialect of ['sqlite', 'postgres'] as const) {
  test(`migrate creates a store, and commands refuse the store of an older release until it is migrated (${dialect})`, async () => {
    const directory = temporaryDirectory();
    const sqlite = join(directory, 'deep/latchkey.db');
    const url = dialect === 'sqlite' ? `sqlite:${sqlite}` : await (await startPostgres()).createDatabase();
    const env: Record<string, string> = { DATABASE_URL: url };
    const made = await runOperatorProcess(env, 'migrate');
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toMatch(/^(sqlite|postgres):\S+ is up to date\.\n$/);
    if (dialect === 'sqlite') {
      expect(readdirSync(join(directory, 'deep')).sort()).toEqual(['latchkey.db', 'latchkey.keys']);
    } else {
      env['LATCHKEY_KEYS'] = generateKey();
    }
    expect((await runOperator(env, 'services', 'list')).code).toBe(0);
    expect((await runOperator(env, 'migrate')).code).toBe(0);

    env['DATABASE_URL'] = await databaseWithoutMigrations(dialect);
    env['LATCHKEY_KEYS'] = generateKey();
    const { code, stderr } = await runOperator(env, 'services', 'list');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^latchkey-server: DATABASE_URL .*older release .*`latchkey-server migrate`/m);
    expect((await runOperator(env, 'migrate')).code).toBe(0);
    expect((await runOperator(env, 'services', 'list')).code).toBe(0);
  });
}

test.each([
  ['LATCHKEY_RETIRED_KEYS', () => ({ LATCHKEY_RETIRED_KEYS: 'abc' })],
  ['PORT', (port: number) => ({ PORT: String(port) })],
])('a start prevented by %s leaves no files behind', async (name, settingsOf) => {
  const directory = temporaryDirectory();
  const taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
  const settings = { PORT: '0', HOST: '127.0.0.1', ...settingsOf(taken.port ?? 0) };
  const env = { DATABASE_URL: `sqlite:${join(directory, 'latchkey.db')}`, ...settings };
  const { code, stderr } = await runOperatorProcess(env, 'serve');
  expect(code).toBe(1);
  expect(stderr).toStartWith(`latchkey-server: ${name} `);
  expect(readdirSync(directory)).toEqual([]);
  await taken.stop(true);
});

test('an operator command does not create a missing key file', async () => {
  const directory = temporaryDirectory();
  const env = { DATABASE_URL: `sqlite:${join(directory, 'latchkey.db')}` };
  await runOperator(env, 'migrate');
  rmSync(join(directory, 'latchkey.keys'));
  const { code, stderr } = await runOperator(env, 'services', 'list');
  expect(code).toBe(1);
  expect(stderr).toMatch(/^latchkey-server: LATCHKEY_KEYS is not set, and there is no key file /m);
  expect(existsSync(join(directory, 'latchkey.keys'))).toBe(false);
});

test('--env-file replaces .env, before or after the command; the environment overrides both', async () => {
  const service = await startService();
  await loginByMail(service.url, 'ada@example.com');
  const directory = temporaryDirectory();
  const file = join(directory, 'latchkey.env');
  writeFileSync(file, `# the service's\nDATABASE_URL="${service.env['DATABASE_URL']}"\n`);
  const elsewhere = join(directory, 'elsewhere');
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, '.env'), 'DATABASE_URL=sqlite:other.db\nPORT=nonsense\n');

  const signOut = ['users', 'sign-out', 'ada@example.com'];
  for (const args of [
    ['--env-file', file, ...signOut],
    [...signOut, '--env-file', '../latchkey.env'],
  ]) {
    const { code, stdout, stderr } = await run(elsewhere, args);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: 'Ended all sessions of ada@example.com.\n',
      stderr: `Store: sqlite:${join(service.directory, 'latchkey.db')}\n`,
    });
  }
  expect((await run(elsewhere, signOut)).stderr).toStartWith('latchkey-server: PORT ');
  const won = await run(elsewhere, ['--env-file', file, 'outbox'], { DATABASE_URL: 'sqlite:third.db' });
  expect(won.stderr).toContain(`Store: sqlite:${join(elsewhere, 'third.db')}\n`);
  const missing = await run(elsewhere, ['--env-file', 'none.env', 'serve']);
  expect(missing.code).toBe(1);
  expect(missing.stderr).toBe('latchkey-server: --env-file none.env cannot be read: ENOENT.\n');
  expect(readdirSync(elsewhere)).toEqual(['.env']);
});

test('the program runs no code of its working directory, and takes settings only from .env there', async () => {
  const directory = temporaryDirectory();
  plantCode(directory);
  expect(await run(directory, ['--version'])).toMatchObject({ code: 0, stderr: '' });
  writeFileSync(join(directory, '.env'), 'PORT=0\n');
  const env = { DATABASE_URL: await newDatabase('postgres'), LATCHKEY_KEYS: generateKey() };
  const log = join(directory, 'log');
  const service = spawn([program, 'serve'], {
    cwd: directory,
    env: { PATH: process.env['PATH'], ...env },
    stdout: Bun.file(log),
    stderr: 'inherit',
  });
  await until(
    async () => (await Bun.file(log).text()).includes('Latchkey is ready'),
    'the start of the service',
  );
  service.kill('SIGTERM');
  expect(await service.exited).toBe(0);
  expect(existsSync(join(directory, 'ran'))).toBe(false);
});
