// Which store an operator command uses. Only `serve` and `migrate` create a store or change its schema.

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import postgres from 'postgres';
import { plantCode, runIn } from '#support/cli.ts';
import { databaseUpTo, newDatabase } from '#support/new-database.ts';
import { startPostgres } from '#support/postgres.ts';
import {
  operatorOn,
  runOperator,
  runOperatorProcess,
  startService,
  temporaryDirectory,
} from '#support/service.ts';
import { generateKey } from '../../packages/server/src/platform/crypto/primitives.ts';
import { server } from '../../tools/release/programs.ts';

const program = join(import.meta.dir, '../../packages/server/bin/latchkey-server');

/** Runs the program in a directory, with no other environment than `PATH` and `env`. */
const run = (path: string, args: readonly string[], env: Record<string, string> = {}) =>
  runIn({ path, env: { PATH: process.env['PATH'] ?? '', ...env } }, [program, ...args]);

/** The command lines of all commands in this one, with arguments of the right form. */
const commandLinesOf = (command: Command): string[][] =>
  command.commands.flatMap((child) => {
    if (child.commands.length > 0) return commandLinesOf(child).map((line) => [child.name(), ...line]);
    const given = child.registeredArguments.filter(({ required }) => required);
    const named = child.options.filter(({ mandatory }) => mandatory);
    const values: Readonly<Record<string, string>> = { '--role': 'member', '--to': 'sqlite:copy.db' };
    const needed: Readonly<Record<string, string[]>> = {
      set: ['--may', 'feed'],
      'sign-out': ['--everybody'],
    };
    return [
      [
        ...[child.name(), ...given.map(() => 'ada@example.com'), ...(needed[child.name()] ?? [])],
        ...named.flatMap(({ long }) => [long!, values[long!] ?? 'acme']),
      ],
    ];
  });

test('a command other than serve and migrate fails without a store, names the missing store and creates nothing', async () => {
  const lines = commandLinesOf(server.commands());
  expect(lines.length).toBeGreaterThan(30);
  const directory = temporaryDirectory();
  const store = `sqlite:${join(directory, 'data/latchkey.db')}`;
  const refusal = `Store: ${store}\nlatchkey-server: DATABASE_URL cannot be opened: there is no store`;
  for (const line of lines.filter(([name = '']) => !/^(serve|migrate|doctor|health)$/.test(name)))
    await operatorOn({ DATABASE_URL: store }).refused(line, 1, refusal);
  // A process finds it in its working directory.
  const found = await run(directory, ['outbox']);
  expect(found).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining(refusal) });
  expect(readdirSync(directory)).toEqual([]);
});

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

    env['DATABASE_URL'] = await databaseUpTo(dialect);
    env['LATCHKEY_KEYS'] = generateKey();
    const { code, stderr } = await runOperator(env, 'services', 'list');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^latchkey-server: DATABASE_URL .*older release .*`latchkey-server migrate`/m);
    expect((await runOperator(env, 'migrate')).code).toBe(0);
    expect((await runOperator(env, 'services', 'list')).code).toBe(0);
  });
}

test('a start that a setting, a used port or a missing database prevents says so in one line, and leaves no files', async () => {
  const directory = temporaryDirectory();
  const taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
  const env = { PORT: '0', HOST: '127.0.0.1', DATABASE_URL: `sqlite:${join(directory, 'latchkey.db')}` };
  const nowhere = { DATABASE_URL: (await startPostgres()).url('nowhere'), LATCHKEY_KEYS: generateKey() };
  for (const [settings, sentence] of [
    [{ LATCHKEY_RETIRED_KEYS: 'abc' }, /^latchkey-server: LATCHKEY_RETIRED_KEYS .*\n$/],
    [{ PORT: String(taken.port) }, /^latchkey-server: PORT .*\n$/],
    [nowhere, /^latchkey-server: DATABASE_URL .*nowhere.*\n$/],
  ] as const) {
    const { code, stderr } = await runOperatorProcess({ ...env, ...settings }, 'serve');
    expect([code, stderr]).toEqual([1, expect.stringMatching(sentence)]);
    expect(readdirSync(directory)).toEqual([]);
  }
  await taken.stop(true);
});

test('the SQLite file of another program is refused, and not a byte of it changes', async () => {
  const file = join(temporaryDirectory(), 'others.db');
  const others = new Database(file);
  others.run('CREATE TABLE others (id TEXT)');
  others.close();
  const before = readFileSync(file);
  const own = { DATABASE_URL: `sqlite:${join(temporaryDirectory(), 'own.db')}` };
  expect((await runOperator(own, 'migrate')).code).toBe(0);
  for (const [env, ...args] of [
    [{ DATABASE_URL: `sqlite:${file}`, PORT: '0' }, 'serve'],
    [{ DATABASE_URL: `sqlite:${file}` }, 'migrate'],
    [own, 'copy', '--to', `sqlite:${file}`],
  ] as const) {
    const { code, stderr } = await runOperatorProcess(env, ...args);
    expect([args, code, stderr]).toEqual([args, 1, expect.stringContaining(`the file ${file} is not empty`)]);
    expect(readFileSync(file)).toEqual(before);
  }
});

test('--env-file replaces .env, before or after the command; the environment overrides both, unless it is empty', async () => {
  const service = await startService();
  await service.login('ada@example.com');
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
    expect(await run(elsewhere, args)).toEqual({
      code: 0,
      stdout: 'Ended all sessions of ada@example.com.\n',
      stderr: `Store: sqlite:${join(service.directory, 'latchkey.db')}\n`,
    });
  }
  expect((await run(elsewhere, signOut)).stderr).toStartWith('latchkey-server: PORT ');
  const empty = await run(elsewhere, ['--env-file', file, ...signOut], { DATABASE_URL: '' });
  expect(empty.code).toBe(0);
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
  const before = readdirSync(directory);
  const env = { DATABASE_URL: await newDatabase('postgres'), LATCHKEY_KEYS: generateKey() };
  const { code, stdout } = await runIn(
    // Without a home, Bun would keep compiled code here, and run it the next time.
    { path: directory, env: { PATH: process.env['PATH'] ?? '', HOME: '', ...env } },
    [program, 'serve'],
    (stderr, service) => void (stderr.includes('Latchkey is ready') && service.kill('SIGTERM')),
  );
  expect([code, stdout]).toEqual([0, expect.stringContaining('"stopped"')]);
  const commandLine = join(import.meta.dir, '../../packages/cli/bin/latchkey');
  const { code: helped } = await runIn({ path: directory, env: { HOME: '' } }, [commandLine, 'help']);
  expect(helped).toBe(0);
  expect(readdirSync(directory)).toEqual(before);
});
