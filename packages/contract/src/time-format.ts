import type { Profile } from './account.ts';
import { dateTimeFormat, numberFormat } from './formatters.ts';

/** How the dates and times that a person sees are written. */
export interface TimeFormat {
  /** A BCP 47 language tag. */
  readonly locale: string | undefined;
  /** An IANA name. */
  readonly timeZone: string | undefined;
}

/** The two members of a profile that decide it. */
export type TimePreferences = Pick<Profile, 'locale' | 'time_zone'>;

/** The format that a profile sets. Undefined is what is not set, or not known to this runtime. */
export const timeFormatOf = ({ locale, time_zone }: TimePreferences): TimeFormat => ({
  locale: firstKnown(locale, (tag) => Intl.DateTimeFormat.supportedLocalesOf(tag)[0]),
  timeZone: firstKnown(time_zone, (timeZone) => {
    dateTimeFormat('en', { timeZone });
    return timeZone;
  }),
});

/** `Intl` throws a RangeError for what it cannot read. */
function firstKnown(value: string | null, find: (value: string) => string | undefined): string | undefined {
  try {
    return value === null || value === '' ? undefined : find(value);
  } catch {
    return undefined;
  }
}

/** A moment in this format, without the name of the time zone. */
export const writeTime = (
  time: Date,
  { locale, timeZone }: TimeFormat,
  styles: Pick<Intl.DateTimeFormatOptions, 'dateStyle' | 'timeStyle'>,
): string => dateTimeFormat(locale, timeZone === undefined ? styles : { ...styles, timeZone }).format(time);

/** The UTC offset of a time zone at a time: `UTC`, `UTC+1`, `UTC-3:30`. Undefined means the device's zone. */
export function offsetName(time: Date, timeZone: string | undefined): string {
  const zone = timeZone === undefined ? {} : { timeZone };
  const format = dateTimeFormat('en', { ...zone, timeZoneName: 'shortOffset' });
  const offset = format.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  return offset.replace(/^GMT(?:[+-]0)?(?=$|[+-])/, 'UTC');
}

/** `Intl` puts a space between number and unit in Japanese, which is unusual and would allow a line break. */
const unspaced = (language: string, text: string): string =>
  language === 'ja' ? text.replace(/\s/g, '') : text;

/** A number of units of time: `9 minutes`, or `9 min` in short. */
export const writeUnits = (
  language: string,
  number: number,
  unit: 'second' | 'minute' | 'hour' | 'day' | 'year',
  unitDisplay: 'long' | 'short' = 'long',
): string =>
  unspaced(
    language,
    numberFormat(language, { style: 'unit', unit, unitDisplay, useGrouping: false }).format(number),
  );

const agoUnits = [
  { unit: 'day', seconds: 86_400 },
  { unit: 'hour', seconds: 3600 },
  { unit: 'minute', seconds: 60 },
] as const;
const maxAgoDays = 30;

/** The language of the sentence around it, and what it says of less than a minute. */
interface AgoWords {
  readonly language: string;
  readonly justNow: string;
  readonly inAMoment: string;
}

/** How long before or after `now`: `3 hours ago`, `in 20 days`. Undefined beyond 30: a date says more. */
export function writeAgo(time: Date, now: Date, words: AgoWords): string | undefined {
  const seconds = (time.getTime() - now.getTime()) / 1000;
  const found = agoUnits.find((one) => Math.abs(seconds) >= one.seconds);
  if (found === undefined) return seconds <= 0 ? words.justNow : words.inAMoment;
  // Times in the future are rounded: a key of 30 days, just made, ends in 30 days.
  const number = seconds < 0 ? Math.trunc(seconds / found.seconds) : Math.round(seconds / found.seconds);
  if (found.unit === 'day' && Math.abs(number) > maxAgoDays) return undefined;
  const ago = new Intl.RelativeTimeFormat(words.language, { numeric: 'auto' }).format(number, found.unit);
  return unspaced(words.language, ago);
}
