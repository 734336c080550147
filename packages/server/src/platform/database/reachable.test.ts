import { expect, test } from 'bun:test';
import { reachDeadlineMs, whenReachable } from './database.ts';

/** Counts the pauses of a wait whose time passes at once. */
function countingTimers() {
  let now = 0;
  const pauses: number[] = [];
  const timers = {
    monotonic: () => now,
    sleep: async (ms: number) => {
      pauses.push(ms);
      now += ms;
    },
  };
  return { pauses, timers };
}

test('a database out of reach is tried for a minute, in growing pauses, and the reason is said once', async () => {
  const { pauses, timers } = countingTimers();
  const reasons: unknown[] = [];
  const refuse = () => Promise.reject(new Error('refused'));
  const waiting = whenReachable(
    timers,
    refuse,
    () => true,
    (error) => reasons.push(error),
  );
  await expect(waiting).rejects.toThrow('refused');
  expect(pauses.reduce((sum, ms) => sum + ms)).toBe(reachDeadlineMs);
  expect(pauses.slice(0, 4)).toEqual([250, 500, 1000, 2000]);
  expect(pauses.length).toBeLessThan(15);
  expect(reasons).toHaveLength(1);
});

test('what waiting does not change ends the start at once', async () => {
  const { pauses, timers } = countingTimers();
  const refuse = () => Promise.reject(new Error('wrong password'));
  const waiting = whenReachable(
    timers,
    refuse,
    () => false,
    () => undefined,
  );
  await expect(waiting).rejects.toThrow('wrong password');
  expect(pauses).toEqual([]);
});
