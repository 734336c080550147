// The bench must not flatter: what it measured was answered, and what was disturbed is no proof.

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

  test('counts when every answer was the expected one', () => {
    expect(measured({})).not.toThrow();
    expect(measured({ refused: 1000 }, 401)).not.toThrow();
  });

  test('counts also when it was not let do anything: the round is done again', () => {
    expect(measured({ requests: 0, bytes: 0 })).not.toThrow();
  });

  test('with one error, or one answer too few refused, is no measurement', () => {
    expect(measured({ refused: 1 })).toThrow('not answered with 200');
    expect(measured({ failed: 1 })).toThrow();
    expect(measured({ refused: 999 }, 401)).toThrow('not answered with 401');
  });

  test('with answers of another size is no measurement', () => {
    expect(measured({ bytes: 610_000 })).toThrow();
    expect(measured({ bytes: 590_000 })).toThrow();
  });
});

describe('a promise', () => {
  const finding = (value: number, promise: Finding['promise'], othersShare?: number): Finding => ({
    ...{ what: 'something', details: [], value, promise },
    ...(othersShare === undefined ? {} : { othersShare }),
  });

  test('is kept at its bound and missed beyond it', () => {
    expect(verdictOf(finding(0.5, { atLeast: 0.5 }))).toBe('kept');
    expect(verdictOf(finding(0.49, { atLeast: 0.5 }))).toBe('MISSED');
    expect(verdictOf(finding(300, { atMost: 300 }))).toBe('kept');
    expect(verdictOf(finding(301, { atMost: 300 }))).toBe('MISSED');
  });

  test('is neither kept nor missed by what others disturbed; a value that is no number is missed', () => {
    expect(verdictOf(finding(9, { atLeast: 0.5 }, 0.4))).toBe('UNSETTLED');
    expect(verdictOf(finding(9, { atLeast: 0.5 }, 0.05))).toBe('kept');
    expect(verdictOf(finding(Number.NaN, { atLeast: 0.5 }))).toBe('MISSED');
  });
});

test('the median of an even number of rounds lies between the two in the middle', () => {
  expect(median([4, 1, 3])).toBe(3);
  expect(median([4, 1, 3, 2])).toBe(2.5);
});
