// A log collector follows the security log of a running service: it is stopped and started again, and the database goes
// away and comes back.

import { expect, test } from 'bun:test';
import { spawn } from 'bun';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { loginByMail } from '../support/http.ts';
import { processDialects } from '../support/long.ts';
import { startPostgres } from '../support/postgres.ts';
import { serverProgram } from '../support/server-program.ts';
import { type RunningOperator, runOperator, startOperator, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

interface Followed {
  readonly position: number;
  readonly id: string;
  readonly type: string;
}

const parsed = (lines: readonly string[]): Followed[] => lines.map((line) => JSON.parse(line));
const linesOf = (text: string) => text.split('\n').filter(Boolean);

async function printed(follow: RunningOperator, count: number): Promise<Followed[]> {
  await until(
    () => follow.lines().length >= count,
    () => `${count} lines, of which ${follow.lines().length} came`,
  );
  return parsed(follow.lines());
}

for (const dialect of processDialects) {
  const start = () => startService({ dialect });

  test(`a collector that is stopped and started again gets every event (${dialect})`, async () => {
    const service = await start();
    await loginByMail(service.url, 'ada@example.com');
    const first = startOperator(service.env, 'events', 'follow');
    await printed(first, 2);
    await loginByMail(service.url, 'eve@example.com');
    const before = await printed(first, 4);
    first.kill('SIGTERM');
    expect(await first.exited).toBe(0);

    await loginByMail(service.url, 'ada@example.com');
    const after = String(before.at(-1)?.position);
    const second = startOperator(service.env, 'events', 'follow', '--after', after);
    await printed(second, 1);
    await loginByMail(service.url, 'eve@example.com');
    const events = [...before, ...(await printed(second, 2))];
    second.kill('SIGINT');
    expect(await second.exited).toBe(0);
    expect(events.map(({ type }) => type)).toEqual([
      ...['account_created', 'login', 'account_created', 'login'],
      ...['login', 'login'],
    ]);
  });

  test(`a collector that closes the pipe ends the command, without an error (${dialect})`, async () => {
    const service = await start();
    await loginByMail(service.url, 'ada@example.com');
    const pipeline = `${serverProgram.join(' ')} events follow | head -n 1; exit \${PIPESTATUS[0]}`;
    const child = spawn(['bash', '-c', pipeline], {
      env: { PATH: process.env['PATH'], ...service.env },
      cwd: service.directory,
      stdout: 'pipe',
      stderr: 'pipe',
    });
    // `head` ends after the first line; the command finds out when it writes the next events.
    const output = new Response(child.stdout).text();
    await until(async () => {
      await loginByMail(service.url, 'ada@example.com');
      return child.exitCode !== null;
    }, 'the end of the command');
    const stderr = await new Response(child.stderr).text();
    expect([await child.exited, stderr]).toEqual([0, expect.stringMatching(/^Store: \S+\n$/)]);
    expect(linesOf(await output)).toHaveLength(1);
  });

  test(`a position that was not reached yet is refused, as is one that is no number (${dialect})`, async () => {
    const service = await start();
    const ahead = await runOperator(service.env, 'events', 'follow', '--after', '1000');
    expect([ahead.code, ahead.stdout]).toEqual([1, '']);
    expect(ahead.stderr).toContain('No event has the position 1000 yet');
    for (const after of ['-1', '1.5', 'x']) {
      expect((await runOperator(service.env, 'events', 'follow', `--after=${after}`)).code).toBe(2);
    }
  });
}

test('output that cannot be written is a sentence', async () => {
  const service = await startService();
  await loginByMail(service.url, 'ada@example.com');
  for (const command of ['events follow', 'events verify', 'users list']) {
    const child = spawn(['sh', '-c', `exec ${serverProgram.join(' ')} ${command} >/dev/full`], {
      env: { PATH: process.env['PATH'], ...service.env },
      cwd: service.directory,
      stderr: 'pipe',
    });
    const stderr = await new Response(child.stderr).text();
    expect([command, await child.exited, stderr.split('\n').slice(1)]).toEqual([
      command,
      1,
      [expect.stringMatching(/^latchkey-server: Standard output cannot be written: .*no space/i), ''],
    ]);
  }
});

test('a collector waits while the database is away, and then gets what happened meanwhile', async () => {
  const databaseUrl = await (await startPostgres()).createDatabase();
  const service = await startService({ databaseUrl });
  const target = new URL(databaseUrl);
  const proxy = await startFaultProxy(Number(target.port));
  target.port = String(proxy.port);
  const follow = startOperator({ ...service.env, DATABASE_URL: target.href }, 'events', 'follow');
  await loginByMail(service.url, 'ada@example.com');
  await printed(follow, 2);

  proxy.disturb('cut');
  await until(() => follow.stderr().includes('cannot be read'), 'a database out of reach');
  await loginByMail(service.url, 'ada@example.com');
  proxy.disturb(undefined);
  await until(() => follow.stderr().includes('can be read again'), 'a database in reach');
  expect((await printed(follow, 3)).map(({ type }) => type)).toEqual(['account_created', 'login', 'login']);
  expect(follow.stderr().match(/cannot be read/g)).toHaveLength(1);

  proxy.disturb('cut');
  await until(() => follow.stderr().match(/cannot be read/g)?.length === 2, 'a database out of reach again');
  follow.kill('SIGTERM');
  expect(await follow.exited).toBe(0);
});
