// A log collector follows the security log of a running service: it is stopped and started again, and a database on PostgreSQL
// goes away and comes back.

import { expect, test } from 'bun:test';
import { spawn } from 'bun';
import { startFaultProxy } from '#support/fault-proxy.ts';
import { startPostgres } from '#support/postgres.ts';
import {
  linesIn,
  operatorOn,
  type RunningOperator,
  runOperatorInto,
  serverProgram,
  startOperator,
  startService,
} from '#support/service.ts';
import { until } from '#support/until.ts';

/** Waits for so many events; returns their types, and the position of the last one. */
async function printed(follow: RunningOperator, count: number) {
  await until(
    () => follow.lines().length >= count,
    () => `${count} lines, of which ${follow.lines().length} came`,
  );
  const events = follow.lines().map((line) => JSON.parse(line));
  return { types: events.map(({ type }) => type), position: String(events.at(-1).position) };
}

test('a collector that is stopped and started again gets every event', async () => {
  const service = await startService();
  await service.login('ada@example.com');
  const first = startOperator(service.env, 'events', 'follow');
  await printed(first, 2);
  await service.login('eve@example.com');
  const before = await printed(first, 4);
  expect(before.types).toEqual(['account_created', 'login', 'account_created', 'login']);
  first.kill('SIGTERM');
  expect(await first.exited).toBe(0);

  await service.login('ada@example.com');
  const second = startOperator(service.env, 'events', 'follow', '--after', before.position);
  await printed(second, 1);
  await service.login('eve@example.com');
  expect((await printed(second, 2)).types).toEqual(['login', 'login']);
  second.kill('SIGINT');
  expect(await second.exited).toBe(0);

  const { refused } = operatorOn(service.env);
  await refused(['events', 'follow', '--after', '1000'], 1, 'No event has the position 1000 yet');
  for (const after of ['-1', '1.5', 'x'])
    await refused(['events', 'follow', `--after=${after}`], 2, 'It must be a whole number');
});

test('a collector that closes the pipe ends the command, without an error; output that cannot be written is a sentence', async () => {
  const service = await startService();
  await service.login('ada@example.com');
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
    await service.login('ada@example.com');
    return child.exitCode !== null;
  }, 'the end of the command');
  const stderr = await new Response(child.stderr).text();
  expect([await child.exited, stderr]).toEqual([0, expect.stringMatching(/^Store: \S+\n$/)]);
  expect(linesIn(await output)).toHaveLength(1);

  const lost = /^Store: .*\nlatchkey-server: Standard output cannot be written: .*no space.*\n$/i;
  for (const command of ['events follow', 'events verify', 'users list']) {
    const result = await runOperatorInto('>/dev/full', service.env, ...command.split(' '));
    expect({ command, ...result }).toEqual({ command, code: 1, stderr: expect.stringMatching(lost) });
  }
});

test('a collector waits while the database is away, and then gets what happened meanwhile', async () => {
  const databaseUrl = await (await startPostgres()).createDatabase();
  const service = await startService({ databaseUrl });
  const target = new URL(databaseUrl);
  const proxy = await startFaultProxy(Number(target.port));
  target.port = String(proxy.port);
  const follow = startOperator({ ...service.env, DATABASE_URL: target.href }, 'events', 'follow');
  await service.login('ada@example.com');
  await printed(follow, 2);

  proxy.disturb('cut');
  await until(() => follow.stderr().includes('cannot be read'), 'a database out of reach');
  await service.login('ada@example.com');
  proxy.disturb(undefined);
  await until(() => follow.stderr().includes('can be read again'), 'a database in reach');
  expect((await printed(follow, 3)).types).toEqual(['account_created', 'login', 'login']);
  expect(follow.stderr().match(/cannot be read/g)).toHaveLength(1);

  proxy.disturb('cut');
  await until(() => follow.stderr().match(/cannot be read/g)?.length === 2, 'a database out of reach again');
  follow.kill('SIGTERM');
  expect(await follow.exited).toBe(0);
});
