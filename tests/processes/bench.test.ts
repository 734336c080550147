// The benchmarks must not flatter: unexpected responses and a busy machine invalidate a measurement.

import { describe, expect, test } from 'bun:test';
import { requireExpected } from '../../bench/support/load.ts';
import { type Finding, verdictOf } from '../../bench/support/report.ts';
import { median } from '../../bench/support/rounds.ts';

describe('a load', () => {
  const load = { path: '/me', expected: { status: 200, bytes: 600 } };
  const good = { requests: 1000, seconds: 1, bytes: 600_100, refused: 0, failed: 0, p50Ms: 1, p99Ms: 2 };
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

test('the median of an even number of rounds is the mean of the two in the middle', () => {
  expect(median([4, 1, 3])).toBe(3);
  expect(median([4, 1, 3, 2])).toBe(2.5);
});
