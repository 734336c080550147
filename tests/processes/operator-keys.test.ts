// Server keys are rotated with commands alone, while people stay signed in.

import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { keyIdOf } from '../../packages/server/src/platform/crypto/key-list.ts';
import { generateKey, parseKeyRing } from '../../packages/server/src/platform/crypto/primitives.ts';
import { spawn } from '../support/cleanup.ts';
import { loginByMail, request } from '../support/http.ts';
import { processDialects } from '../support/long.ts';
import { startPostgres } from '../support/postgres.ts';
import {
  runOperator,
  runOperatorInto,
  runOperatorProcess,
  startService,
  temporaryDirectory,
} from '../support/service.ts';
import { until } from '../support/until.ts';

type Env = Readonly<Record<string, string>>;

async function done(env: Env, ...args: string[]) {
  const result = await runOperator(env, ...args);
  expect(result).toMatchObject({ code: 0 });
  return result;
}

interface Listed {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
}

/** The id and state of each server key. */
async function listed(env: Env): Promise<[string, string][]> {
  const { stdout } = await done(env, 'keys', 'list', '--json');
  const keys: Listed[] = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return keys.filter(({ kind }) => kind === 'server key').map(({ id, state }) => [id, state]);
}

const idsOf = (list: string): string[] => parseKeyRing(list).all.map(keyIdOf);

/** The settings that a command prints. */
const settingsOf = (stdout: string): Record<string, string> =>
  Object.fromEntries(
    stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('=', 2) as [string, string]),
  );

const me = async (url: string, token: string): Promise<number> =>
  (await request(url, 'GET', '/me', { token })).status;

/** A SQLite store with its key file. */
async function store() {
  const directory = temporaryDirectory();
  const env = { DATABASE_URL: `sqlite:${join(directory, 'latchkey.db')}` };
  await done(env, 'migrate');
  return { directory, env, file: join(directory, 'latchkey.keys') };
}

for (const dialect of processDialects) {
  test(`a rotation by commands ends no session that is in use, and the log stays verifiable (${dialect})`, async () => {
    const inFile = dialect === 'sqlite';
    const databaseUrl = inFile ? {} : { databaseUrl: await (await startPostgres()).createDatabase() };
    let service = await startService({ ...databaseUrl });
    const { directory } = service;
    const file = join(directory, 'latchkey.keys');
    let settings: Record<string, string> = {};
    const ring = () => (inFile ? readFileSync(file, 'utf8') : service.env['LATCHKEY_KEYS']!);
    /** Runs a command, sets what it printed, and restarts the service. */
    const step = async (...args: string[]): Promise<string> => {
      const before = ring();
      const { stdout, stderr } = await done(service.env, 'keys', ...args);
      expect(stderr).toContain('restart every node');
      expect(ring() === before).toBe(!inFile);
      settings = { ...settings, ...settingsOf(stdout) };
      await service.stop();
      service = await startService({ ...databaseUrl, directory, env: settings });
      return stderr;
    };

    if (!inFile) settings['LATCHKEY_KEYS'] = generateKey();
    await service.stop();
    service = await startService({ ...databaseUrl, directory, env: settings });
    const { access_token, refresh_token } = await loginByMail(service.url, 'ada@example.com');
    const [[older] = ['']] = await listed(service.env);

    await step('add');
    const newer = idsOf(ring())[1]!;
    expect(await listed(service.env)).toEqual([
      [older, 'signing'],
      [newer, 'next'],
    ]);
    expect(await me(service.url, access_token)).toBe(200);

    await step('promote', newer);
    expect(await listed(service.env)).toEqual([
      [newer, 'signing'],
      [older, 'accepted'],
    ]);
    expect(await me(service.url, access_token)).toBe(200);
    const { access_token: left } = await loginByMail(service.url, 'eve@example.com');
    const { body } = await request(service.url, 'POST', '/refresh', { json: { refresh_token } });

    const refused = await runOperator(service.env, 'keys', 'retire', newer);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toContain('Promote another one first');

    const warning = await step('retire', older);
    expect(warning).not.toContain('Warning');
    expect(settings).toHaveProperty('LATCHKEY_RETIRED_KEYS');
    expect(await listed(service.env)).toEqual([
      [newer, 'signing'],
      [older, 'retired'],
    ]);
    expect(await me(service.url, access_token)).toBe(401);
    expect(await me(service.url, body.access_token)).toBe(200);
    expect(await me(service.url, left)).toBe(200);
    // An event under the new key follows those under the retired one.
    const rename = { token: body.access_token, json: { name: 'later' } };
    expect((await request(service.url, 'PATCH', '/me', rename)).status).toBe(200);
    expect((await done(service.env, 'events', 'verify')).stdout).toContain('no changes found.');
    const { LATCHKEY_RETIRED_KEYS: _, ...forgotten } = service.env;
    expect((await runOperator(forgotten, 'events', 'verify')).code).toBe(1);
    if (inFile) expect(statSync(file).mode & 0o777).toBe(0o600);
  });
}

test('retiring a key tells how many sessions may end, and the list shows no secret', async () => {
  const service = await startService();
  for (const name of ['ada', 'eve']) await loginByMail(service.url, `${name}@example.com`);
  const file = join(service.directory, 'latchkey.keys');
  const [older] = idsOf(readFileSync(file, 'utf8'));
  await done(service.env, 'keys', 'add');
  const list = readFileSync(file, 'utf8').trim();
  await done(service.env, 'keys', 'promote', idsOf(list)[1]!);
  const { stdout, stderr } = await done(service.env, 'keys', 'list');
  for (const secret of list.split(',')) expect(stdout + stderr).not.toContain(secret);
  expect(stdout).toMatch(/^ID +KIND +ALGORITHM +STATE/);
  expect(stdout).toMatch(/server key +HMAC-SHA-256 +signing/);

  const ring = readFileSync(file, 'utf8');
  const lost = await runOperatorInto('>&-', service.env, 'keys', 'retire', older!);
  expect(lost).toEqual({ code: 1, stderr: expect.stringContaining('Nothing was changed.') });
  expect(readFileSync(file, 'utf8')).toBe(ring);
  const retired = await done(service.env, 'keys', 'retire', older!);
  expect(retired.stderr).toContain('2 active sessions and 0 keys of users');
  expect(retired.stdout).toBe(`LATCHKEY_RETIRED_KEYS=${list.split(',')[0]}\n`);
});

test('sessions that were refreshed under a key depend on it, although a refresh is in no log', async () => {
  const service = await startService();
  const file = join(service.directory, 'latchkey.keys');
  const { refresh_token } = await loginByMail(service.url, 'ada@example.com');
  const [older] = idsOf(readFileSync(file, 'utf8'));
  const signedInAt = Date.now();
  await until(() => Date.now() > signedInAt, 'a later millisecond');
  await request(service.url, 'POST', '/refresh', { json: { refresh_token } });
  await done(service.env, 'keys', 'add');
  await done(service.env, 'keys', 'promote', idsOf(readFileSync(file, 'utf8'))[1]!);
  const { stderr } = await done(service.env, 'keys', 'retire', older!);
  expect(stderr).toContain('1 active session and 0 keys of users got their newest token before then');
});

test('a key that signed and sealed nothing is not lost when it is retired', async () => {
  let service = await startService();
  const { directory, env } = service;
  const file = join(directory, 'latchkey.keys');
  const { refresh_token } = await loginByMail(service.url, 'ada@example.com');
  await done(env, 'keys', 'add');
  const [older, newer] = idsOf(readFileSync(file, 'utf8'));
  await done(env, 'keys', 'promote', newer!);
  await service.stop();
  service = await startService({ directory });
  const { body } = await request(service.url, 'POST', '/refresh', { json: { refresh_token } });
  await done(env, 'keys', 'promote', older!);
  await service.stop();

  const list = readFileSync(file, 'utf8').trim();
  const { stdout, stderr } = await done(env, 'keys', 'retire', newer!);
  expect(stderr).toContain('If it ever signed, up to 1 active session and 0 keys of users may depend on it.');
  const { LATCHKEY_RETIRED_KEYS: retired } = settingsOf(stdout);
  expect(list).toEndWith(`,${retired}`);
  // Back at the end of the ring, it verifies what it signed.
  service = await startService({ directory, env: { LATCHKEY_KEYS: list } });
  expect(await me(service.url, body.access_token)).toBe(200);
});

test('a key that never signed is retired without a warning, and an unknown one is refused', async () => {
  const { env, file } = await store();
  const before = readFileSync(file, 'utf8');
  await done(env, 'keys', 'add');
  const [, unused] = idsOf(readFileSync(file, 'utf8'));
  const { stdout, stderr } = await done(env, 'keys', 'retire', unused!);
  expect([stdout, stderr.includes('Warning')]).toEqual(['', false]);
  for (const command of ['promote', 'retire']) {
    const { code, stderr } = await runOperator(env, 'keys', command, 'AAAAAAA');
    expect([code, stderr.includes('No server key has the id AAAAAAA')]).toEqual([1, true]);
  }
  expect(readFileSync(file, 'utf8')).toBe(before);
});

test.each(['-', '-V', '-h'])('an id that begins with %s is taken as an id', async (start) => {
  const { env } = await store();
  let odd = generateKey();
  while (!idsOf(odd)[0]!.startsWith(start)) odd = generateKey();
  const list = `${generateKey()},${odd}`;
  const { stdout } = await done({ ...env, LATCHKEY_KEYS: list }, 'keys', 'promote', idsOf(odd)[0]!);
  expect(settingsOf(stdout)).toEqual({ LATCHKEY_KEYS: list.split(',').reverse().join() });
});

test('commands that change the key file at the same time lose no key', async () => {
  const { directory, env, file } = await store();
  const [first] = idsOf(readFileSync(file, 'utf8'));
  await Promise.all(Array.from({ length: 5 }, () => runOperatorProcess(env, 'keys', 'add')));
  const ids = idsOf(readFileSync(file, 'utf8'));
  expect([ids[0], ids.length]).toEqual([first, 6]);
  expect(readdirSync(directory).filter((name) => name.includes('.keys'))).toEqual(['latchkey.keys']);
});

test('whoever reads the key file, also after a kill, finds the old ring or the new one', async () => {
  const { directory, env, file } = await store();
  const rings = [readFileSync(file, 'utf8').trim(), `${generateKey()},${generateKey()}`];
  const worker = join(import.meta.dir, '../support/key-file-worker.ts');
  const seen = new Set<string>();
  for (let kills = 0; kills < 3; kills++) {
    const writer = spawn([process.execPath, worker, ...rings], { cwd: directory, env, stderr: 'inherit' });
    let rounds = 0;
    await until(() => {
      for (let reads = 0; reads < 100; reads++) seen.add(readFileSync(file, 'utf8'));
      return ++rounds >= 100 && seen.size >= 2;
    }, 'both rings');
    writer.kill('SIGKILL');
    await writer.exited;
    seen.add(readFileSync(file, 'utf8'));
  }
  expect([...seen].sort()).toEqual(rings.map((ring) => `${ring}\n`).sort());
  // A writer that was killed may have left a file, which does not disturb the next one.
  await done(env, 'keys', 'add');
  expect(readdirSync(directory).filter((name) => name.includes('.keys'))).toEqual(['latchkey.keys']);
});

test('a key file behind a symbolic link is changed in its place', async () => {
  const { env, file } = await store();
  const directory = temporaryDirectory();
  const link = join(directory, 'other.keys');
  symlinkSync(file, link);
  const database = join(directory, 'other.db');
  await done({ DATABASE_URL: `sqlite:${database}` }, 'migrate');
  await done({ DATABASE_URL: `sqlite:${database}` }, 'keys', 'add');
  expect(idsOf(readFileSync(file, 'utf8'))).toHaveLength(2);
  expect((await listed(env)).map(([, state]) => state)).toEqual(['signing', 'next']);
});
