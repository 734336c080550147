import { expect, test } from 'bun:test';
import { waitSecondsOf } from '../http/call.ts';

test.each([
  ['wait=1', 1],
  ['wait=25', 25],
  ['wait=26', 25],
  ['wait=99999999999999999999999', 25],
  ['wait=010', 10],
  ['WAIT=5', 5],
  ['wait = 5', 5],
  ['wait="5"', 5],
  ['wait=5; foo="a, b"', 5],
  ['respond-async, wait=5', 5],
  ['foo="a, wait=9", wait=5', 5],
  ['foo="a\\", wait=9", wait=5', 5],
  ['foo=bar; wait=9, wait=5', 5],
  ['@@, wait=5', 5],
  [', ,wait=5,', 5],
  ['wait=5, wait=9', 5],
])('the preference %p waits for %d seconds', (prefer, seconds) => {
  expect(waitSecondsOf(prefer)).toBe(seconds);
});

test.each([
  null,
  '',
  'wait',
  'wait=',
  'wait=""',
  'wait=0',
  'wait=-1',
  'wait=+5',
  'wait=1.5',
  'wait=5s',
  'wait=0x5',
  'wait=5 6',
  'wait="5',
  'wait=٥',
  'waiting=5',
  'no-wait=5',
  'respond-async; wait=5',
  'wait=soon, wait=5',
  `${'"\\'.repeat(600)}, wait=5`,
])('the preference %p does not wait', (prefer) => {
  expect(waitSecondsOf(prefer)).toBeUndefined();
});
