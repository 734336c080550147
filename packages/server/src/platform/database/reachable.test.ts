import { expect, test } from 'bun:test';
import { reachDeadlineMs, whenReachable } from './database.ts';
import { postgresServers } from './postgres-primary.ts';

/** Waits for a database that always refuses, while time passes at once. */
async function wait(reason: string, isWorthwhile: boolean) {
  let now = 0;
  const pauses: number[] = [];
  const sleep = async (ms: number) => {
    pauses.push(ms);
    now += ms;
  };
  const reasons: unknown[] = [];
  const waiting = whenReachable(
    { monotonic: () => now, sleep },
    () => Promise.reject(new Error(reason)),
    () => isWorthwhile,
    (error) => reasons.push(error),
  );
  await expect(waiting).rejects.toThrow(reason);
  return { pauses, reasons };
}

test('a database out of reach is tried for a minute, in growing pauses, and the reason is said once', async () => {
  const { pauses, reasons } = await wait('refused', true);
  expect(pauses.reduce((sum, ms) => sum + ms)).toBe(reachDeadlineMs);
  expect(pauses.slice(0, 4)).toEqual([250, 500, 1000, 2000]);
  expect(pauses.length).toBeLessThan(15);
  expect(reasons).toHaveLength(1);
});

test('what waiting does not change ends the start at once', async () => {
  expect((await wait('wrong password', false)).pauses).toEqual([]);
});

test.each([
  [
    'postgres://u:a%2Cb@one:5432,[::1]:5433,three/db?sslmode=require',
    ['one:5432', '[::1]:5433', 'three'].map((host) => `postgres://u:a%2Cb@${host}/db?sslmode=require`),
  ],
  ['postgresql://one,two', ['postgresql://one', 'postgresql://two']],
  ['postgres://u:p,q@one/db', ['postgres://u:p,q@one/db']],
  ['postgres://one/db?options=a,b', ['postgres://one/db?options=a,b']],
  ['postgres:///db?host=/run', ['postgres:///db?host=/run']],
])('%s names the servers %j', (url, servers) => {
  expect(postgresServers(url)).toEqual(servers);
});
