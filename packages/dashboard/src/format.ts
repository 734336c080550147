import {
  offsetName,
  type TimeFormat,
  type TimePreferences,
  timeFormatOf,
  writeAgo,
  writeTime,
} from '@latchkey/contract/time-format';
import { signal } from '@preact/signals';

export const count = (number: number, singular: string, plural = `${singular}s`): string =>
  `${number} ${number === 1 ? singular : plural}`;

/** Whole minutes, rounded up; hours from two hours on. */
export function duration(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? count(minutes, 'minute') : count(Math.ceil(minutes / 60), 'hour');
}

/** As the user whose data the page shows wants times; as the browser has them until it is known who that is. */
const timeFormat = signal<TimeFormat>({ locale: undefined, timeZone: undefined });

export function setTimePreferences(preferences: TimePreferences): void {
  timeFormat.value = timeFormatOf(preferences);
}

/** Names the time zone where it is another one than the clock of this device shows. */
function write(time: Date, styles: Parameters<typeof writeTime>[2]): string {
  const { timeZone } = timeFormat.value;
  const text = writeTime(time, timeFormat.value, styles);
  if (timeZone === undefined) return text;
  const offset = offsetName(time, timeZone);
  return offset === offsetName(time, undefined) ? text : `${text} ${offset}`;
}

/** The time of day. */
export const clock = (time: Date): string => write(time, { timeStyle: 'short' });

/** Date and time. */
export const dateTime = (time: Date): string => write(time, { dateStyle: 'medium', timeStyle: 'short' });

/** How long before or after `now`, such as `3 hours ago`. Further away than a month: the date. */
export const timeAgo = (time: Date, now: Date): string =>
  writeAgo(time, now) ?? write(time, { dateStyle: 'medium' });

/** Minutes and seconds, such as `9:32`. */
export function remaining(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
