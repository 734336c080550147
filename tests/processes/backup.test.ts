// A backup beside a running service, by `backup` on SQLite and by the real `pg_dump` on PostgreSQL, and what follows a restore.

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  copyFileSync,
  existsSync,
  globSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { TokenSet } from '@latchkey/contract/tokens';
import { spawnSync } from 'bun';
import postgres from 'postgres';
import { mountDisk } from '#support/disk.ts';
import { linkTokenIn, mailTo } from '#support/http.ts';
import { newDatabase } from '#support/new-database.ts';
import { createPostgresServers } from '#support/postgres-servers.ts';
import {
  linesIn,
  operatorOn,
  registerService,
  runOperator,
  runOperatorProcess,
  startService,
  type TestService,
  temporaryDirectory,
} from '#support/service.ts';
import { basic } from '#support/services.ts';
import { until } from '#support/until.ts';
import { generateKey } from '../../packages/server/src/platform/crypto/primitives.ts';

const keys = generateKey();
const envOf = (DATABASE_URL: string, LATCHKEY_KEYS = keys) => ({ DATABASE_URL, LATCHKEY_KEYS });
const newFile = async (): Promise<string> => `sqlite:${join(temporaryDirectory(), 'latchkey.db')}`;
const fileOf = (databaseUrl: string): string => databaseUrl.slice('sqlite:'.length);

/** PostgreSQL from Debian, which has `pg_dump` and `pg_restore`: npm has only the server, and `pg_dump` refuses one of a later version. `npm test` installs it as root on Debian. */
const programs = globSync('/usr/lib/postgresql/*/bin/pg_dump')
  .map(dirname)
  .filter((directory) => existsSync(join(directory, 'initdb')))
  .toSorted()
  .at(-1);

/** Starts a server of Debian's version; returns what creates an empty database on it. */
async function startDebianPostgres(): Promise<() => Promise<string>> {
  const servers = await createPostgresServers(programs);
  await servers.initialize('debian');
  const port = await servers.start('debian', ['fsync=off']);
  let created = 0;
  return async () => {
    const name = `latchkey_${created++}`;
    const admin = postgres(servers.url(port, 'postgres'), { max: 1 });
    await admin.unsafe(`CREATE DATABASE ${name} TEMPLATE template0`);
    await admin.end();
    return servers.url(port, name);
  };
}

/** Runs a command line of the guide, whose programs are those of Debian. */
function runPostgresProgram(...command: string[]): void {
  const { success, stderr } = spawnSync([join(programs!, command[0]!), ...command.slice(1)]);
  if (!success) throw new Error(`${command[0]}: ${stderr}`);
}

/** Runs a command as a process, because it locks a store for as long as it lives. Expects its status, and a part of what it prints. */
async function command(env: Record<string, string>, args: string, code: 0 | 1, part: string | RegExp) {
  const result = await runOperatorProcess(env, ...args.split(' '));
  const says = result.stdout + result.stderr;
  expect({ args, code: result.code, says }).toEqual({ args, code, says: expect.stringMatching(part) });
  return result.stdout;
}

/** How each database is backed up and restored, as docs/operating.md says. */
interface Tools {
  readonly newDatabase: () => Promise<string>;
  readonly backUp: (databaseUrl: string, file: string) => unknown;
  /** Restores a file into a new database, and returns its URL. */
  readonly restore: (file: string) => Promise<string>;
}

const onSqlite: Tools = {
  newDatabase: newFile,
  backUp: (databaseUrl, file) => command(envOf(databaseUrl), `backup ${file}`, 0, 'Wrote'),
  restore: async (file) => {
    const databaseUrl = await newFile();
    copyFileSync(file, fileOf(databaseUrl));
    return databaseUrl;
  },
};

/** Restores on a server that was set up in the same way: its transactions and objects get the same numbers. */
const onPostgres = async (): Promise<Tools> => {
  const [newDatabase, newCopy] = [await startDebianPostgres(), await startDebianPostgres()];
  return {
    newDatabase,
    backUp: (databaseUrl, file) =>
      runPostgresProgram('pg_dump', '--format=custom', `--file=${file}`, databaseUrl),
    restore: async (file) => {
      const to = await newCopy();
      const options = ['--no-owner', '--no-acl', '--single-transaction', `--dbname=${to}`];
      runPostgresProgram('pg_restore', ...options, file);
      return to;
    },
  };
};

for (const [dialect, open] of [
  ['sqlite', async () => onSqlite],
  ['postgres', onPostgres],
] as const) {
  describe.skipIf(dialect === 'postgres' && !programs)(`a backup of ${dialect}`, () => {
    const file = join(temporaryDirectory(), 'latchkey.backup');
    let tools: Tools;
    let service: TestService;
    let ada: TokenSet;
    let link: string;
    let deviceCode: string;
    let readerKey: string;

    const me = async (at: TestService, token: string) => at.ask('GET', '/me', { token });
    const readFeed = async (at: TestService): Promise<number> => {
      const headers = { Authorization: basic(readerKey) };
      return (await at.ask('POST', '/feed', { headers, json: { returnImmediately: true } })).status;
    };

    /** Starts a service on a restored database, for the time of some work. */
    const serving = async (databaseUrl: string, ring: string, work: (at: TestService) => Promise<void>) => {
      const at = await startService({ databaseUrl, env: { LATCHKEY_KEYS: ring } });
      await work(at).finally(() => at.stop());
    };

    beforeAll(async () => {
      tools = await open();
      service = await startService({ databaseUrl: await tools.newDatabase(), env: { LATCHKEY_KEYS: keys } });
      ada = await service.login('ada@example.com');
      readerKey = await registerService(service, 'reader', '--may', 'feed');
      expect(await readFeed(service)).toBe(200);
      await service.ask('POST', '/magic_link', { json: { email: 'bob@example.com' } });
      link = linkTokenIn(await mailTo(service.url, 'bob@example.com'));
      const device = await service.ask('POST', '/device');
      deviceCode = device.body.device_code;
      const approval = { token: ada.access_token, json: { user_code: device.body.user_code } };
      expect((await service.ask('POST', '/device/approve', approval)).status).toBe(204);

      let isDone = false;
      let count = 0;
      const signUps = [0, 1, 2].map(async (worker) => {
        while (!isDone) await service.login(`crowd-${worker}-${count++}@example.com`);
      });
      try {
        await until(() => count >= 5, 'sign-ups beside the backup');
        await tools.backUp(service.env['DATABASE_URL']!, file);
      } finally {
        isDone = true;
        await Promise.all(signUps);
      }
    });

    afterAll(() => service.stop());

    test('everything that would use a restored database refuses it until finish-restore has run; then all has ended but what was at one moment', async () => {
      const databaseUrl = await tools.restore(file);
      const env = envOf(databaseUrl);
      for (const args of ['serve', 'users list', `copy --to ${await newFile()}`])
        await command(
          { ...env, PORT: '0' },
          args,
          1,
          /The database (sqlite|postgres):\S+ was restored from a backup: run `latchkey-server finish-restore`/,
        );
      expect((await runOperator(env, 'doctor')).stdout).toMatch(
        /^failed .*finish-restore`; until then the service does not start$/m,
      );
      const before = await me(service, ada.access_token);
      await command(env, 'migrate', 0, '');
      await command(env, 'finish-restore', 0, 'All sessions and keys have ended');
      await serving(databaseUrl, keys, async (at) => {
        expect((await me(at, ada.access_token)).status).toBe(401);
        for (const [path, json] of [
          ['/refresh', { refresh_token: ada.refresh_token }],
          ['/magic_link/verify', { token: link }],
          ['/token', { device_code: deviceCode }],
        ] as const)
          expect([path, (await at.ask('POST', path, { json })).status]).toEqual([path, 400]);
        const { access_token: token } = await at.login('Ada@Example.com');
        expect((await me(at, token)).body).toEqual(before.body);
        const { body } = await at.ask('GET', '/events', { token });
        expect(body.events.map(({ type }: { type: string }) => type)).toContain('all_sessions_revoked');
        expect([await readFeed(at), await readFeed(at)]).toEqual([410, 200]);
      });
      // Each account of the crowd has its session, organization and log.
      const operator = operatorOn(env);
      await operator.done('events', 'verify');
      const follow = (after: string) => operator.done('events', 'follow', '--once', '--after', after);
      expect(JSON.parse(linesIn(await follow('1000000'))[0]!)).toMatchObject({
        type: 'all_sessions_revoked',
      });
      expect(await follow('0')).toContain('"type":"account_created"');
    });

    test('--keep-sessions keeps the sessions of the backup and warns about them', async () => {
      const databaseUrl = await tools.restore(file);
      const warning = 'WARNING: the sessions and keys';
      await command(envOf(databaseUrl), 'finish-restore --keep-sessions', 0, warning);
      await serving(databaseUrl, keys, async (at) => {
        expect((await me(at, ada.access_token)).status).toBe(200);
        const verified = await at.ask('POST', '/magic_link/verify', { json: { token: link } });
        expect(verified.status).toBe(400);
      });
    });

    test('under other keys finish-restore changes nothing, unless they are said to be lost', async () => {
      const databaseUrl = await tools.restore(file);
      const ring = generateKey();
      await command(envOf(databaseUrl, ring), 'finish-restore', 1, 'use --any-keys');
      await operatorOn(envOf(databaseUrl)).refused(['users', 'list'], 1, 'finish-restore');
      await command(envOf(databaseUrl, ring), 'finish-restore --any-keys', 0, 'have ended');
      await serving(databaseUrl, ring, async (at) => void (await at.login('ada@example.com')));
    });
  });
}

test('backup writes one file, for its owner only, and replaces nothing; keys that are lost with the original are made; on a full disk it leaves none', async () => {
  const { run, refused } = operatorOn(envOf(await newFile()));
  expect((await run('migrate')).code).toBe(0);
  const directory = temporaryDirectory();
  const at = (name: string) => join(directory, name);
  writeFileSync(at('file'), 'precious');
  symlinkSync(at('file'), at('link'));
  for (const target of [at('file'), at('link'), '/dev/null', directory])
    await refused(['backup', target], 1, `latchkey-server: ${target} exists already.`);
  await refused(['backup', at('missing/backup')], 1, /^latchkey-server: .*: ENOENT/m);
  await refused(['backup', ''], 1, 'The name of the file is empty.');
  expect((await run('backup', at('new'))).code).toBe(0);
  expect(statSync(at('new')).mode & 0o777).toBe(0o600);
  expect(readFileSync(at('file'), 'utf8')).toBe('precious');
  expect(readdirSync(directory).toSorted()).toEqual(['file', 'link', 'new']);
  using copy = new Database(at('new'), { readonly: true });
  expect(copy.query<object, []>('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);

  // Without the key file, which is not in a backup.
  copyFileSync(at('new'), at('restored.db'));
  const restored = { DATABASE_URL: `sqlite:${at('restored.db')}` };
  await command(restored, 'finish-restore', 1, 'there is no key file');
  await command(restored, 'finish-restore --any-keys', 0, /Created the key file \S+restored\.keys/);
  await command(restored, 'users list', 0, '');

  const small = temporaryDirectory();
  const disk = mountDisk(small, '1m');
  // Only root can mount one.
  if (!disk) return;
  disk.fill();
  await refused(['backup', join(small, 'backup')], 1, 'database or disk is full');
  expect(readdirSync(small)).toEqual(['filler']);
});

test('copy says where the keys belong, and needs the service to be stopped', async () => {
  const service = await startService();
  const { access_token: token } = await service.login('ada@example.com');
  const to = await newFile();
  const env = { DATABASE_URL: service.env['DATABASE_URL']! };
  await command(env, `copy --to ${to}`, 1, 'another latchkey-server serves');
  await service.stop();
  await command(env, 'copy --to mysql:', 1, 'latchkey-server: --to must be sqlite:');
  for (const away of ['sqlite:/proc/nowhere/x.db', 'postgres://a@127.0.0.1:1/a'])
    await command(env, `copy --to ${away}`, 1, 'Nothing was copied: the database to fill cannot be opened');
  const keyFiles = /copy (\S+\.keys) to (\S+\.keys)\./;
  const [, from = '', keyFile] = keyFiles.exec(await command(env, `copy --to ${to}`, 0, keyFiles))!;
  expect(keyFile).toBe(fileOf(to).replace('.db', '.keys'));
  copyFileSync(from, keyFile!);
  const at = await startService({ databaseUrl: to });
  expect((await at.ask('GET', '/me', { token })).status).toBe(200);
});

test('a PostgreSQL database is neither copied nor made ready by finish-restore while a service uses it', async () => {
  const databaseUrl = `${await newDatabase('postgres')}?application_name=other`;
  const service = await startService({ databaseUrl });
  const isRefused = async (...args: string[]) => {
    const { code, stderr } = await runOperatorProcess(service.env, ...args);
    return code === 1 && stderr.includes('a service uses the database: stop it on every node first');
  };
  const to = await newFile();
  await until(() => isRefused('copy', '--to', to), 'that commands notice the service');
  expect(await isRefused('finish-restore')).toBe(true);
});
