import { expect, test } from 'bun:test';
import { codeOf } from '#support/client.ts';
import { systemClock, unlessAborted } from './clock.ts';

test('a sleep ends at once when aborted, and otherwise on time, also where that is further away than a timer can be', async () => {
  const controller = new AbortController();
  const asleep = codeOf(systemClock.sleep(60_000, controller.signal));
  controller.abort();
  expect(await asleep).toBe('aborted');
  expect(await codeOf(systemClock.sleep(60_000, AbortSignal.abort()))).toBe('aborted');
  let isOver = false;
  const short = systemClock.sleep(20, new AbortController().signal).then(() => {
    isOver = true;
  });
  expect(isOver).toBe(false);
  await short;
  expect(await codeOf(systemClock.sleep(2 ** 40, AbortSignal.timeout(30)))).toBe('aborted');
});

test('an aborted waiter leaves the work running, and its later failure is not reported as unhandled', async () => {
  const controller = new AbortController();
  const { promise: work, reject } = Promise.withResolvers<string>();
  const left = codeOf(unlessAborted(work, controller.signal));
  const stayed = work.catch((error: Error) => error.message);
  controller.abort();
  expect(await left).toBe('aborted');
  const failed = Promise.reject(new Error('ignored'));
  expect(await codeOf(unlessAborted(failed, controller.signal))).toBe('aborted');
  reject(new Error('late'));
  expect(await stayed).toBe('late');
});
