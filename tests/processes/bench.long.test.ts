// The benchmarks must not flatter: unexpected responses and a busy machine invalidate a measurement.

import { describe, expect, test } from 'bun:test';
import { fillInBulk } from '../../bench/support/bulk.ts';
import { type Requests, requireExpected, withTokens } from '../../bench/support/load.ts';
import { type Finding, verdictOf } from '../../bench/support/report.ts';
import type { Sample } from '../../bench/support/rounds.ts';
import { emailAt, fillStore, unspentTokensOf, userHandleAt, userIdAt } from '../../bench/support/store.ts';
import { kinds } from '../../bench/table/kinds.ts';
import { type Row, reachesTargets } from '../../bench/table/markdown.ts';
import { generateKey, parseKeyRing } from '../../packages/server/src/platform/crypto/primitives.ts';
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
  test('targets are reached only if each ratio is, on a machine that is not too busy', () => {
    const withBetterAuth = (rate: number, othersShare = 0): Row => {
      const { samples, ...rest } = row(othersShare);
      return { ...rest, samples: new Map([...samples, ['better-auth', [sample(rate, 1000)]]]) };
    };
    expect(reachesTargets(withBetterAuth(225))).toBe(true);
    expect(reachesTargets(withBetterAuth(226))).toBe(false);
    expect(reachesTargets(withBetterAuth(225, 0.5))).toBe(false);
  });
});

describe('growth', () => {
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
