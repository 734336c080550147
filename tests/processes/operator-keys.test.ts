// Server keys are rotated with commands alone, while people stay signed in.

import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from '#support/cleanup.ts';
import { processDialects } from '#support/long.ts';
import { newDatabase } from '#support/new-database.ts';
import {
  linesIn,
  operatorOn,
  runOperatorInto,
  runOperatorProcess,
  startService,
  type TestService,
  temporaryDirectory,
} from '#support/service.ts';
import { until } from '#support/until.ts';
import { keyIdOf } from '../../packages/server/src/platform/crypto/key-list.ts';
import { generateKey, parseKeyRing } from '../../packages/server/src/platform/crypto/primitives.ts';

type Env = Readonly<Record<string, string>>;

/** Runs `keys`, which must succeed. */
async function keys(env: Env, ...args: string[]) {
  const result = await operatorOn(env).run('keys', ...args);
  expect(result).toMatchObject({ code: 0 });
  return result;
}

/** The server keys, as `ID STATE`. */
const listed = async (env: Env): Promise<string[]> =>
  (await operatorOn(env).listed('keys', 'list'))
    .filter(({ kind }) => kind === 'server key')
    .map(({ id, state }) => `${id} ${state}`);

const idsOf = (list: string): string[] => parseKeyRing(list).all.map(keyIdOf);

/** The settings that a command prints. */
const settingsOf = (stdout: string): Record<string, string> =>
  Object.fromEntries(linesIn(stdout).map((line) => line.split('=', 2) as [string, string]));

const me = async ({ ask }: TestService, token: string): Promise<number> =>
  (await ask('GET', '/me', { token })).status;

/** A SQLite store with its key file. */
async function store() {
  const directory = temporaryDirectory();
  const env = { DATABASE_URL: `sqlite:${join(directory, 'latchkey.db')}` };
  await operatorOn(env).run('migrate');
  const file = join(directory, 'latchkey.keys');
  return {
    env,
    ring: () => readFileSync(file, 'utf8').trim(),
    file,
    files: () => readdirSync(directory).filter((name) => name.includes('.keys')),
  };
}

for (const dialect of processDialects) {
  test(`a rotation by commands ends no session that is in use, and the log stays verifiable (${dialect})`, async () => {
    const inFile = dialect === 'sqlite';
    const directory = temporaryDirectory();
    const file = join(directory, 'latchkey.keys');
    const database = inFile ? {} : { databaseUrl: await newDatabase(dialect) };
    let settings: Record<string, string> = inFile ? {} : { LATCHKEY_KEYS: generateKey() };
    let service = await startService({ ...database, directory, env: settings });
    const ring = () => (inFile ? readFileSync(file, 'utf8') : service.env['LATCHKEY_KEYS']!);
    /** Runs a command, sets what it printed, and restarts the service. */
    const step = async (...args: string[]): Promise<string> => {
      const before = ring();
      const { stdout, stderr } = await keys(service.env, ...args);
      expect(stderr).toContain('restart every node');
      expect(ring() === before).toBe(!inFile);
      settings = { ...settings, ...settingsOf(stdout) };
      await service.stop();
      service = await startService({ ...database, directory, env: settings });
      return stderr;
    };
    const { access_token, refresh_token } = await service.login('ada@example.com');
    const older = idsOf(ring())[0]!;

    await step('add');
    const newer = idsOf(ring())[1]!;
    expect(await listed(service.env)).toEqual([`${older} signing`, `${newer} next`]);
    await step('promote', newer);
    expect(await listed(service.env)).toEqual([`${newer} signing`, `${older} accepted`]);
    expect(await me(service, access_token)).toBe(200);
    const { access_token: left } = await service.login('eve@example.com');
    const { body } = await service.ask('POST', '/refresh', { json: { refresh_token } });
    await operatorOn(service.env).refused(['keys', 'retire', newer], 1, 'Promote another one first');

    expect(await step('retire', older)).not.toContain('Warning');
    expect(settings).toHaveProperty('LATCHKEY_RETIRED_KEYS');
    expect(await listed(service.env)).toEqual([`${newer} signing`, `${older} retired`]);
    expect(await me(service, access_token)).toBe(401);
    expect(await me(service, body.access_token)).toBe(200);
    expect(await me(service, left)).toBe(200);
    // An event under the new key follows those under the retired one.
    const rename = { token: body.access_token, json: { name: 'later' } };
    expect((await service.ask('PATCH', '/me', rename)).status).toBe(200);
    expect(await operatorOn(service.env).done('events', 'verify')).toContain('no changes found.');
    const { LATCHKEY_RETIRED_KEYS: _, ...forgotten } = service.env;
    expect((await operatorOn(forgotten).run('events', 'verify')).code).toBe(1);
    if (inFile) expect(statSync(file).mode & 0o777).toBe(0o600);
  });
}

test('retiring a key tells how many sessions may end, refreshed ones included, and what is listed is no secret', async () => {
  const service = await startService();
  const { refresh_token } = await service.login('ada@example.com');
  await service.login('eve@example.com');
  const signedInAt = Date.now();
  await until(() => Date.now() > signedInAt, 'a later millisecond');
  // A refresh is in no log.
  await service.ask('POST', '/refresh', { json: { refresh_token } });
  const file = join(service.directory, 'latchkey.keys');
  await keys(service.env, 'add');
  const ring = readFileSync(file, 'utf8').trim();
  const [older, newer] = idsOf(ring);
  await keys(service.env, 'promote', newer!);
  const { stdout, stderr } = await keys(service.env, 'list');
  for (const secret of ring.split(',')) expect(stdout + stderr).not.toContain(secret);
  expect(stdout).toMatch(/^ID +KIND +ALGORITHM +STATE/);
  expect(stdout).toMatch(/server key +HMAC-SHA-256 +signing/);

  const before = readFileSync(file, 'utf8');
  const lost = await runOperatorInto('>&-', service.env, 'keys', 'retire', older!);
  expect(lost).toEqual({ code: 1, stderr: expect.stringContaining('Nothing was changed.') });
  expect(readFileSync(file, 'utf8')).toBe(before);
  const retired = await keys(service.env, 'retire', older!);
  expect(retired.stderr).toContain(
    '2 active sessions and 0 keys of users got their newest token before then',
  );
  expect(retired.stdout).toBe(`LATCHKEY_RETIRED_KEYS=${ring.split(',')[0]}\n`);
});

test('a key that signed and sealed nothing is not lost when it is retired', async () => {
  let service = await startService();
  const { directory, env } = service;
  const file = join(directory, 'latchkey.keys');
  const { refresh_token } = await service.login('ada@example.com');
  await keys(env, 'add');
  const [older, newer] = idsOf(readFileSync(file, 'utf8'));
  await keys(env, 'promote', newer!);
  await service.stop();
  service = await startService({ directory });
  const { body } = await service.ask('POST', '/refresh', { json: { refresh_token } });
  await keys(env, 'promote', older!);
  await service.stop();

  const list = readFileSync(file, 'utf8').trim();
  const { stdout, stderr } = await keys(env, 'retire', newer!);
  expect(stderr).toContain('If it ever signed, up to 1 active session and 0 keys of users may depend on it.');
  expect(list).toEndWith(`,${settingsOf(stdout)['LATCHKEY_RETIRED_KEYS']}`);
  // Back at the end of the ring, it verifies what it signed.
  service = await startService({ directory, env: { LATCHKEY_KEYS: list } });
  expect(await me(service, body.access_token)).toBe(200);
});

test('a key that never signed is retired without a warning, and an unknown one is refused', async () => {
  const { env, ring } = await store();
  const before = ring();
  await keys(env, 'add');
  const { stdout, stderr } = await keys(env, 'retire', idsOf(ring())[1]!);
  expect([stdout, stderr.includes('Warning')]).toEqual(['', false]);
  for (const command of ['promote', 'retire'])
    await operatorOn(env).refused(['keys', command, 'AAAAAAA'], 1, 'No server key has the id AAAAAAA');
  expect(ring()).toBe(before);
});

test.each(['-', '-V', '-h'])('an id that begins with %s is taken as an id', async (start) => {
  const { env } = await store();
  let odd = generateKey();
  while (!idsOf(odd)[0]!.startsWith(start)) odd = generateKey();
  const list = `${generateKey()},${odd}`;
  const { stdout } = await keys({ ...env, LATCHKEY_KEYS: list }, 'promote', idsOf(odd)[0]!);
  expect(settingsOf(stdout)).toEqual({ LATCHKEY_KEYS: list.split(',').reverse().join() });
});

test('commands that change the key file at the same time lose no key', async () => {
  const { env, ring, files } = await store();
  const [first] = idsOf(ring());
  await Promise.all(Array.from({ length: 5 }, () => runOperatorProcess(env, 'keys', 'add')));
  const ids = idsOf(ring());
  expect([ids[0], ids.length, files()]).toEqual([first, 6, ['latchkey.keys']]);
});

test('whoever reads the key file, also after a kill, finds the old ring or the new one', async () => {
  const { env, ring, files } = await store();
  const rings = [ring(), `${generateKey()},${generateKey()}`];
  const worker = join(import.meta.dir, '../support/key-file-worker.ts');
  const seen = new Set<string>();
  for (let kills = 0; kills < 3; kills++) {
    const cwd = temporaryDirectory();
    const writer = spawn([process.execPath, worker, ...rings], { cwd, env, stderr: 'inherit' });
    let rounds = 0;
    await until(() => {
      for (let reads = 0; reads < 100; reads++) seen.add(ring());
      return ++rounds >= 100 && seen.size >= 2;
    }, 'both rings');
    writer.kill('SIGKILL');
    await writer.exited;
    seen.add(ring());
  }
  expect([...seen].toSorted()).toEqual(rings.toSorted());
  // A writer that was killed may have left a file, which does not disturb the next one.
  await keys(env, 'add');
  expect(files()).toEqual(['latchkey.keys']);
});

test('a key file behind a symbolic link is changed in its place, and a ring that cannot be printed is a failure', async () => {
  const { env, ring, file } = await store();
  const directory = temporaryDirectory();
  symlinkSync(file, join(directory, 'other.keys'));
  const other = { DATABASE_URL: `sqlite:${join(directory, 'other.db')}` };
  await operatorOn(other).run('migrate');
  await keys(other, 'add');
  expect((await listed(env)).map((key) => key.split(' ')[1])).toEqual(['signing', 'next']);
  const lost = await runOperatorInto('>&-', { ...env, LATCHKEY_KEYS: ring() }, 'keys', 'add');
  expect(lost).toEqual({ code: 1, stderr: expect.stringContaining('Nothing was changed.') });
});
