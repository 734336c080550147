import { afterEach, expect, setSystemTime, test } from 'bun:test';
import { onBothDatabases, openApp } from '../../../../../tests/support/app.ts';
import { openClock } from './clock.ts';

const hourMs = 3_600_000;
/** More than any request to the database takes, and much less than a jump. */
const toleranceMs = 60_000;

afterEach(() => void setSystemTime());

onBothDatabases('clock', (open) => {
  test('gives milliseconds as integers', async () => {
    const app = await open();
    const clock = await openClock(app.ctx.db);
    expect(clock()).toBeInteger();
    expect(Math.abs(clock() - Date.now())).toBeLessThan(toleranceMs);
    await app.close();
  });
});

test.each([hourMs, -hourMs])(
  'on PostgreSQL the clock of a node that jumps by %d ms changes nothing',
  async (jumpMs) => {
    const app = await openApp('postgres');
    const right = Date.now();
    const clock = await openClock(app.ctx.db);
    setSystemTime(right + jumpMs);
    expect(Math.abs(clock() - right)).toBeLessThan(toleranceMs);
    const opened = await openClock(app.ctx.db);
    expect(Math.abs(opened() - right)).toBeLessThan(toleranceMs);
    await app.close();
  },
);

test('on SQLite the clock of the machine is the time', async () => {
  const app = await openApp('sqlite');
  const clock = await openClock(app.ctx.db);
  setSystemTime(Date.now() + hourMs);
  expect(clock()).toBe(Date.now());
  await app.close();
});

test('after the interval it follows the clock of the database', async () => {
  const app = await openApp('postgres');
  let now = 5 * hourMs;
  const run = async () => [{ now }];
  const db = { ...app.ctx.db, read: { dialect: 'postgres', run } } as unknown as typeof app.ctx.db;
  const real = performance.now;
  const clock = await openClock(db);
  expect(clock() - now).toBeLessThan(toleranceMs);
  now += hourMs;
  performance.now = () => real.call(performance) + 10_000;
  // The first call asks.
  clock();
  await Bun.sleep(0);
  expect(clock() - now).toBeLessThan(toleranceMs);
  expect(clock() - now).toBeGreaterThanOrEqual(0);
  performance.now = real;
  await app.close();
});

test('a slow answer of the database does not make the clock less exact', async () => {
  const app = await openApp('postgres');
  const real = performance.now;
  const databaseClock = () => hourMs + performance.now();
  let slowMs = 0;
  const run = async () => {
    await Bun.sleep(slowMs);
    return [{ now: databaseClock() }];
  };
  const db = { ...app.ctx.db, read: { dialect: 'postgres', run } } as unknown as typeof app.ctx.db;
  const clock = await openClock(db);
  slowMs = 200;
  performance.now = () => real.call(performance) + 10_000;
  // The first call asks.
  clock();
  await Bun.sleep(2 * slowMs);
  expect(Math.abs(clock() - databaseClock())).toBeLessThan(50);
  performance.now = real;
  await app.close();
});
