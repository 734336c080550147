import { expect, test } from 'bun:test';
import { reachDeadlineMs, whenReachable } from './database.ts';

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
