// `latchkey-server doctor` against a real service.

import { expect, test } from 'bun:test';
import { chmodSync, existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { newDatabase } from '#support/new-database.ts';
import { runOperator, startService, temporaryDirectory } from '#support/service.ts';

test('doctor reports a sound service as ok, an untrusted proxy as a warning and a readable key file as failed', async () => {
  const service = await startService();
  const json = async () => JSON.parse((await runOperator(service.env, 'doctor', '--json')).stdout);
  const sound = await runOperator(service.env, 'doctor');
  const store = `Store: sqlite:${join(service.directory, 'latchkey.db')}\n`;
  expect(sound).toMatchObject({ code: 0, stderr: store });
  for (const line of [
    /^ok +the settings are valid$/m,
    /^ok +all migrations are applied$/m,
    /^ok +the key file .* is readable by its owner only$/m,
    /^ok +the service at http:\/\/127\.0\.0\.1:\d+ is running and ready$/m,
    /^ok +no forwarding headers from untrusted proxies$/m,
    /^warning +LATCHKEY_RATE_LIMITS is off/m,
  ])
    expect(sound.stdout).toMatch(line);
  const { failed, findings } = await json();
  expect(failed).toBe(0);
  expect(findings).toContainEqual({ state: 'ok', text: 'all migrations are applied' });
  await fetch(`${service.url}/healthz`, { headers: { 'X-Forwarded-For': '203.0.113.5' } });
  chmodSync(join(service.directory, 'latchkey.keys'), 0o644);
  const wrong = await runOperator(service.env, 'doctor');
  expect([wrong.code, wrong.stderr]).toEqual([1, `${store}latchkey-server: 1 check failed.\n`]);
  expect(wrong.stdout).toMatch(/^warning +1 request had forwarding headers .*LATCHKEY_TRUSTED_PROXIES/m);
  expect(wrong.stdout).toMatch(/^failed +the key file .* is readable by others .*mode 644/m);
  expect((await json()).failed).toBe(1);

  const env = { ...service.env, LATCHKEY_SIGNUP: 'sometimes, maybe' };
  const { code, stdout } = await runOperator(env, 'doctor', '--json');
  const text = expect.stringContaining('LATCHKEY_SIGNUP must be');
  expect([code, JSON.parse(stdout)]).toEqual([1, { failed: 1, findings: [{ state: 'failed', text }] }]);
});

test('doctor reports an unreachable database, mail server and service, and creates no file', async () => {
  const directory = temporaryDirectory();
  const database = join(directory, 'latchkey.db');
  const env = { DATABASE_URL: `sqlite:${database}`, LATCHKEY_SMTP_URL: 'smtp://127.0.0.1:1', PORT: '1' };
  const { code, stdout } = await runOperator(env, 'doctor');
  expect(code).toBe(1);
  expect(stdout).toMatch(/^failed +the database cannot be read/m);
  expect(stdout).toMatch(/^failed +LATCHKEY_SMTP_URL: /m);
  expect(stdout).toMatch(/^warning +no service is running/m);
  expect([database, join(directory, 'latchkey.keys')].filter(existsSync)).toEqual([]);
  // A file that this user may not look for is not called missing. Even root may not follow a link to itself.
  symlinkSync('loop', join(directory, 'loop'));
  const hidden = { DATABASE_URL: `sqlite:${join(directory, 'loop/latchkey.db')}` };
  const commands = [['doctor'], ['users', 'list'], ['serve']];
  for (const args of commands) {
    const { code, stdout, stderr } = await runOperator(hidden, ...args);
    expect([args, code, stdout + stderr]).toEqual([args, 1, expect.stringMatching(/ELOOP.*loop\/latchkey/)]);
    expect(stdout + stderr).not.toMatch(/there is no store|does not exist|\n {4}at /);
  }
});

test('doctor compares clocks and connections with those of PostgreSQL, and a direct URL of another database is refused', async () => {
  const service = await startService({
    dialect: 'postgres',
    env: { LATCHKEY_METRICS_TOKEN: 'the-operators-token' },
  });
  const { code, stdout } = await runOperator(service.env, 'doctor');
  expect(stdout).toMatch(/^ok +the clocks of this machine and of the database differ by \d+ ms$/m);
  expect(stdout).toMatch(/^ok +LATCHKEY_KEYS is set$/m);
  expect(stdout).toMatch(/^ok +the service at http:\/\/127\.0\.0\.1:\d+ is running and ready$/m);
  expect(code).toBe(0);
  const connections = async (processes: number, settings: Record<string, string> = {}) => {
    const args = ['doctor', '--nodes', String(processes)];
    const { stdout } = await runOperator({ ...service.env, ...settings }, ...args);
    return /^.*may open.*$/m.exec(stdout)?.[0];
  };
  const allowed = Number(/allows (\d+)$/.exec((await connections(1)) ?? '')?.[1]);
  expect(await connections(1)).toBe(
    `ok       1 process may open 17 connections; the database allows ${allowed}`,
  );
  const enough = Math.floor(allowed / 17);
  expect(await connections(enough)).toStartWith(
    `ok       ${enough} processes may open ${enough * 17} connections`,
  );
  expect(await connections(enough + 1)).toEndWith(
    ': raise max_connections of PostgreSQL, or put a pooler between them',
  );
  const pooled = { LATCHKEY_DATABASE_DIRECT_URL: service.env['DATABASE_URL']! };
  expect(await connections(99, pooled)).toMatch(/^ok .* but a pooler is between them$/);
  const other = { LATCHKEY_DATABASE_DIRECT_URL: await newDatabase('postgres') };
  const down = { DATABASE_URL: 'postgres://latchkey@127.0.0.1:1/latchkey', ...pooled };
  expect((await runOperator({ ...service.env, ...down }, 'migrate')).code).toBe(0);
  for (const command of ['doctor', 'serve', 'migrate']) {
    const { code, stdout, stderr } = await runOperator({ ...service.env, ...other }, command);
    const sentence = expect.stringMatching(/LATCHKEY_DATABASE_DIRECT_URL names another database/);
    expect([command, code, stdout + stderr]).toEqual([command, 1, sentence]);
  }
});

test('a public address without trusted proxies, and one without TLS, are warnings in the log at start', async () => {
  const env = { LATCHKEY_BASE_URL: 'http://login.internal', LATCHKEY_INSECURE_HTTP: 'on' };
  const service = await startService({ env });
  await service.stop();
  for (const warning of ['LATCHKEY_TRUSTED_PROXIES is not set', 'LATCHKEY_BASE_URL is not https'])
    expect(service.logs().filter((line) => line.includes(warning))).toHaveLength(1);
});
