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
  ['nothing', [null, '', 'wait', 'wait=', 'wait=""']],
  ['no whole number of seconds above 0', ['wait=0', 'wait=-1', 'wait=+5', 'wait=1.5']],
  ['no whole number of seconds above 0', ['wait=5s', 'wait=0x5', 'wait=\u0665']],
  ['a value that is not closed, or goes on', ['wait="5', 'wait=5 6', `${'"\\'.repeat(600)}, wait=5`]],
  ['another preference', ['waiting=5', 'no-wait=5', 'respond-async; wait=5', 'wait=soon, wait=5']],
])('a preference that says %s does not wait', (_, preferences) => {
  expect(preferences.filter((prefer) => waitSecondsOf(prefer) !== undefined)).toEqual([]);
});
