import { expect, test } from 'bun:test';
import { overlapSeconds, publishedKeys, signingCandidates } from './signing-keys.ts';

const overlap = overlapSeconds * 1000;
const key = (sequence: number, signs_from: number) => ({ sequence, signs_from });
const sequences = (keys: { sequence: number }[]) => keys.map(({ sequence }) => sequence);

// When a key is published and signs: trust/introspection/signed.test.ts and trust/feed/sets.test.ts.
test('a replaced key is never published again, in whatever order later keys start to sign', () => {
  const keys = [key(3, 5000 + overlap), key(2, 1000), key(1, 0)];
  expect(sequences(publishedKeys(keys, 1000 + overlap))).toEqual([3, 2]);
  expect(sequences(signingCandidates(keys, 1000 + overlap))).toEqual([2]);
  const outOfOrder = [key(3, 10), key(2, 1000), key(1, 0)];
  expect(sequences(signingCandidates(outOfOrder, 10))).toEqual([3, 1]);
  expect(sequences(publishedKeys(outOfOrder, 10 + overlap))).toEqual([3]);
});
