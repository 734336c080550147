// A backup beside a running service, by `backup` on SQLite and by the real `pg_dump` on PostgreSQL, and what follows a restore.

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { copyFileSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TokenSet } from '@latchkey/contract/tokens';
import { generateKey } from '../../packages/server/src/platform/crypto/primitives.ts';
import { mountDisk } from '../support/disk.ts';
import { linkTokenIn, loginByMail, mailTo, request } from '../support/http.ts';
import { hasPgDump, runPostgresProgram, startDebianPostgres } from '../support/pg-dump.ts';
import {
  registerService,
  runOperator,
  runOperatorProcess,
  startService,
  type TestService,
  temporaryDirectory,
} from '../support/service.ts';
import { basic } from '../support/services.ts';
import { until } from '../support/until.ts';

const keys = generateKey();

const envOf = (databaseUrl: string, ring = keys) => ({ DATABASE_URL: databaseUrl, LATCHKEY_KEYS: ring });

const fileOf = (databaseUrl: string): string => databaseUrl.slice('sqlite:'.length);

/** How each database is backed up and restored, as docs/operating.md says. */
interface Tools {
  newDatabase(): Promise<string>;
  backUp(databaseUrl: string, file: string): Promise<void>;
  restore(file: string, databaseUrl: string): void;
}

const onSqlite: Tools = {
  newDatabase: async () => `sqlite:${join(temporaryDirectory(), 'latchkey.db')}`,
  backUp: async (databaseUrl, file) => {
    const { code, stderr } = await runOperatorProcess(envOf(databaseUrl), 'backup', file);
    if (code !== 0) throw new Error(stderr);
  },
  restore: (file, databaseUrl) => copyFileSync(file, fileOf(databaseUrl)),
};

const onPostgres = async (): Promise<Tools> => ({
  newDatabase: await startDebianPostgres(),
  backUp: async (databaseUrl, file) =>
    runPostgresProgram('pg_dump', '--format=custom', `--file=${file}`, databaseUrl),
  restore: (file, databaseUrl) =>
    runPostgresProgram(
      ...['pg_restore', '--no-owner', '--no-acl', '--single-transaction', `--dbname=${databaseUrl}`, file],
    ),
});

for (const [dialect, open] of [
  ['sqlite', async () => onSqlite],
  ['postgres', onPostgres],
] as const) {
  describe.skipIf(dialect === 'postgres' && !hasPgDump)(`a backup of ${dialect}`, () => {
    const file = join(temporaryDirectory(), 'latchkey.backup');
    let tools: Tools;
    let service: TestService;
    let ada: TokenSet;
    let link: string;
    let deviceCode: string;
    let readerKey: string;

    const readFeed = (at: TestService) =>
      request(at.url, 'POST', '/feed', {
        headers: { Authorization: basic(readerKey) },
        json: { returnImmediately: true },
      });

    /** Restores the backup into a new database, on which `finish-restore` has not run. */
    const restored = async (): Promise<string> => {
      const databaseUrl = await tools.newDatabase();
      tools.restore(file, databaseUrl);
      return databaseUrl;
    };

    /** Starts a service on a restored database, for the time of some work. */
    const serving = async (databaseUrl: string, ring: string, work: (at: TestService) => Promise<void>) => {
      const at = await startService({ databaseUrl, env: { LATCHKEY_KEYS: ring } });
      await work(at).finally(() => at.stop());
    };

    beforeAll(async () => {
      tools = await open();
      service = await startService({ databaseUrl: await tools.newDatabase(), env: { LATCHKEY_KEYS: keys } });
      ada = await loginByMail(service.url, 'ada@example.com');
      readerKey = await registerService(service, 'reader', '--may', 'feed');
      expect((await readFeed(service)).status).toBe(200);
      await request(service.url, 'POST', '/magic_link', { json: { email: 'bob@example.com' } });
      link = linkTokenIn(await mailTo(service.url, 'bob@example.com'));
      const device = await request(service.url, 'POST', '/device');
      deviceCode = device.body.device_code;
      const approval = { token: ada.access_token, json: { user_code: device.body.user_code } };
      expect((await request(service.url, 'POST', '/device/approve', approval)).status).toBe(204);

      let isDone = false;
      let count = 0;
      const signUps = [0, 1, 2].map(async (worker) => {
        while (!isDone) await loginByMail(service.url, `crowd-${worker}-${count++}@example.com`);
      });
      try {
        await until(() => count >= 5, 'sign-ups beside the backup');
        await tools.backUp(service.env['DATABASE_URL']!, file);
      } finally {
        isDone = true;
        await Promise.all(signUps);
      }
    });

    afterAll(async () => {
      await service.stop();
    });

    test('a restored database is refused until finish-restore has run, by everything that would use it', async () => {
      const databaseUrl = await restored();
      for (const command of [['serve'], ['users', 'list'], ['copy', '--to', await onSqlite.newDatabase()]]) {
        const { code, stderr } = await runOperatorProcess({ ...envOf(databaseUrl), PORT: '0' }, ...command);
        expect([command, code, stderr]).toEqual([
          command,
          1,
          expect.stringMatching(
            /The database (sqlite|postgres):\S+ was restored from a backup: run `latchkey-server finish-restore`/,
          ),
        ]);
      }
      const { stdout } = await runOperator(envOf(databaseUrl), 'doctor');
      expect(stdout).toContain('failed   ');
      expect(stdout).toContain('finish-restore`; until then the service does not start');
      expect((await runOperatorProcess(envOf(databaseUrl), 'finish-restore')).code).toBe(0);
      expect((await runOperator(envOf(databaseUrl), 'users', 'list')).code).toBe(0);
    });

    test('after a restore every session and what was pending has ended, and the rest is as it was at one moment', async () => {
      const databaseUrl = await restored();
      const before = await request(service.url, 'GET', '/me', { token: ada.access_token });
      const { code, stdout } = await runOperatorProcess(envOf(databaseUrl), 'finish-restore');
      expect([code, stdout]).toEqual([0, expect.stringContaining('All sessions and keys have ended')]);
      await serving(databaseUrl, keys, async (at) => {
        expect((await request(at.url, 'GET', '/me', { token: ada.access_token })).status).toBe(401);
        const { refresh_token } = ada;
        for (const [path, json] of [
          ['/refresh', { refresh_token }],
          ['/magic_link/verify', { token: link }],
          ['/token', { device_code: deviceCode }],
        ] as const)
          expect([path, (await request(at.url, 'POST', path, { json })).status]).toEqual([path, 400]);
        const { access_token: token } = await loginByMail(at.url, 'Ada@Example.com');
        expect((await request(at.url, 'GET', '/me', { token })).body).toEqual(before.body);
        const { body } = await request(at.url, 'GET', '/events', { token });
        expect(body.events.map(({ type }: { type: string }) => type)).toContain('all_sessions_revoked');
        expect((await readFeed(at)).status).toBe(410);
        expect((await readFeed(at)).status).toBe(200);
      });
      // Each account of the crowd has its session, organization and log.
      expect(await runOperator(envOf(databaseUrl), 'events', 'verify')).toMatchObject({ code: 0 });
      const follow = ['events', 'follow', '--once', '--after'];
      const later = await runOperator(envOf(databaseUrl), ...follow, '1000000');
      expect(JSON.parse(later.stdout.split('\n')[0]!)).toMatchObject({ type: 'all_sessions_revoked' });
      const all = await runOperator(envOf(databaseUrl), ...follow, '0');
      expect(all.stdout).toContain('"type":"account_created"');
    });

    test('--keep-sessions keeps the sessions of the backup and warns about them', async () => {
      const databaseUrl = await restored();
      const { code, stdout } = await runOperatorProcess(
        envOf(databaseUrl),
        'finish-restore',
        '--keep-sessions',
      );
      expect([code, stdout]).toEqual([0, expect.stringContaining('WARNING: the sessions and keys')]);
      await serving(databaseUrl, keys, async (at) => {
        expect((await request(at.url, 'GET', '/me', { token: ada.access_token })).status).toBe(200);
        expect((await request(at.url, 'POST', '/magic_link/verify', { json: { token: link } })).status).toBe(
          400,
        );
      });
    });

    test('under other keys finish-restore changes nothing, unless they are said to be lost', async () => {
      const databaseUrl = await restored();
      const ring = generateKey();
      const refused = await runOperatorProcess(envOf(databaseUrl, ring), 'finish-restore');
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('use --any-keys')]);
      expect((await runOperator(envOf(databaseUrl), 'users', 'list')).stderr).toContain('finish-restore');
      expect((await runOperatorProcess(envOf(databaseUrl, ring), 'finish-restore', '--any-keys')).code).toBe(
        0,
      );
      await serving(databaseUrl, ring, async (at) => void (await loginByMail(at.url, 'ada@example.com')));
    });
  });
}

/** A SQLite database that `migrate` made, without a service. */
async function migrated(): Promise<string> {
  const databaseUrl = await onSqlite.newDatabase();
  expect((await runOperator(envOf(databaseUrl), 'migrate')).code).toBe(0);
  return databaseUrl;
}

test('backup writes one file, for its owner only, and replaces nothing', async () => {
  const databaseUrl = await migrated();
  const directory = temporaryDirectory();
  const [file, link, fresh] = ['file', 'link', 'new'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(file, 'precious');
  symlinkSync(file, link);
  for (const target of [file, link, '/dev/null', directory, join(directory, 'missing/backup')]) {
    const { code, stderr } = await runOperator(envOf(databaseUrl), 'backup', target);
    expect([target, code, stderr.split('\n')[1]]).toEqual([
      target,
      1,
      expect.stringMatching(/^latchkey-server: .*: (EEXIST|ENOENT)/),
    ]);
  }
  expect((await runOperatorProcess(envOf(databaseUrl), 'backup', fresh)).code).toBe(0);
  expect(statSync(fresh).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, 'utf8')).toBe('precious');
  expect(readdirSync(directory).toSorted()).toEqual(['file', 'link', 'new']);
  using copy = new Database(fresh, { readonly: true });
  expect(copy.query<object, []>('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
});

test('a backup that finds the disk full says so, and leaves no file', async () => {
  const databaseUrl = await migrated();
  const directory = temporaryDirectory();
  const disk = mountDisk(directory, '1m');
  // Only root can mount one.
  if (!disk) return;
  disk.fill();
  const { code, stderr } = await runOperator(envOf(databaseUrl), 'backup', join(directory, 'backup'));
  expect([code, stderr]).toEqual([1, expect.stringContaining('database or disk is full')]);
  expect(readdirSync(directory)).toEqual(['filler']);
});

test('copy says where the keys belong, and needs the service to be stopped', async () => {
  const service = await startService();
  const { access_token: token } = await loginByMail(service.url, 'ada@example.com');
  const to = `sqlite:${join(temporaryDirectory(), 'copy.db')}`;
  const copy = () => runOperatorProcess({ DATABASE_URL: service.env['DATABASE_URL']! }, 'copy', '--to', to);
  const refused = await copy();
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining('another latchkey-server serves'),
  ]);
  await service.stop();
  expect(
    (await runOperatorProcess({ DATABASE_URL: service.env['DATABASE_URL']! }, 'copy', '--to', 'mysql:'))
      .stderr,
  ).toContain('latchkey-server: --to must be sqlite:');
  const { code, stdout } = await copy();
  const [, from = '', keyFile = ''] = /copy (\S+\.keys) to (\S+\.keys)\./.exec(stdout) ?? [];
  expect([code, from !== '', keyFile]).toEqual([0, true, fileOf(to).replace('.db', '.keys')]);
  copyFileSync(from, keyFile);
  const at = await startService({ databaseUrl: to });
  expect((await request(at.url, 'GET', '/me', { token })).status).toBe(200);
});

test('a PostgreSQL database is neither copied nor made ready by finish-restore while a service uses it', async () => {
  const service = await startService({ dialect: 'postgres' });
  const isRefused = async (...command: string[]) => {
    const { code, stderr } = await runOperatorProcess(service.env, ...command);
    return code === 1 && stderr.includes('a service uses the database: stop it on every node first');
  };
  await until(
    async () => isRefused('copy', '--to', await onSqlite.newDatabase()),
    'that commands notice the service',
  );
  expect(await isRefused('finish-restore')).toBe(true);
});
