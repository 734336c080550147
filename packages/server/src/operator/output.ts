// How the operator's commands print lists: a table for people, JSON lines for programs, both a part at a time.

import { existsSync, fstatSync, readFileSync, statSync } from 'node:fs';
import { isOpenedHere } from '@latchkey/contract/terminal';
import { terminalJson, untrustedText } from '@latchkey/contract/untrusted-text';
import { ConfigError } from '../platform/config/config-error.ts';
import { chunksOf } from '../platform/values/lines.ts';

/** The columns of a table fit this many rows. Longer cells further down widen the rest of the table. */
const rowsPerPart = 200;

export interface TextStream {
  readonly fd?: number;
  readonly isTTY?: boolean;
  write(text: string, done?: (error?: Error | null) => void): unknown;
}

export type Output = ReturnType<typeof createOutput>;

export function createOutput(stdout: TextStream, stderr: TextStream) {
  const writeChunk = (chunk: string): Promise<boolean> =>
    new Promise((resolve, reject) => {
      stdout.write(chunk, (error) => {
        if (!error) resolve(true);
        else if ('code' in error && error.code === 'EPIPE') resolve(false);
        else reject(new ConfigError(`Standard output cannot be written: ${error.message}.`));
      });
    });
  /** False if its reader closed the pipe, as `head` does. @throws {ConfigError} if it cannot be written */
  const write = (text: string): Promise<boolean> => writeChunk(`${text}\n`);
  return {
    isTerminal: stdout.isTTY === true,
    write,
    /** @throws {ConfigError} if standard output is closed. Call it before the work of a command: its result would be lost. */
    requireOpen(): void {
      if (isClosed(stdout)) throw unwritten('it is closed');
    },
    /**
     * Writes a secret that is shown only once. Call it before the transaction that makes the secret valid commits: a secret that cannot be written must not exist.
     * @throws {ConfigError} if it cannot be written, or nobody would read it
     */
    async writeSecret(text: string): Promise<void> {
      if (isDiscarded(stdout)) throw unwritten('it is closed or /dev/null, so the secret would be lost');
      const isWritten = await write(text).catch((error: Error) => {
        throw new ConfigError(`${error.message} Nothing was changed.`);
      });
      if (!isWritten) throw unwritten('its reader has ended');
    },
    /** Prints a list as a table or, with `json`, as JSON lines. */
    async writeList<Entry>(
      entries: AsyncIterable<Entry> | Iterable<Entry>,
      table: Table<Entry>,
      { json }: { readonly json?: true } = {},
    ): Promise<undefined> {
      const lines = json ? jsonLines(entries) : tableLines(entries, table);
      for await (const chunk of chunksOf(lines)) if (!(await writeChunk(chunk))) return;
    },
    /** Writes a line to standard error. */
    say: (text: string): undefined => void stderr.write(`${text}\n`),
  };
}

const unwritten = (reason: string): ConfigError =>
  new ConfigError(`Standard output cannot be written: ${reason}. Nothing was changed.`);

/** A standard output that was closed is /dev/null in this process. */
const isDiscarded = ({ fd }: TextStream): boolean =>
  fd !== undefined && fstatSync(fd).rdev === statSync('/dev/null').rdev;

/** Only Linux tells whether it was closed. */
function isClosed(stdout: TextStream): boolean {
  const fdInfo = `/proc/self/fdinfo/${stdout.fd}`;
  return isDiscarded(stdout) && existsSync(fdInfo) && isOpenedHere(readFileSync(fdInfo, 'utf8'));
}

export interface Table<Entry> {
  /** Members of an entry under their own names, and what is computed under a heading. */
  readonly columns: readonly Column<Entry>[];
  /** What people read instead of an empty table. */
  readonly empty: string;
}

type Column<Entry> = (keyof Entry & string) | readonly [heading: string, cell: (entry: Entry) => string];

const headingOf = (column: Column<never>): string =>
  typeof column === 'string'
    ? column.replace(/_at$/, '_(utc)').replaceAll('_', ' ').toUpperCase()
    : column[0];

/** Times, whose names end with `_at`, are shown to the minute. */
function cellOf<Entry>(entry: Entry, column: Column<Entry>): string {
  if (typeof column !== 'string') return column[1](entry);
  const value = entry[column];
  if (value === null) return column === 'last_used_at' ? 'never' : '-';
  return column.endsWith('_at') ? shortTime(String(value)) : String(value);
}

async function* jsonLines(entries: AsyncIterable<unknown> | Iterable<unknown>): AsyncGenerator<string> {
  for await (const entry of entries) yield terminalJson(entry);
}

async function* tableLines<Entry>(
  entries: AsyncIterable<Entry> | Iterable<Entry>,
  { columns, empty }: Table<Entry>,
): AsyncGenerator<string> {
  let rows: (readonly string[])[] = [columns.map(headingOf)];
  let widths: readonly number[] = columns.map(() => 0);
  let isEmpty = true;
  for await (const entry of entries) {
    isEmpty = false;
    rows.push(columns.map((column) => untrustedText(cellOf(entry, column))));
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
