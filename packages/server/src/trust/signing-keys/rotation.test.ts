import { expect, test } from 'bun:test';
import { overlapSeconds, publishedKeys, signingCandidates } from './signing-keys.ts';

const overlap = overlapSeconds * 1000;
const key = (sequence: number, signs_from: number) => ({ sequence, signs_from });
const sequences = (keys: { sequence: number }[]) => keys.map(({ sequence }) => sequence);

test.each([
  ['before it signs', 0, [2, 1], [1]],
  ['until it signs', 999, [2, 1], [1]],
  ['when it signs', 1000, [2, 1], [2, 1]],
  ['a week later', 999 + overlap, [2, 1], [2, 1]],
  ['alone, after that', 1000 + overlap, [2], [2]],
])('a new key is published %s', (_, now, published, signing) => {
  const keys = [key(2, 1000), key(1, 0)];
  expect(sequences(publishedKeys(keys, now))).toEqual(published);
  expect(sequences(signingCandidates(keys, now))).toEqual(signing);
});

test('a replaced key is never published again, in whatever order later keys start to sign', () => {
  const keys = [key(3, 5000 + overlap), key(2, 1000), key(1, 0)];
  expect(sequences(publishedKeys(keys, 1000 + overlap))).toEqual([3, 2]);
  expect(sequences(signingCandidates(keys, 1000 + overlap))).toEqual([2]);
  const outOfOrder = [key(3, 10), key(2, 1000), key(1, 0)];
  expect(sequences(signingCandidates(outOfOrder, 10))).toEqual([3, 1]);
  expect(sequences(publishedKeys(outOfOrder, 10 + overlap))).toEqual([3]);
});
