// The benchmarks must not flatter: unexpected responses and a busy machine invalidate a measurement.

import { expect, test } from 'bun:test';
import { type Requests, requireExpected, withTokens } from '../../bench/support/load.ts';
import { type Finding, verdictOf } from '../../bench/support/report.ts';

const load = { requests: withTokens('/me', ['a', 'b']), expected: { status: 200, bytes: 600 } };
const once = { ...load, requests: { ...load.requests, mode: 'once' } as Requests };
const refused = { ...load, expected: { status: 401, bytes: 600 } };
const good = {
  ...{ requests: 1000, seconds: 1, bytes: 600_100, refused: 0, failed: 0 },
  ...{ p50Ms: 1, p99Ms: 2, p999Ms: 3 },
};

test.each([
  ['every response was the expected one', load, {}, ''],
  ['every response was the expected refusal', refused, { refused: 1000 }, ''],
  ['one response was refused', load, { refused: 1 }, 'did not respond with 200'],
  ['one request failed', load, { failed: 1 }, 'did not respond with 200'],
  ['one response was no refusal', refused, { refused: 999 }, 'did not respond with 401'],
  ['responses were larger', load, { bytes: 610_000 }, 'bytes'],
  ['responses were smaller', load, { bytes: 590_000 }, 'bytes'],
  ['each request that is sent once got its answer', once, { requests: 2, bytes: 1_200 }, ''],
  ['one that is sent once got none', once, { requests: 1, bytes: 600 }, 'did not respond'],
])('a load is a measurement only if no other response came: %s', (_, sent, seen, refusal) => {
  const measured = () => requireExpected(sent, { ...good, ...seen });
  if (refusal === '') expect(measured).not.toThrow();
  else expect(measured).toThrow(refusal);
});

test.each<[number, Finding['promise'], number, string]>([
  [0.5, { atLeast: 0.5 }, 0, 'kept'],
  [0.49, { atLeast: 0.5 }, 0, 'MISSED'],
  [300, { atMost: 300 }, 0, 'kept'],
  [301, { atMost: 300 }, 0, 'MISSED'],
  [9, { atLeast: 0.5 }, 0.4, 'UNSETTLED'],
  [9, { atLeast: 0.5 }, 0.05, 'kept'],
  [Number.NaN, { atLeast: 0.5 }, 0, 'MISSED'],
])(
  'a value of %d is, for the promise %j and others at work for %d: %s',
  (value, promise, othersShare, verdict) => {
    expect(verdictOf({ what: 'something', details: [], value, promise, othersShare })).toBe(verdict as never);
  },
);
