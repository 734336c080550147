import { expect, test } from 'bun:test';
import { dateTimeFormat, numberFormat } from './formatters.ts';

const zones = Intl.supportedValuesOf('timeZone');

test('the same formatter is used again for the same language and options, and another one for others', () => {
  const first = dateTimeFormat('de', { timeZone: 'UTC' });
  expect(dateTimeFormat('de', { timeZone: 'UTC' })).toBe(first);
  expect(dateTimeFormat('fr', { timeZone: 'UTC' })).not.toBe(first);
  expect(dateTimeFormat('de', { timeZone: 'Asia/Tokyo' }).resolvedOptions().timeZone).toBe('Asia/Tokyo');
  expect(numberFormat('de', {}).format(1234.5)).toBe('1.234,5');
});

test('at most 100 are kept', () => {
  const zoned = (n: number) => dateTimeFormat('en', { timeZone: zones[n], era: 'narrow' });
  const first = zoned(0);
  expect(zoned(0)).toBe(first);
  for (let n = 1; n <= 100; n++) zoned(n);
  expect(zoned(0)).not.toBe(first);
});
