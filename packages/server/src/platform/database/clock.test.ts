import { expect, test } from 'bun:test';
import { openApp } from '#support/app.ts';
import { VirtualTime } from '#support/virtual-time.ts';
import { openClock } from './clock.ts';

const hourMs = 3_600_000;
/** More than the time between two comparisons. */
const intervalMs = 10_000;

/** The clock of a node whose own monotonic clock begins elsewhere, on a database whose answers take `answerMs`. */
async function openNode(start: number, answerMs = () => 0) {
  const time = new VirtualTime(0);
  const database = { ahead: start };
  let asked = 0;
  const run = async <Row>() => {
    asked += 1;
    time.advance(answerMs());
    return [{ now: time.clock() + database.ahead }] as Row[];
  };
  const clock = await openClock({ dialect: 'postgres', read: { dialect: 'postgres', run } }, time.timers);
  return { clock, time, database, asked: () => asked };
}

test('on PostgreSQL the time is that of the database, in whole milliseconds', async () => {
  const app = await openApp('postgres');
  const clock = await openClock(app.ctx.db, app.ctx.timers);
  expect(clock()).toBe(app.ctx.clock());
  app.pass(1.5);
  expect(clock()).toBe(app.ctx.clock());
});

test('between two comparisons it runs without the database, and then follows it', async () => {
  const { clock, time, database, asked } = await openNode(5 * hourMs);
  const before = asked();
  database.ahead += hourMs;
  time.advance(1_000);
  expect(clock()).toBe(5 * hourMs + 1_000);
  expect(asked()).toBe(before);
  time.advance(intervalMs);
  // This call asks.
  clock();
  await Promise.resolve();
  expect(asked()).toBe(before + 1);
  expect(clock()).toBe(6 * hourMs + 1_000 + intervalMs);
});

test.each([
  ['does not make the clock less exact', 0, 0],
  ['that contradicts the clock counts', hourMs, 100],
])('a slow answer of the database %s', async (_, aheadMs, inexactMs) => {
  let answerMs = 0;
  // The clock of the database is read at the end of a slow answer, so half of its time is an error.
  const { clock, time, database } = await openNode(hourMs, () => answerMs);
  answerMs = 200;
  database.ahead += aheadMs;
  time.advance(intervalMs);
  clock();
  await Promise.resolve();
  expect(Math.abs(clock() - time.clock() - hourMs - aheadMs)).toBeLessThanOrEqual(inexactMs);
});
