// Starts scripts of tests/support as processes, under Bun or Node, and controls them line by line.

import { join } from 'node:path';
import { type Subprocess, spawnSync } from 'bun';
import { atExit, spawn } from './cleanup.ts';
import { nodes } from './node.ts';

interface Runtime {
  readonly name: string;
  readonly command: readonly string[];
}

/** The runtimes that the client must support, as far as they are installed. */
export const runtimes: readonly Runtime[] = [
  { name: 'Bun', command: [process.execPath] },
  ...nodes.map(({ major, path }) => ({ name: `Node ${major}`, command: [path] })),
];

/** Inside the checkout, two levels deep as the scripts themselves, so that the same packages resolve. */
const bundles = join(import.meta.dir, '../../artifacts', `workers-${process.pid}`);

const built = new Set<string>();

/** The script for this runtime: Node starts faster without TypeScript, and its early versions run none. Built once, since workers that have started still read it. */
function runnable(command: readonly string[], script: string): string {
  const source = join(import.meta.dir, script);
  if (!nodes.some(({ path }) => command.includes(path))) return source;
  atExit('remove', bundles);
  const bundle = join(bundles, script.replace(/\.ts$/, '.mjs'));
  if (built.has(bundle)) return bundle;
  built.add(bundle);
  spawnSync([process.execPath, 'build', '--target=node', `--outfile=${bundle}`, source]);
  return bundle;
}

/** A command prefix that makes file permissions apply even to root. */
export const withoutRootsPowers: readonly string[] =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];

export type Worker = ReturnType<typeof startWorker>;

/** Starts a script of tests/support. `command`: the runtime, with an optional prefix such as `withoutRootsPowers`. */
export function startWorker(command: readonly string[], script: string, ...args: string[]) {
  const child: Subprocess<'pipe', 'pipe', 'pipe'> = spawn([...command, runnable(command, script), ...args], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' },
  });
  const lines = linesOf(child.stdout);
  const stderr = new Response(child.stderr).text();
  /** Sends it one line of JSON. */
  const say = (message: unknown) => {
    child.stdin.write(`${JSON.stringify(message)}\n`);
    child.stdin.flush();
  };
  /** Receives its next line of JSON, or undefined if it has ended. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary responses
  const hear = async (): Promise<any> => {
    const { value } = await lines.next();
    return value === undefined ? undefined : JSON.parse(value);
  };
  return {
    pid: child.pid,
    exited: child.exited,
    say,
    hear,
    ask: (message: unknown) => {
      say(message);
      return hear();
    },
    signal: (name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT') => child.kill(name),
    /** Closes its input and waits until it exits; returns its standard error. */
    finish: async () => {
      child.stdin.end();
      await child.exited;
      return stderr;
    },
  };
}

export async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
