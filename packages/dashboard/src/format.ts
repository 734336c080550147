export const count = (number: number, singular: string, plural = `${singular}s`): string =>
  `${number} ${number === 1 ? singular : plural}`;

/** Whole minutes, rounded up; hours from two hours on. */
export function duration(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? count(minutes, 'minute') : count(Math.ceil(minutes / 60), 'hour');
}

/** The time of day in the reader's locale. */
export const clock = (time: Date): string =>
  new Intl.DateTimeFormat(undefined, { timeStyle: 'short' }).format(time);

/** Date and time in the reader's locale. */
export const dateTime = (time: Date): string =>
  new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' }).format(time);
