import '#support/english-pages.ts';
import { afterEach, expect, test } from 'bun:test';
import { dateOnly, dateTime, setTimePreferences, timeAgo } from './format.ts';

const time = new Date('2026-01-02T15:04:59.999Z');
const written = (locale: string | null, time_zone: string | null) => {
  setTimePreferences({ locale, time_zone });
  return [dateTime(time), dateOnly(time)].map((text) => text.replaceAll(/\s/g, ' '));
};

afterEach(() => setTimePreferences({ locale: null, time_zone: null }));

// Tests run in UTC, whatever the time zone of the machine.
test('times are written as the profile says, with its time zone where the clock of this device shows another time', () => {
  expect(written('de-CH', 'Asia/Kolkata')).toEqual(['02.01.2026, 20:34 UTC+5:30', '02.01.2026 UTC+5:30']);
  expect(written('de-CH', 'Africa/Abidjan')).toEqual(['02.01.2026, 15:04', '02.01.2026']);
});

test('a stored language or time zone that the browser does not know counts as none, each by itself', () => {
  const [unset] = written(null, null);
  expect(written('de_CH nonsense', 'Atlantis/Port')[0]).toBe(unset!);
  expect(written('de-CH', 'Atlantis/Port')[0]).toBe('02.01.2026, 15:04');
  expect(written('tlh', 'Asia/Kolkata')[0]).toBe(written(null, 'Asia/Kolkata')[0]!);
});

test('what was a while ago is said so, and further away than a month by its date', () => {
  const after = (hours: number) => timeAgo(time, new Date(time.getTime() + hours * 3_600_000));
  expect([after(3), after(24 * 40)]).toEqual(['3 hours ago', 'Jan 2, 2026']);
});
