// The benchmarks must not flatter: unexpected responses and a busy machine invalidate a measurement.

import { describe, expect, test } from 'bun:test';
import { FloorVerifier } from '../../bench/floors/verifier.ts';
import { fillInBulk } from '../../bench/support/bulk.ts';
import { growthLines } from '../../bench/support/growth.ts';
import { type Requests, requireExpected, withTokens } from '../../bench/support/load.ts';
import { type Finding, verdictOf } from '../../bench/support/report.ts';
import { median, type Sample } from '../../bench/support/rounds.ts';
import { emailAt, fillStore, unspentTokensOf, userHandleAt, userIdAt } from '../../bench/support/store.ts';
import { kinds } from '../../bench/table/kinds.ts';
import { markdownOf, type Row, reachesTargets } from '../../bench/table/markdown.ts';
import { withMeasured } from '../../bench/table/table.ts';
import { generateKey, parseKeyRing } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import type { Database } from '../../packages/server/src/platform/database/executor.ts';
import { newDatabase } from '../support/new-database.ts';

describe('a load', () => {
  const load = { requests: withTokens('/me', ['a', 'b']), expected: { status: 200, bytes: 600 } };
  const good = {
    requests: 1000,
    seconds: 1,
    bytes: 600_100,
    refused: 0,
    failed: 0,
    p50Ms: 1,
    p99Ms: 2,
    p999Ms: 3,
  };
  const measured = (seen: Partial<typeof good>, status = 200) => {
    const expected = { ...load.expected, status };
    return () => requireExpected({ ...load, expected }, { ...good, ...seen });
  };

  test('a load counts if every response was the expected one', () => {
    expect(measured({})).not.toThrow();
    expect(measured({ refused: 1000 }, 401)).not.toThrow();
  });

  test('a load without any response is accepted, because the round is repeated', () => {
    expect(measured({ requests: 0, bytes: 0 })).not.toThrow();
  });

  test('a load with a failed request or an unexpected status is not a measurement', () => {
    expect(measured({ refused: 1 })).toThrow('did not respond with 200');
    expect(measured({ failed: 1 })).toThrow();
    expect(measured({ refused: 999 }, 401)).toThrow('did not respond with 401');
  });

  test('a load with responses of another size is not a measurement', () => {
    expect(measured({ bytes: 610_000 })).toThrow();
    expect(measured({ bytes: 590_000 })).toThrow();
  });

  test('a load that did not get an answer to each request that is sent once is not a measurement', () => {
    const requests = { ...load.requests, mode: 'once' } as Requests;
    const answered = (count: number) => () =>
      requireExpected({ ...load, requests }, { ...good, requests: count, bytes: count * 600 });
    expect(answered(2)).not.toThrow();
    expect(answered(1)).toThrow('did not respond');
  });
});

test('the floor of the verifier refuses what is no token and does not use an answer that has expired', async () => {
  const floor = new FloorVerifier();
  const answer = (exp: number) => ({ active: true, sub: 'usr_a', exp }) as const;
  floor.keep('lk_at_good', answer(Date.now() / 1000 + 60));
  floor.keep('lk_at_over', answer(Date.now() / 1000 - 1));
  expect(await floor.verify('lk_at_good')).toMatchObject({ active: true });
  expect(await floor.verify('no token')).toEqual({ active: false });
  await expect(floor.verify('lk_at_over')).rejects.toThrow('no answer');
});

describe('a promise', () => {
  const finding = (value: number, promise: Finding['promise'], othersShare?: number): Finding => ({
    ...{ what: 'something', details: [], value, promise },
    ...(othersShare === undefined ? {} : { othersShare }),
  });

  test('a promise is kept at its bound and missed beyond it', () => {
    expect(verdictOf(finding(0.5, { atLeast: 0.5 }))).toBe('kept');
    expect(verdictOf(finding(0.49, { atLeast: 0.5 }))).toBe('MISSED');
    expect(verdictOf(finding(300, { atMost: 300 }))).toBe('kept');
    expect(verdictOf(finding(301, { atMost: 300 }))).toBe('MISSED');
  });

  test('a promise is unsettled on a busy machine, and missed if the value is not a number', () => {
    expect(verdictOf(finding(9, { atLeast: 0.5 }, 0.4))).toBe('UNSETTLED');
    expect(verdictOf(finding(9, { atLeast: 0.5 }, 0.05))).toBe('kept');
    expect(verdictOf(finding(Number.NaN, { atLeast: 0.5 }))).toBe('MISSED');
  });
});

describe('the table', () => {
  const sample = (rate: number, micros: number): Sample => ({
    ...{ count: rate, seconds: 1, cpuSeconds: (rate * micros) / 1e6, p50Ms: 1, p99Ms: 2, p999Ms: 3 },
  });
  const row = (othersShare: number): Row => ({
    kind: kinds.find(({ name }) => name === 'POST /device')!,
    dialect: 'sqlite',
    samples: new Map([
      ['service', [sample(900, 100), sample(900, 100)]],
      ['floor', [sample(1000, 90), sample(1000, 90)]],
      ['better-auth', [sample(100, 1000), sample(100, 1000)]],
    ]),
    othersShare,
  });
  const text = (othersShare: number) =>
    markdownOf([row(othersShare)], { sessions: 1, rounds: 2 }).split('\n');

  test('ratios compare the rates, beside what is promised', () => {
    expect(text(0)).toContain('| `POST /device` | 900 | 2.00 | 100.0 | 0.90 | 0.8 | 9.00 | 4 |  |');
  });

  test('targets are reached only if each ratio is, on a machine that is not too busy', () => {
    const withBetterAuth = (rate: number, othersShare = 0): Row => {
      const { samples, ...rest } = row(othersShare);
      return { ...rest, samples: new Map([...samples, ['better-auth', [sample(rate, 1000)]]]) };
    };
    expect(reachesTargets(withBetterAuth(225))).toBe(true);
    expect(reachesTargets(withBetterAuth(226))).toBe(false);
    expect(reachesTargets(withBetterAuth(225, 0.5))).toBe(false);
  });

  test('a busy machine is named', () => {
    expect(text(0).join()).not.toContain('prove nothing');
    expect(text(0.5).join()).toContain('Other programs took up to 50% of both cores');
    expect(text(0.5).join()).toContain('rates prove nothing');
  });
});

describe('growth', () => {
  const sample = (micros: number): Sample => ({
    ...{ count: 1000, seconds: 1, cpuSeconds: micros / 1000, databaseCpuSeconds: micros / 1000 },
    ...{ p50Ms: 1, p99Ms: 2, p999Ms: 3 },
  });

  test('the CPU time of service and database is compared with that at the first size', () => {
    const cases = [
      { request: 'GET /me', size: 10 },
      { request: 'POST /x, all', size: 10 },
      { request: 'GET /me', size: 1000 },
    ];
    const samples = new Map([
      ['| GET /me | 10 |', [sample(50)]],
      ['| POST /x, all | 10 |', [sample(80)]],
      ['| GET /me | 1,000 |', [sample(60), sample(75), sample(90)]],
    ]);
    expect(growthLines(cases, samples, 'rows').slice(2)).toEqual([
      '| `GET /me` | 10 | 1,000 | 50.0 + 50.0 | 1.00 | 2.00 | 3.00 | 1.00 |',
      '| `GET /me` | 1,000 | 1,000 | 75.0 + 75.0 | 1.00 | 2.00 | 3.00 | 1.50 |',
      '| `POST /x`, all | 10 | 1,000 | 80.0 + 80.0 | 1.00 | 2.00 | 3.00 | 1.00 |',
    ]);
  });

  const schemaOf = async ({ dialect, read }: Database): Promise<unknown[]> =>
    dialect === 'sqlite'
      ? read.run('SELECT name, sql FROM sqlite_schema ORDER BY name', [])
      : read.run(
          `SELECT indexdef AS definition FROM pg_indexes WHERE schemaname = 'public' UNION ALL
            SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
            WHERE connamespace = 'public'::regnamespace ORDER BY definition`,
          [],
        );

  test.each(['sqlite', 'postgres'] as const)(
    'a database filled in bulk has the accounts, sessions, indexes and constraints of any other (%s)',
    async (dialect) => {
      const [bulk, other] = [await newDatabase(dialect), await newDatabase(dialect)];
      await fillInBulk(bulk, 3);
      await fillStore(other, 1);
      const open = (url: string) => openDatabase(url, { log: { warn: () => undefined } });
      const [db, otherDb] = [await open(bulk), await open(other)];
      const users = 'SELECT id, email, email_key, webauthn_user_handle FROM users ORDER BY email';
      expect(await db.read.run<object>(users, [])).toEqual(
        [0, 1, 2].map((index) => ({
          ...{ id: userIdAt(index), email: emailAt(index), email_key: emailAt(index) },
          webauthn_user_handle: userHandleAt(index),
        })),
      );
      expect(await unspentTokensOf(db.read, parseKeyRing(generateKey()), [0, 1, 2])).toHaveLength(3);
      expect(await schemaOf(db)).toEqual(await schemaOf(otherDb));
      await Promise.all([db.close(), otherDb.close()]);
    },
  );
});

test('what was measured replaces what the page had, and nothing else', () => {
  const page = 'one\n<!-- measured -->\n\nold\n\n<!-- /measured -->\ntwo\n';
  const renewed = 'one\n<!-- measured -->\n\nnew\n<!-- /measured -->\ntwo\n';
  expect(withMeasured(page, 'new')).toBe(renewed);
  expect(() => withMeasured('one\n', 'new')).toThrow('no place');
});

test('the median of an even number of rounds is the mean of the two in the middle', () => {
  expect(median([4, 1, 3])).toBe(3);
  expect(median([4, 1, 3, 2])).toBe(2.5);
});
