import { browserName } from '@latchkey/contract/browser-name';
import { languageOf } from '@latchkey/contract/languages';
import {
  offsetName,
  type TimeFormat,
  type TimePreferences,
  timeFormatOf,
  writeAgo,
  writeTime,
  writeUnits,
} from '@latchkey/contract/time-format';
import { signal } from '@preact/signals';
import { language, texts } from './texts.ts';

/** A number of units of time, such as `9 minutes`. */
export const inUnits = (number: number, unit: Parameters<typeof writeUnits>[2]): string =>
  writeUnits(language, number, unit);

/** The names of a list and the words between them, as a sentence has them. */
export const partsOfList = (names: readonly string[]) => new Intl.ListFormat(language).formatToParts(names);

/** Names of which one is enough. */
export const choiceOf = (names: readonly string[]): string =>
  new Intl.ListFormat(language, { type: 'disjunction' }).format(names);

export const listOf = (names: readonly string[]): string => new Intl.ListFormat(language).format(names);

/** Whole minutes, rounded up; hours from two hours on. */
export function duration(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? inUnits(minutes, 'minute') : inUnits(Math.ceil(minutes / 60), 'hour');
}

/** As the user whose data the page shows wants times; as the browser has them until it is known who that is. */
const timeFormat = signal<TimeFormat>({ locale: undefined, timeZone: undefined });

const browserLocale = new Intl.DateTimeFormat().resolvedOptions().locale;

/** A profile that names a language without a region leaves the region to a browser in that language. */
export function setTimePreferences(preferences: TimePreferences): void {
  const { locale, timeZone } = timeFormatOf(preferences);
  timeFormat.value = { locale: browserLocale.startsWith(`${locale}-`) ? undefined : locale, timeZone };
}

/** Times are in the language of the page, in the form that this browser has for its own region where that fits. */
const pageLocale = languageOf(browserLocale) === language ? undefined : language;

/** Names the time zone where it is another one than the clock of this device shows. */
function write(time: Date, styles: Parameters<typeof writeTime>[2]): string {
  const { locale = pageLocale, timeZone } = timeFormat.value;
  const text = writeTime(time, { locale, timeZone }, styles);
  if (timeZone === undefined) return text;
  const offset = offsetName(time, timeZone);
  return offset === offsetName(time, undefined) ? text : `${text} ${offset}`;
}

export const clock = (time: Date): string => write(time, { timeStyle: 'short' });
export const dateTime = (time: Date): string => write(time, { dateStyle: 'medium', timeStyle: 'short' });
export const dateOnly = (time: Date): string => write(time, { dateStyle: 'medium' });

/** How long before or after `now`, such as `3 hours ago`. Further away than a month: the date. */
export const timeAgo = (time: Date, now: Date): string =>
  writeAgo(time, now, { language, ...texts.common }) ?? dateOnly(time);

/** Minutes and seconds with their units, such as `9 min 32 sec`, or the seconds alone of the last minute. */
export function remaining(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  return [
    ...(minutes > 0 ? [writeUnits(language, minutes, 'minute', 'short')] : []),
    ...(minutes === 0 || seconds % 60 > 0 ? [writeUnits(language, seconds % 60, 'second', 'short')] : []),
  ].join(language === 'ja' ? '' : ' ');
}

/** The name of a language in itself, such as "Français", or its tag if this browser knows no name for it. */
export function languageName(tag: string): string {
  try {
    const name = new Intl.DisplayNames(tag, { type: 'language', languageDisplay: 'standard' }).of(tag) ?? tag;
    return name === tag ? tag : name.charAt(0).toLocaleUpperCase(tag) + name.slice(1);
  } catch {
    // Stored before it was checked, or too new for this browser.
    return tag;
  }
}

/** The browser and system of a user agent, such as `Firefox on Linux`; undefined if it is not a known browser. */
export const browserText = (userAgent: string): string | undefined =>
  browserName(userAgent, texts.common.browserOn);
