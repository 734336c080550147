import { expect, test } from 'bun:test';
import { dateTimeFormat } from './formatters.ts';

test('of the formatters, which people choose, at most 100 are kept', () => {
  const zones = Intl.supportedValuesOf('timeZone');
  const zoned = (n: number) => dateTimeFormat('en', { timeZone: zones[n], era: 'narrow' });
  const first = zoned(0);
  expect(zoned(0)).toBe(first);
  for (let n = 1; n <= 100; n++) zoned(n);
  expect(zoned(0)).not.toBe(first);
});
