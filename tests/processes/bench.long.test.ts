// The benchmarks must not flatter: unexpected responses and a busy machine invalidate a measurement.

import { expect, test } from 'bun:test';
import { type Requests, requireExpected, withTokens } from '../../bench/support/load.ts';

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
