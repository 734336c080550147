// The parts that a soak relies on: what counts as unexpected, the limit of the rate, and the clock that jumps.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { spawnSync } from 'bun';
import { Load } from './load.ts';

/** Answers every request with this status, and runs `work` with a load on it. */
async function withServer(status: number, work: (load: Load) => Promise<void>): Promise<void> {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('{}', { status }) });
  try {
    await work(new Load(`http://127.0.0.1:${server.port}`));
  } finally {
    await server.stop(true);
  }
}

test('an answer with another status is unexpected, and is no answer of its kind', async () => {
  await withServer(500, async (load) => {
    await load.send('a page', 200, '/');
    await load.call('getProfile').catch(() => {});
    await load.refused('getProfile', 401).catch(() => {});
    await load.send('broken', 500, '/');
    expect(load.kinds).toEqual({ broken: 1 });
    expect(load.unexpectedCount).toBe(3);
    expect(load.unexpected).toEqual(['a page: 500 {}', 'getProfile: 500 {}', 'getProfile: 401: 500 {}']);
    expect(load.takeWindow().statuses).toEqual({ 500: 4 });
    expect(load.takeWindow().statuses).toEqual({});
  });
});

test('a request without an answer is unexpected', async () => {
  const load = new Load('http://127.0.0.1:1');
  await load.send('a page', 200, '/').catch(() => {});
  expect(load.unexpectedCount).toBe(1);
  expect(load.takeWindow()).toMatchObject({ latenciesMs: [], statuses: { 0: 1 } });
});

test('requests are not sent faster than the limit', async () => {
  await withServer(200, async (load) => {
    load.limit(100);
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: 20 }, () => load.send('a page', 200, '/')));
    // A timer may be early by a millisecond.
    expect(performance.now() - startedAt).toBeGreaterThan(190);
  });
});

test('the clock of the service jumps', () => {
  const fastClock = join(import.meta.dir, 'fast-clock.ts');
  const { stdout } = spawnSync([process.execPath, '--preload', fastClock, '-e', 'console.log(Date.now())'], {
    env: { SOAK_JUMP_SECONDS: '600', SOAK_STARTED_AT: String(Date.now() - 900_000) },
  });
  const aheadMs = Number(stdout.toString()) - Date.now();
  expect(Math.round(aheadMs / 3_600_000)).toBe(20);
});
