// The rules of output:
// - Standard output carries results and nothing else; with --json exactly one JSON value.
// - Standard error carries the rest: link, code, QR code, progress, warnings, errors; with --json one JSON object
//   per line.
// - Colour and progress are for terminals. NO_COLOR turns colour off, TERM=dumb also progress.
// - All text passes through `visible` before it reaches a terminal; control sequences are written only here.

import { styleText } from 'node:util';
import { terminalJson } from '@latchkey/contract/untrusted-text';
import { plainText, visible } from './text.ts';

/** The part of a standard stream that is used. */
export interface TextStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string | Uint8Array, done: (error?: Error | null) => void): unknown;
}

export type Style = 'bold' | 'red' | 'green' | 'yellow';

/** Text, or text that begins in a style. */
export type Line = string | { readonly style: Style; readonly text: string; readonly rest?: string };

export type Output = ReturnType<typeof createOutput>;

interface OutputOptions {
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  readonly json: boolean;
  readonly noColor: boolean;
  readonly dumbTerminal: boolean;
}

const defaultColumns = 80;
const rewriteLine = '\r\u001b[2K';

export function createOutput({ stdout, stderr, json, noColor, dumbTerminal }: OutputOptions) {
  // A stream is asked every time, since its window may be resized.
  const { write, flush } = createWriter(stdout);
  const render = (stream: TextStream, lines: readonly Line[]): string =>
    renderLines(lines, stream.isTTY === true && !noColor);
  let shown: string | undefined;
  /** Another program has left the cursor in the middle of a line. */
  let isLineOpen = false;

  return {
    json,
    /** Standard error is a terminal. False with --json. */
    get isTerminal(): boolean {
      return !json && stderr.isTTY === true;
    },
    /** Standard error is a terminal that can rewrite a line. */
    get interactive(): boolean {
      return !dumbTerminal && this.isTerminal;
    },
    /** The width of the terminal on standard error. */
    get columns(): number {
      return stderr.columns || defaultColumns;
    },
    /** The result: the value as JSON, or lines for people. `columns` is unlimited without a terminal. */
    result(value: unknown, lines: (columns: number) => readonly Line[]): void {
      this.progress();
      const columns = stdout.isTTY ? stdout.columns || defaultColumns : Number.POSITIVE_INFINITY;
      write(stdout, json ? `${terminalJson(value, 2)}\n` : render(stdout, lines(columns)));
    },
    /** Anything other than a result. */
    message(value: object, lines: () => readonly Line[]): void {
      this.progress();
      write(stderr, json ? `${terminalJson(value)}\n` : render(stderr, lines()));
    },
    /** Text without the end of a line, for terminals only. */
    question(text: string): void {
      this.progress();
      if (!this.isTerminal) return;
      write(stderr, (isLineOpen ? '\n' : '') + (text === '\n' ? text : visible(text)));
      isLineOpen = false;
    },
    /**
     * Passes on the output of another program: to a terminal only its text, so that it can neither hide nor repaint what is shown.
     * The function resolves when a part is written, and rejects when it cannot be.
     */
    relay(name: 'stdout' | 'stderr'): (bytes: Uint8Array) => Promise<void> {
      const stream = name === 'stdout' ? stdout : stderr;
      const decoder = new TextDecoder();
      return (bytes) => {
        const isTerminal = stream.isTTY === true;
        const part = isTerminal ? plainText(decoder.decode(bytes, { stream: true })) : bytes;
        if (isTerminal && part.length > 0) isLineOpen = part.at(-1) !== '\n';
        return new Promise((resolve, reject) => {
          stream.write(part, (error) => (error ? reject(error) : resolve()));
        });
      };
    },
    /** Trusted text, for terminals only. */
    drawing(text: string): void {
      if (this.interactive) write(stderr, `${text}\n`);
    },
    /** A line that the next one replaces, written when it changes; without a line it is removed. */
    progress(line?: string): void {
      const next = line === undefined ? undefined : visible(line).slice(0, this.columns - 1);
      if (next === shown || !this.interactive) return;
      shown = next;
      write(stderr, rewriteLine + (next ?? ''));
    },
    /** Resolves when everything is written. @throws the first error of writing a result */
    async flush(): Promise<void> {
      this.progress();
      await flush();
    },
  };
}

/** Writes to both streams. `flush` resolves when everything is written, and throws the first error of `stdout`. */
function createWriter(stdout: TextStream) {
  let written = Promise.resolve();
  let failure: unknown;
  return {
    write(stream: TextStream, text: string): void {
      const done = new Promise<void>((resolve) => {
        stream.write(text, (error) => {
          // Messages are optional, so standard error may be closed; a result that is not written is a failure.
          if (error && stream === stdout) failure ??= error;
          resolve();
        });
      });
      written = written.then(() => done);
    },
    async flush(): Promise<void> {
      await written;
      if (failure) throw failure;
    },
  };
}

const renderLines = (lines: readonly Line[], areStylesShown: boolean): string =>
  lines
    .map((line) => {
      if (typeof line === 'string') return `${visible(line)}\n`;
      const { style, text, rest = '' } = line;
      const shown = visible(text);
      // Whether styles are wanted has been decided.
      const begin = areStylesShown ? styleText(style, shown, { validateStream: false }) : shown;
      return `${begin}${visible(rest)}\n`;
    })
    .join('');
