// How the operator's commands print lists: a table for people, JSON lines for programs, both a part at a time.

import { untrustedText } from '@latchkey/contract/untrusted-text';
import { ConfigError } from '../platform/config/config-error.ts';

/** How many characters are written to standard output at once. */
const chunkLength = 64 * 1024;

/** The columns of a table fit this many rows. Longer cells further down widen the rest of the table. */
const rowsPerPart = 200;

/**
 * Resolves when standard output can take more, with false if its reader has closed the pipe, as `head` does.
 * @throws {ConfigError} when it cannot be written
 */
export const write = (text: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    // The callback gets the same error.
    if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', () => undefined);
    process.stdout.write(`${text}\n`, (error) => {
      if (!error) resolve(true);
      else if ('code' in error && error.code === 'EPIPE') resolve(false);
      else reject(new ConfigError(`Standard output cannot be written: ${error.message}.`));
    });
  });

export async function writeLines(lines: AsyncIterable<string>): Promise<undefined> {
  let chunk: string[] = [];
  let length = 0;
  for await (const line of lines) {
    chunk.push(line);
    length += line.length;
    if (length < chunkLength) continue;
    if (!(await write(chunk.join('\n')))) return;
    chunk = [];
    length = 0;
  }
  if (chunk.length > 0) await write(chunk.join('\n'));
}

export interface Table<Entry> {
  readonly heading: readonly string[];
  readonly cells: (entry: Entry) => readonly string[];
  /** What people read instead of an empty table. */
  readonly empty: string;
}

/** Prints a list as a table or, with `json`, as JSON lines. */
export const writeList = <Entry>(
  entries: AsyncIterable<Entry> | Iterable<Entry>,
  table: Table<Entry>,
  { json }: { readonly json?: true } = {},
): Promise<undefined> => writeLines(json ? jsonLines(entries) : tableLines(entries, table));

async function* jsonLines(entries: AsyncIterable<unknown> | Iterable<unknown>): AsyncGenerator<string> {
  for await (const entry of entries) yield safeJson(entry);
}

/** JSON of the same value that cannot control a terminal. */
export const safeJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character === '\n'
      ? character
      : Array.from(
          { length: character.length },
          (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
        ).join(''),
  );

async function* tableLines<Entry>(
  entries: AsyncIterable<Entry> | Iterable<Entry>,
  { heading, cells, empty }: Table<Entry>,
): AsyncGenerator<string> {
  let rows: (readonly string[])[] = [heading];
  let widths: readonly number[] = heading.map(() => 0);
  let isEmpty = true;
  for await (const entry of entries) {
    isEmpty = false;
    rows.push(cells(entry).map(untrustedText));
    if (rows.length < rowsPerPart) continue;
    widths = widthsOf(rows, widths);
    yield* linesOf(rows, widths);
    rows = [];
  }
  if (isEmpty) yield empty;
  else yield* linesOf(rows, widthsOf(rows, widths));
}

const widthsOf = (rows: readonly (readonly string[])[], before: readonly number[]): number[] =>
  before.map((width, column) => Math.max(width, ...rows.map((row) => Bun.stringWidth(row[column] ?? ''))));

const linesOf = (rows: readonly (readonly string[])[], widths: readonly number[]): string[] =>
  rows.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - Bun.stringWidth(cell)))
      .join('  ')
      .trimEnd(),
  );

/** A time in UTC to the minute, like 2026-11-21 04:50. */
export const shortTime = (time: string): string => time.slice(0, 16).replace('T', ' ');

/** A time in milliseconds since 1970 as RFC 3339, for JSON. */
export const timeOf = (ms: number | null | undefined): string | null =>
  ms == null ? null : new Date(ms).toISOString();
