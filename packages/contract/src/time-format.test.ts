import { expect, test } from 'bun:test';
import { dateTimeFormat } from './formatters.ts';
import { offsetName, timeFormatOf, writeAgo, writeTime } from './time-format.ts';

const time = new Date('2026-01-02T15:04:59.999Z');
const styles = { dateStyle: 'medium', timeStyle: 'short' } as const;
const written = (locale: string | null, time_zone: string | null): string => {
  const format = timeFormatOf({ locale, time_zone });
  const { locale: known = 'en-GB', timeZone = 'UTC' } = format;
  return `${writeTime(time, { locale: known, timeZone }, styles)} ${offsetName(time, timeZone)}`;
};

test.each([
  ['en-GB', 'Europe/Zurich', '2 Jan 2026, 16:04 UTC+1'],
  ['de-CH', 'Asia/Kolkata', '02.01.2026, 20:34 UTC+5:30'],
  ['en-US', 'America/New_York', 'Jan 2, 2026, 10:04 AM UTC-5'],
  ['fa', 'Asia/Tehran', '۱۲ دی ۱۴۰۴، ۱۸:۳۴ UTC+3:30'],
  ['en-US-u-hc-h23', 'Etc/GMT-14', 'Jan 3, 2026, 05:04 UTC+14'],
  ['sv', 'Africa/Abidjan', '2 jan. 2026 15:04 UTC'],
  [null, 'Pacific/Chatham', '3 Jan 2026, 04:49 UTC+13:45'],
  ['sv', null, '2 jan. 2026 15:04 UTC'],
  // What this runtime does not know counts as not chosen.
  ...['', 'xx', 'de_CH', 'root', '../x', 'e'.repeat(64), 'de-DE-u-nu-latn-nonsense-x'].map(
    (locale) => [locale, 'Europe/Zurich', '2 Jan 2026, 16:04 UTC+1'] as const,
  ),
  ...['', 'Europe/Nowhere', 'Mars', '\u0000', '+99:00'].map(
    (zone) => ['sv', zone, '2 jan. 2026 15:04 UTC'] as const,
  ),
])('%p in %p is %p', (locale, zone, text) => {
  expect(written(locale, zone).replace(/\s/g, ' ')).toBe(text);
});

test('summer time counts', () => {
  expect(offsetName(new Date('2026-07-01T12:00:00Z'), 'Europe/London')).toBe('UTC+1');
  expect(offsetName(new Date('2026-12-01T12:00:00Z'), 'Europe/London')).toBe('UTC');
});

const words = {
  en: { language: 'en', justNow: 'just now', inAMoment: 'in a moment' },
  de: { language: 'de', justNow: 'gerade eben', inAMoment: 'gleich' },
} as const;

test.each<[number, string | undefined, keyof typeof words]>([
  [0, 'just now', 'en'],
  [-59, 'just now', 'en'],
  [-60, '1 minute ago', 'en'],
  [-3599, '59 minutes ago', 'en'],
  [-3 * 3600, '3 hours ago', 'en'],
  [-86_400, 'yesterday', 'en'],
  [-30 * 86_400, '30 days ago', 'en'],
  [-31 * 86_400, undefined, 'en'],
  [30, 'in a moment', 'en'],
  [86_400, 'tomorrow', 'en'],
  [20 * 86_400, 'in 20 days', 'en'],
  [400 * 86_400, undefined, 'en'],
  [0, 'gerade eben', 'de'],
  [-60, 'vor 1 Minute', 'de'],
  [1, 'gleich', 'de'],
])('%p seconds from now is %p, in the language of the sentence around it (%s)', (seconds, text, language) => {
  expect(writeAgo(new Date(time.getTime() + seconds * 1000), time, words[language])).toEqual(text);
});

test('of the formatters, which people choose, at most 100 are kept', () => {
  const zones = Intl.supportedValuesOf('timeZone');
  const zoned = (n: number) => dateTimeFormat('en', { timeZone: zones[n], era: 'narrow' });
  const first = zoned(0);
  expect(zoned(0)).toBe(first);
  for (let n = 1; n <= 100; n++) zoned(n);
  expect(zoned(0)).not.toBe(first);
});
