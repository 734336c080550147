// One parent and its workers behind one port, on PostgreSQL.

import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { request } from '../support/http.ts';
import { startPostgres } from '../support/postgres.ts';
import { childrenOf, isRunning } from '../support/process-tree.ts';
import { runOperator, startService, type TestService, temporaryDirectory } from '../support/service.ts';

const workers = 2;
const clients = 16;
const pollMs = 20;

/** Starts the service with all its workers. */
async function startWorkers(directory = temporaryDirectory()): Promise<TestService> {
  const databaseUrl = await (await startPostgres()).createDatabase();
  const env = { LATCHKEY_WORKERS: String(workers) };
  const service = await startService({ databaseUrl, env, directory });
  await until(() => hasLogged(service, 'Latchkey is ready'));
  return service;
}

const hasLogged = (service: TestService, message: string): boolean =>
  service.logs().some((line) => line.includes(`"msg":"${message}"`));

/** Waits for a condition; the limit of the test ends the wait. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await Bun.sleep(pollMs);
}

/** Sends a request over a new connection, which resolves with it. Its answer is the status line. */
function send(service: TestService, head: string, body = ''): Promise<{ readonly answer: Promise<string> }> {
  const sent = Promise.withResolvers<{ readonly answer: Promise<string> }>();
  const answered = Promise.withResolvers<string>();
  let text = '';
  const fields = `Host: localhost\r\nConnection: close\r\nContent-Length: ${body.length}`;
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1', () =>
    socket.write(`${head}\r\n${fields}\r\n\r\n${body}`, () => sent.resolve({ answer: answered.promise })),
  );
  socket.on('data', (data) => {
    text += String(data);
  });
  socket.on('error', (error) => {
    sent.reject(error);
    answered.resolve(error.message);
  });
  socket.on('close', () => answered.resolve(text.split('\r\n')[0] ?? ''));
  return sent.promise;
}

/** The status line, or why there is none. */
const askAnew = async (service: TestService): Promise<string> =>
  (await send(service, 'GET /healthz HTTP/1.1').catch((error: Error) => ({ answer: error.message }))).answer;

/** A poll that waits for a decision. */
const hold = (service: TestService, device_code: string) =>
  send(
    service,
    'POST /api/v1/auth/token HTTP/1.1\r\nContent-Type: application/json\r\nPrefer: wait=25',
    JSON.stringify({ device_code }),
  );

/** A connection that waits at a worker when that is killed is reset, so a scrape is tried again. */
async function scrape(service: TestService, tries = 10): Promise<string> {
  try {
    return await (await fetch(`${service.url.replace('localhost', '127.0.0.1')}/metrics`)).text();
  } catch (error) {
    if (tries === 1) throw error;
    await Bun.sleep(pollMs);
    return scrape(service, tries - 1);
  }
}

/** The value of a metric, summed over its labels. */
async function metric(service: TestService, pattern: RegExp): Promise<number> {
  const text = await scrape(service);
  const values = text
    .split('\n')
    .filter((line) => pattern.test(line))
    .map((line) => Number(line.split(' ').at(-1)));
  return values.reduce((sum, value) => sum + value, 0);
}

const workersIn = (service: TestService) => metric(service, /^latchkey_workers /);
const healthChecksIn = (service: TestService) =>
  metric(service, /^latchkey_http_requests_total\{route="\/healthz",method="GET",status="200"\}/);

test('all workers answer on one port, and the metrics of any of them are those of all', async () => {
  const service = await startWorkers();
  expect(await workersIn(service)).toBe(workers);
  const pids = childrenOf(service.pid);
  expect(pids).toHaveLength(workers);
  for (const pid of pids) {
    process.kill(pid, 'SIGSTOP');
    const asked = Array.from({ length: 32 }, () => askAnew(service));
    // Only the other worker can answer now. The kernel gives about half of the connections to it.
    expect(await Promise.race(asked)).toBe('HTTP/1.1 200 OK');
    process.kill(pid, 'SIGCONT');
    expect(new Set(await Promise.all(asked))).toEqual(new Set(['HTTP/1.1 200 OK']));
  }
  for (let scrape = 0; scrape < 8; scrape++) expect(await healthChecksIn(service)).toBe(64);
  expect(await service.stop()).toBe(0);
  expect(pids.filter(isRunning)).toEqual([]);
});

test('a worker that is killed is replaced, and what it counted stays in the metrics', async () => {
  const service = await startWorkers();
  const before = childrenOf(service.pid);
  await Promise.all(Array.from({ length: clients }, () => askAnew(service)));
  expect(await healthChecksIn(service)).toBe(clients);
  for (const pid of before) {
    // A scrape brings the counts of the worker to its parent.
    await healthChecksIn(service);
    process.kill(pid, 'SIGKILL');
    await until(() => !childrenOf(service.pid).includes(pid));
    await until(async () => (await workersIn(service)) === workers);
  }
  expect(await healthChecksIn(service)).toBe(clients);
  expect(childrenOf(service.pid).filter((pid) => before.includes(pid))).toEqual([]);
  expect(await service.stop()).toBe(0);
});

test('SIGHUP replaces every worker, and no new connection is refused or reset meanwhile', async () => {
  const service = await startWorkers();
  const before = childrenOf(service.pid);
  const answers = new Map<string, number>();
  let isLoaded = true;
  const load = Array.from({ length: clients }, async () => {
    while (isLoaded) {
      const answer = await askAnew(service);
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
    }
  });
  process.kill(service.pid, 'SIGHUP');
  await until(() => hasLogged(service, 'all workers are replaced'));
  isLoaded = false;
  await Promise.all(load);
  expect([...answers.keys()]).toEqual(['HTTP/1.1 200 OK']);
  expect(before.filter(isRunning)).toEqual([]);
  expect(await workersIn(service)).toBe(workers);
  expect(await healthChecksIn(service)).toBe(answers.get('HTTP/1.1 200 OK') ?? 0);
  expect(await service.stop()).toBe(0);
});

test('after SIGHUP with settings that are not valid, the workers stay', async () => {
  const directory = temporaryDirectory();
  const service = await startWorkers(directory);
  const before = childrenOf(service.pid);
  writeFileSync(join(directory, '.env'), 'LATCHKEY_SIGNUP=some\n');
  process.kill(service.pid, 'SIGHUP');
  await until(() => hasLogged(service, 'the workers stay as they are'));
  expect(childrenOf(service.pid)).toEqual(before);
  writeFileSync(join(directory, '.env'), 'LATCHKEY_SIGNUP=closed\n');
  process.kill(service.pid, 'SIGHUP');
  await until(() => hasLogged(service, 'all workers are replaced'));
  expect(await service.stop()).toBe(0);
});

test('on SIGTERM the workers answer the requests in flight, and the parent ends after them', async () => {
  const service = await startWorkers();
  const pids = childrenOf(service.pid);
  const { body } = await request(service.url, 'POST', '/device');
  const polls = await Promise.all(Array.from({ length: clients }, () => hold(service, body.device_code)));
  // Each worker reads its connections in turn, so once it answers these it has read the polls.
  await Promise.all(Array.from({ length: 32 }, () => askAnew(service)));
  const stopped = service.stop();
  for (const { answer } of polls) expect(await answer).toStartWith('HTTP/1.1 400 ');
  expect(await stopped).toBe(0);
  expect(pids.filter(isRunning)).toEqual([]);
});

test('when the parent is killed, the workers end', async () => {
  const service = await startWorkers();
  const pids = childrenOf(service.pid);
  await service.kill();
  await until(() => !pids.some(isRunning));
});

test('several workers on SQLite are refused with the reason', async () => {
  const env = { DATABASE_URL: `sqlite:${join(temporaryDirectory(), 'x.db')}`, LATCHKEY_WORKERS: '2' };
  const { code, stderr } = await runOperator(env, 'serve');
  expect(code).toBe(1);
  expect(stderr).toStartWith('latchkey-server: LATCHKEY_WORKERS must be 1 with SQLite, ');
});
