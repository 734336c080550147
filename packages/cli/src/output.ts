// The rules of output:
// - Standard output carries results and nothing else; with --json exactly one JSON value.
// - Standard error carries the rest: link, code, QR code, progress, warnings, errors; with --json one JSON object
//   a line.
// - Colour and progress are for terminals. NO_COLOR takes the colour away, TERM=dumb also the progress.
// - No text reaches a terminal unless `visible` has gone over it; what is drawn or bold is written here.

import { visible, visibleJson } from './text.ts';

/** The part of a standard stream that is used. */
export interface TextStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string, done: (error?: Error | null) => void): unknown;
}

type Line = string | { readonly bold: string };

export interface Output {
  readonly json: boolean;
  /** People read along on standard error, and a line there can be rewritten. */
  readonly interactive: boolean;
  /** The width of that terminal. */
  readonly columns: number;
  /** The result: the value as JSON, or the lines for people. */
  result(value: unknown, lines: () => readonly Line[]): void;
  /** Anything that is no result. */
  message(value: object, lines: () => readonly Line[]): void;
  /** Lines made of nothing but our own characters, for terminals. */
  drawing(lines: readonly string[]): void;
  /** One line that the next one replaces, written when it changes; without a line it is taken away. */
  progress(line?: string): void;
  /**
   * Resolves when all is written.
   * @throws the error of the stream that would not take it
   */
  flush(): Promise<void>;
}

export interface OutputOptions {
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  readonly json: boolean;
  readonly noColor: boolean;
  readonly dumbTerminal: boolean;
}

const defaultColumns = 80;
const rewriteLine = '\r\u001b[2K';

export function createOutput({ stdout, stderr, json, noColor, dumbTerminal }: OutputOptions): Output {
  const interactive = stderr.isTTY === true && !json && !dumbTerminal;
  // Asked for each time: a window may be resized at any moment.
  const columns = () => stderr.columns || defaultColumns;
  let written = Promise.resolve();
  let failure: unknown;
  let shown: string | undefined;

  const write = (stream: TextStream, text: string): void => {
    const { promise, resolve } = Promise.withResolvers<void>();
    stream.write(text, (error) => {
      // Who closes standard error wants no messages; a result that does not arrive is a failure.
      if (error && stream === stdout) failure ??= error;
      resolve();
    });
    written = written.then(() => promise);
  };
  const render = (stream: TextStream, lines: readonly Line[]): string =>
    lines
      .map((line) => {
        if (typeof line === 'string') return `${visible(line)}\n`;
        const isBold = stream.isTTY === true && !noColor && !dumbTerminal;
        return isBold ? `\u001b[1m${visible(line.bold)}\u001b[22m\n` : `${visible(line.bold)}\n`;
      })
      .join('');
  const progress = (line?: string): void => {
    const next = line === undefined ? undefined : visible(line).slice(0, columns() - 1);
    if (!interactive || next === shown) return;
    shown = next;
    write(stderr, rewriteLine + (next ?? ''));
  };

  return {
    json,
    interactive,
    get columns() {
      return columns();
    },
    result: (value, lines) => {
      progress();
      write(stdout, json ? `${visibleJson(value, 2)}\n` : render(stdout, lines()));
    },
    message: (value, lines) => {
      progress();
      write(stderr, json ? `${visibleJson(value)}\n` : render(stderr, lines()));
    },
    drawing: (lines) => {
      if (interactive) write(stderr, lines.map((line) => `${line}\n`).join(''));
    },
    progress,
    flush: async () => {
      progress();
      await written;
      if (failure) throw failure;
    },
  };
}
