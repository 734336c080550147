import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryDirectory } from '#support/service.ts';
import { document, empty, login, logins } from '#support/stored-document.ts';
import { runtimes, startWorker, type Worker, withoutRootsPowers } from '#support/worker.ts';
import { documentLimitBytes } from './document.ts';
import { fileStorage, staleTemporarySeconds } from './file-storage.ts';

const isRoot = process.getuid?.() === 0;
let home: string;
let directory: string;
let path: string;
beforeEach(() => {
  home = temporaryDirectory();
  directory = join(home, 'config', 'latchkey');
  path = join(directory, 'credentials.json');
});

const mode = (place: string) => statSync(place).mode & 0o777;
const put = (text: string, place = path) => {
  mkdirSync(dirname(place), { recursive: true, mode: 0o700 });
  writeFileSync(place, text, { mode: 0o600 });
};

describe.each(runtimes)('credentials in a file, on $name', ({ command }) => {
  let worker: Worker;
  beforeAll(() => {
    worker = startWorker(command, 'store-worker.ts');
  });
  afterAll(async () => expect(await worker.finish()).toBe(''));
  const ask = (...message: readonly unknown[]) => worker.ask(message);
  const askUnprivileged = (...message: readonly unknown[]) =>
    startWorker([...withoutRootsPowers, ...command], 'store-worker.ts').ask(message);

  test('are written with mode 0600 into a directory of mode 0700, and no other file is left', async () => {
    expect(await ask('read', path)).toEqual(empty);
    expect(readdirSync(home)).toEqual([]);
    await ask('write', path, document);
    expect([mode(path), mode(directory)]).toEqual([0o600, 0o700]);
    expect(readdirSync(directory)).toEqual(['credentials.json']);
    expect(await ask('read', path)).toEqual(document);
    expect(await ask('check', path)).toEqual({ path, exists: true, readableBy: 'owner', findings: [] });
  });

  test('keep members that this version does not know', async () => {
    const more = { ...logins, logins: { ada: { ...login, more: { a: 1 } } }, extra: true };
    const future = { ...document, extra: [1], servers: { [login.server]: more } };
    put(JSON.stringify(future));
    expect(await ask('read', path)).toEqual(future);
  });

  test.each([
    ['not JSON', '{"version": 1, "logins": {"lk_rt_secret', 'not valid JSON'],
    ['not an object', '[]', 'not a JSON object'],
    ['without a version', '{"logins": {}}', 'no version'],
    [
      'missing part of a login',
      JSON.stringify({ ...document, servers: { a: { current: null, logins: { a: { server: 'a' } } } } }),
      'incomplete',
    ],
    ['of a newer version', '{"version": 2}', 'written by a newer version of Latchkey (format 2)'],
    ['huge', ' '.repeat(documentLimitBytes + 1), 'more than'],
    ['binary', '\0\x01\x02', 'not valid JSON'],
  ])('that are %s cause store_corrupt, and are left unchanged', async (_, text, why) => {
    put(text);
    for (const question of [
      ['read', path],
      ['write', path, document],
    ] as const) {
      const answer = await ask(...question);
      expect(answer.code).toBe('store_corrupt');
      expect(answer.message).toContain(path);
      expect(answer.message).toContain(why);
      expect(answer.message).not.toContain('secret');
      expect(readFileSync(path, 'utf8')).toBe(text);
    }
    expect(readdirSync(directory)).toEqual(['credentials.json']);
  });

  test('that are accessible to others are protected again, and a check reports it', async () => {
    await ask('write', path, document);
    const expose = () => {
      chmodSync(path, 0o644);
      chmodSync(directory, 0o755);
    };
    expose();
    expect(await ask('check', path)).toEqual({
      path,
      exists: true,
      readableBy: 'everyone',
      findings: [
        { what: `The directory ${directory} was accessible to others (mode 0755).`, mended: true },
        { what: `The file ${path} was accessible to others (mode 0644).`, mended: true },
      ],
    });
    expect([mode(path), mode(directory)]).toEqual([0o600, 0o700]);
    expose();
    expect(await ask('read', path)).toEqual(document);
    expect([mode(path), mode(directory)]).toEqual([0o600, 0o700]);
  });

  test('in a home that cannot be written cause store_failed on writing, and can still be read', async () => {
    await ask('write', path, document);
    chmodSync(directory, 0o500);
    for (const question of [
      ['write', path, empty],
      ['lockStorage', path],
    ] as const) {
      const answer = await askUnprivileged(...question);
      expect(answer.code).toBe('store_failed');
      expect(answer.message).toEndWith('permission denied.');
      expect(answer.message).toContain(path);
    }
    expect(await askUnprivileged('read', path)).toEqual(document);
    chmodSync(home, 0o500);
    const elsewhere = join(home, 'other', 'credentials.json');
    expect((await askUnprivileged('write', elsewhere, document)).message).toBe(
      `The directory ${join(home, 'other')} cannot be created: permission denied.`,
    );
    expect(await askUnprivileged('read', elsewhere)).toEqual(empty);
  });

  test('on a full disk are left unchanged, without temporary files', async () => {
    await ask('write', path, document);
    const noRoom = ['sh', '-c', `trap '' XFSZ; ulimit -f 0; exec "$@"`, 'sh', ...command];
    const limited = startWorker(noRoom, 'store-worker.ts');
    expect(await limited.ask(['lockStorage', path])).toBe('had');
    expect(await limited.ask(['write', path, empty])).toEqual({
      code: 'store_failed',
      message: `The file ${path} cannot be written: the file size limit is reached.`,
    });
    expect(await ask('read', path)).toEqual(document);
    expect(readdirSync(directory).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  test.skipIf(!isRoot)('are refused if the file or directory belongs to another user', async () => {
    await ask('write', path, document);
    chownSync(path, 12_345, 12_345);
    for (const verb of ['read', 'write', 'check', 'lockStorage']) {
      expect(await ask(verb, path, document)).toEqual({
        code: 'store_failed',
        message: `${path} belongs to another user. Run the command as that user.`,
      });
    }
    chownSync(path, 0, 0);
    chownSync(directory, 12_345, 12_345);
    const { message } = await ask('write', path, document);
    expect(message).toStartWith(`${directory} belongs to another user.`);
  });

  test('behind a symbolic link keep the link, and share their locks with the real path', async () => {
    const real = join(home, 'real', 'logins.json');
    mkdirSync(dirname(real), { mode: 0o755 });
    mkdirSync(directory, { recursive: true });
    symlinkSync('../../real/logins.json', path);
    await ask('write', path, document);
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
    expect(readlinkSync(path)).toBe('../../real/logins.json');
    expect(await ask('read', real)).toEqual(document);
    expect(mode(real)).toBe(0o600);

    const other = startWorker(command, 'store-worker.ts');
    expect(await other.ask(['holdStorage', real])).toBe('held');
    expect((await ask('lockStorage', path, 50)).code).toBe('lock_timeout');
    expect(await other.ask([])).toBe('released');
    expect(await ask('lockStorage', path, 50)).toBe('had');
    expect(await fileStorage(real).lock('another', () => ask('lockStorage', path, 50))).toBe('had');
  });
});

test('a circular link, a pipe or a directory in place of the file causes store_failed', async () => {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  symlinkSync('credentials.json', path);
  const readingFails = async (place: string) =>
    fileStorage(place)
      .read()
      .catch(({ code, message }) => `${code}: ${message}`);
  expect(await readingFails(path)).toBe(`store_failed: ${path} is a symbolic link that leads nowhere.`);
  const pipe = join(directory, 'pipe');
  Bun.spawnSync(['mkfifo', '-m', '600', pipe]);
  expect(await readingFails(pipe)).toBe(`store_failed: ${pipe} is not a regular file.`);
  const folder = join(directory, 'folder');
  mkdirSync(folder, { mode: 0o700 });
  expect(await readingFails(folder)).toStartWith('store_failed: ');
});

test('a directory that others can write to and whose mode cannot be changed is refused', async () => {
  const shared = join(home, 'shared');
  mkdirSync(shared);
  chmodSync(shared, 0o777);
  mkdirSync(directory, { recursive: true });
  symlinkSync(join(shared, 'credentials.json'), path);
  await expect(fileStorage(path).write(document)).rejects.toThrow(
    `Other users can write to the directory ${shared}.`,
  );
});

test('an empty file is an empty document; old temporary files of killed processes are removed, recent ones are kept', async () => {
  put('');
  expect(await fileStorage(path).read()).toEqual(empty);
  const old = statSync(path).mtimeMs / 1000 - staleTemporarySeconds - 60;
  const [stale, fresh, foreign] = ['1.aa.tmp', '2.bb.tmp']
    .map((name) => `${path}.${name}`)
    .concat(`${path}.bak`);
  for (const place of [stale!, fresh!, foreign!]) put('x', place);
  for (const place of [stale!, foreign!]) utimesSync(place, old, old);
  await fileStorage(path).write(document);
  expect(readdirSync(directory).toSorted()).toEqual([
    'credentials.json',
    'credentials.json.2.bb.tmp',
    'credentials.json.bak',
  ]);
});

test('what could not be read back for all logins is not written', async () => {
  const storage = fileStorage(path);
  await storage.write(document);
  const withLogin = (incomplete: object) => ({
    ...document,
    servers: { ...document.servers, 'https://b.example': { current: null, logins: { incomplete } } },
  });
  for (const wrong of [
    withLogin({ ...login, access_token_expires_at: Number.POSITIVE_INFINITY }),
    withLogin({ ...login, user: { id: undefined, email: '' } }),
    { ...document, extra: 'x'.repeat(documentLimitBytes) },
  ])
    await expect(storage.write(wrong as typeof document)).rejects.toMatchObject({ code: 'store_failed' });
  expect(await storage.read()).toEqual(document);
});
