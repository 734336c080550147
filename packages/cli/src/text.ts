import { stripVTControlCharacters } from 'node:util';
import { codePointOf } from '@latchkey/contract/untrusted-text';
import { eastAsianWidth } from 'get-east-asian-width';

/** Untrusted text as one safe line: invisible and control characters as `[U+202E]`, few combining marks. */
export function visible(text: string): string {
  return text
    .toWellFormed()
    .replace(/(\p{M}{3})\p{M}+/gu, '$1')
    .replace(/[\p{C}\p{Zl}\p{Zp}\u{115F}\u{1160}\u{2800}\u{3164}\u{FFA0}]/gu, codePointOf);
}

/** In characters: more than any name, address or scope that the service allows. */
const maxShownLength = 4_096;

/** Text that a server says, cut where it is longer than a server of ours would say it. */
export const shortened = (text: string): string =>
  text.length <= maxShownLength ? text : `${text.slice(0, maxShownLength)}…`;

/** The output of another program without what could control a terminal: text, tabs and ends of lines. */
export const plainText = (text: string): string =>
  stripVTControlCharacters(text).replace(/(?![\t\r\n])\p{Cc}/gu, '');

/** The columns that a text without control characters takes in a terminal. */
function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) {
    if (!/\p{M}/u.test(character)) width += eastAsianWidth(character.codePointAt(0)!);
  }
  return width;
}

/** Rows in columns, as lines. Cells may contain untrusted text of any length. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const safe = rows.map((row) => row.map((cell) => visible(shortened(cell))));
  const width = (column: number) => Math.max(...safe.map((row) => displayWidth(row[column] ?? '')));
  const widths = (safe[0] ?? []).map((_, column) => width(column));
  return safe.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - displayWidth(cell)))
      .join('  ')
      .trimEnd(),
  );
}

/** A table with a heading; in a terminal too narrow for it a block of lines each, so that IDs stay whole. */
export function listing(
  heading: readonly string[],
  entries: readonly (readonly string[])[],
  columns: number,
): string[] {
  const lines = table([heading, ...entries]);
  if (entries.length === 0 || lines.every((line) => displayWidth(line) <= columns)) return lines;
  return entries.flatMap((entry, index) => [
    ...(index === 0 ? [] : ['']),
    ...table(heading.map((name, column) => [name, entry[column] ?? ''])),
  ]);
}

/** A time as `2026-11-21 04:50`, in the local time zone. */
export function localTime(time: string | number): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return String(time);
  const two = (part: number) => String(part).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Seconds as `9:41`. */
export const countdown = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;

/** Seconds in the largest suitable unit: `45 seconds`, `3 hours`. */
export function duration(seconds: number): string {
  const count = (number: number, unit: string) => `${number} ${unit}${number === 1 ? '' : 's'}`;
  if (seconds < 120) return count(Math.round(seconds), 'second');
  if (seconds < 2 * 3600) return count(Math.round(seconds / 60), 'minute');
  if (seconds < 2 * 86_400) return count(Math.round(seconds / 3600), 'hour');
  return count(Math.round(seconds / 86_400), 'day');
}
