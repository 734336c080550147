// One parent and its workers behind one port, on PostgreSQL.

import { expect, test } from 'bun:test';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import postgres from 'postgres';
import { generateKey } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { endAtExit, hasEnded } from '../support/cleanup.ts';
import { freePort } from '../support/free-port.ts';
import { loginByMail, request } from '../support/http.ts';
import { startLoad } from '../support/load.ts';
import { isLong } from '../support/long.ts';
import { startPostgres } from '../support/postgres.ts';
import { childrenOf, hasOpen, isRunning } from '../support/process-tree.ts';
import { startRetryingProxy } from '../support/retrying-proxy.ts';
import { serverProgram } from '../support/server-program.ts';
import {
  type RunningOperator,
  runOperator,
  startOperator,
  startService,
  type TestService,
  temporaryDirectory,
} from '../support/service.ts';
import { until } from '../support/until.ts';

const workers = 2;
const clients = 16;
const pollMs = 20;

/** Starts the service. Its first worker is then ready, and the others are still starting. */
async function startFirst(directory = temporaryDirectory()): Promise<TestService> {
  const databaseUrl = await (await startPostgres()).createDatabase();
  return startService({ databaseUrl, env: { LATCHKEY_WORKERS: String(workers) }, directory });
}

/** Starts the service with all its workers. */
async function startWorkers(directory?: string): Promise<TestService> {
  const service = await startFirst(directory);
  await until(() => hasLogged(service, 'Latchkey is ready'));
  return service;
}

const hasLogged = (service: TestService, message: string): boolean =>
  service.logs().some((line) => line.includes(`"msg":"${message}"`));

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
    answered.resolve((error as NodeJS.ErrnoException).code ?? error.message);
  });
  socket.on('close', () => answered.resolve(text.split('\r\n')[0] ?? ''));
  return sent.promise;
}

/** The status line, or why there is none. */
const askAnew = async (service: TestService): Promise<string> =>
  (
    await send(service, 'GET /healthz HTTP/1.1').catch((error: NodeJS.ErrnoException) => ({
      answer: error.code ?? error.message,
    }))
  ).answer;

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

test('SIGHUP replaces every worker, and no new connection is refused meanwhile', async () => {
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
  // The kernel resets connections that a worker had not accepted when it closed its listener: none to 8 of 20,000, on a busy machine.
  // Only one of each client can be in the queue of each worker.
  const resets = answers.get('ECONNRESET') ?? 0;
  expect([...answers.keys()].filter((answer) => answer !== 'ECONNRESET')).toEqual(['HTTP/1.1 200 OK']);
  expect(resets).toBeLessThan(clients * workers);
  expect(before.filter(isRunning)).toEqual([]);
  expect(await workersIn(service)).toBe(workers);
  expect(await healthChecksIn(service)).toBe(answers.get('HTTP/1.1 200 OK') ?? 0);
  expect(await service.stop()).toBe(0);
});

test.if(isLong)('while SIGHUP replaces the workers, no request of people behind a proxy fails', async () => {
  const service = await startWorkers();
  const before = childrenOf(service.pid);
  // The port is that of both workers, so the proxy asks again at the same address.
  const proxy = startRetryingProxy([service.url, service.url]);
  const logins = [];
  for (let index = 0; index < clients / 2; index++) {
    logins.push(await loginByMail(service.url, `client${index}@example.com`));
  }
  const load = startLoad(proxy.url, logins);
  const someRequests = async () => {
    const enough = load.succeeded() + 100;
    await until(() => load.succeeded() >= enough);
  };
  await someRequests();
  process.kill(service.pid, 'SIGHUP');
  await until(() => hasLogged(service, 'all workers are replaced'));
  await someRequests();
  await load.stop();
  expect(load.failures).toEqual([]);
  expect(before.filter(isRunning)).toEqual([]);
  await proxy.stop();
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

test.if(isLong)('a worker that is killed while another one is being replaced is started again', async () => {
  const service = await startWorkers();
  const [replaced, other] = childrenOf(service.pid);
  // The new workers wait for the database.
  const lock = await holdMigrationLock(service.env['DATABASE_URL']!);
  process.kill(service.pid, 'SIGHUP');
  await until(() => childrenOf(service.pid).length === workers + 1);
  process.kill(other!, 'SIGKILL');
  await until(() => hasLogged(service, 'a worker has ended'));
  // Longer than the pause before it is started again.
  await Bun.sleep(500);
  await lock.release();
  await until(() => hasLogged(service, 'all workers are replaced'));
  await until(async () => (await workersIn(service)) === workers);
  expect(childrenOf(service.pid)).not.toContain(replaced);
  expect(await service.stop()).toBe(0);
});

test('a worker that is killed while the first one already serves is started again', async () => {
  const service = await startFirst();
  await until(() => childrenOf(service.pid).length > 1);
  const newest = Math.max(...childrenOf(service.pid));
  process.kill(newest, 'SIGKILL');
  await until(() => !childrenOf(service.pid).includes(newest));
  await until(async () => (await workersIn(service)) === workers);
  expect(isRunning(service.pid)).toBe(true);
  expect(await service.stop()).toBe(0);
});

// Waits for 10 s.
test.if(isLong)('a worker that hangs is killed and started again', async () => {
  const service = await startWorkers();
  const [hung] = childrenOf(service.pid);
  process.kill(hung!, 'SIGSTOP');
  await until(() => hasLogged(service, 'a worker has ended'));
  expect(service.logs().find((line) => line.includes('a worker has ended'))).toContain(
    '"ending":"SIGKILL, because it did not respond for 10 s"',
  );
  await until(async () => (await workersIn(service)) === workers);
  expect(isRunning(hung!)).toBe(false);
  expect(await service.stop()).toBe(0);
});

test('SIGTERM while SIGHUP replaces the workers is no error', async () => {
  const service = await startWorkers();
  const lock = await holdMigrationLock(service.env['DATABASE_URL']!);
  process.kill(service.pid, 'SIGHUP');
  await until(() => childrenOf(service.pid).length === workers + 1);
  expect(await service.stop()).toBe(0);
  expect(service.logs().filter((line) => line.includes('"level":50'))).toEqual([]);
  await lock.release();
});

test('SIGHUP before the workers have started does not end the program', async () => {
  const databaseUrl = await (await startPostgres()).createDatabase();
  const lock = await holdMigrationLock(databaseUrl);
  const settings = { DATABASE_URL: databaseUrl, LATCHKEY_KEYS: generateKey(), PORT: String(freePort()) };
  const parent = startOperator({ ...settings, LATCHKEY_WORKERS: '2' }, 'serve');
  await untilWaiting(databaseUrl, 1);
  process.kill(parent.pid, 'SIGHUP');
  await lock.release();
  await until(() => parent.lines().some((line) => line.includes('Latchkey is ready')));
  parent.kill('SIGTERM');
  expect(await parent.exited).toBe(0);
});

test('of two parents that start at the same time on one port, one ends with the reason', async () => {
  const databaseUrl = await (await startPostgres()).createDatabase();
  const lock = await holdMigrationLock(databaseUrl);
  const port = String(freePort());
  const settings = { DATABASE_URL: databaseUrl, LATCHKEY_KEYS: generateKey(), PORT: port };
  const first = startOperator({ ...settings, LATCHKEY_WORKERS: '2' }, 'serve');
  await untilWaiting(databaseUrl, 1);
  const second = await runOperator({ ...settings, LATCHKEY_WORKERS: '2' }, 'serve');
  expect(second).toMatchObject({
    code: 1,
    stderr: `latchkey-server: PORT ${port} is already in use. Set PORT to a free one, or end the program that uses it.\n`,
  });
  await lock.release();
  await until(() => first.lines().some((line) => line.includes('Latchkey is ready')));
  first.kill('SIGTERM');
  expect(await first.exited).toBe(0);
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

/** Holds the lock under which a program migrates the database; `release` also ends the connection. Whoever starts waits for it. */
async function holdMigrationLock(databaseUrl: string): Promise<{ release(): Promise<void> }> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  // As Kysely creates it, for an empty database.
  await sql.unsafe(`CREATE TABLE IF NOT EXISTS kysely_migration_lock (id text PRIMARY KEY, is_locked int NOT NULL DEFAULT 0);
    INSERT INTO kysely_migration_lock VALUES ('migration_lock') ON CONFLICT DO NOTHING`);
  await sql.unsafe('BEGIN; SELECT FROM kysely_migration_lock FOR UPDATE');
  return { release: () => sql.end({ timeout: 0 }) };
}

/** Waits until so many connections wait for the lock. */
async function untilWaiting(databaseUrl: string, count: number): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1 });
  await until(async () => {
    const rows = await sql`SELECT 1 FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    return rows.length === count;
  });
  await sql.end();
}

/** Starts a parent whose worker waits for the lock, which `release` gives to it. */
async function startWaitingWorker(): Promise<{ parent: RunningOperator; release(): Promise<void> }> {
  const databaseUrl = await (await startPostgres()).createDatabase();
  const parents = await holdMigrationLock(databaseUrl);
  const settings = { DATABASE_URL: databaseUrl, LATCHKEY_KEYS: generateKey(), PORT: String(freePort()) };
  const parent = startOperator({ ...settings, LATCHKEY_WORKERS: '2' }, 'serve');
  await untilWaiting(databaseUrl, 1);
  // The lock goes to the parent, then to this connection, and the worker waits for it.
  const workers = holdMigrationLock(databaseUrl);
  await untilWaiting(databaseUrl, 2);
  await parents.release();
  const lock = await workers;
  await untilWaiting(databaseUrl, 1);
  return { parent, release: lock.release };
}

test('when the parent is killed, a worker ends that still waits for the database', async () => {
  const { parent, release } = await startWaitingWorker();
  const pids = childrenOf(parent.pid);
  expect(pids).not.toEqual([]);
  parent.kill('SIGKILL');
  await until(() => !pids.some(isRunning));
  await release();
});

// Waits for 30 s.
test.if(isLong)(
  'a worker that does not get ready ends the start with the reason, and a replacement without harm',
  async () => {
    const reason = 'it was not ready within 30 s';

    const atStart = async () => {
      const { parent, release } = await startWaitingWorker();
      expect(await parent.exited).toBe(1);
      expect(parent.stderr()).toBe(`latchkey-server: A worker does not start: ${reason}.\n`);
      await release();
    };

    const atReplacement = async () => {
      const service = await startWorkers();
      const before = childrenOf(service.pid);
      const lock = await holdMigrationLock(service.env['DATABASE_URL']!);
      process.kill(service.pid, 'SIGHUP');
      await until(() => hasLogged(service, 'the workers stay as they are'));
      expect(service.logs().find((line) => line.includes('the workers stay'))).toContain(
        `"reason":"${reason}"`,
      );
      await until(() => childrenOf(service.pid).length === workers);
      expect(childrenOf(service.pid)).toEqual(before);
      expect(await askAnew(service)).toBe('HTTP/1.1 200 OK');
      await lock.release();
      expect(await service.stop()).toBe(0);
    };

    await Promise.all([atStart(), atReplacement()]);
  },
  90_000,
);

test('a single process under systemd takes SIGHUP as SIGTERM, because systemd starts it again', async () => {
  const program = ['sh', '-c', 'SYSTEMD_EXEC_PID=$$ exec "$0" "$@"', ...serverProgram];
  const service = await startService({ program });
  process.kill(service.pid, 'SIGHUP');
  await until(() => hasLogged(service, 'stopped'));
  expect(await service.stop()).toBe(0);
});

test('under systemd, SIGHUP does not end a program that has not read its settings yet', async () => {
  const file = join(temporaryDirectory(), 'env');
  expect(Bun.spawnSync(['mkfifo', file]).exitCode).toBe(0);
  const pipe = openSync(file, 'r+');
  const run = 'SYSTEMD_EXEC_PID=$$ exec "$0" "$@"';
  const child = Bun.spawn(['sh', '-c', run, ...serverProgram, '--env-file', file, 'health'], {
    stderr: 'ignore',
  });
  endAtExit(child.pid);
  await until(() => hasOpen(child.pid, file));
  process.kill(child.pid, 'SIGHUP');
  writeSync(pipe, `PORT=${freePort()}\n`);
  closeSync(pipe);
  expect(await child.exited).toBe(1);
  hasEnded(child.pid);
});

test('several workers on SQLite are refused with the reason', async () => {
  const env = { DATABASE_URL: `sqlite:${join(temporaryDirectory(), 'x.db')}`, LATCHKEY_WORKERS: '2' };
  const { code, stderr } = await runOperator(env, 'serve');
  expect(code).toBe(1);
  expect(stderr).toStartWith('latchkey-server: LATCHKEY_WORKERS must be 1 with SQLite, ');
});
