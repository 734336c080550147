// Starts the service as a process, on a port that it chooses and prints.

import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TextStream } from '../../packages/server/src/operator/output.ts';
import { run } from '../../packages/server/src/operator/run.ts';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { atExit, end, spawn } from './cleanup.ts';
import { serviceAt } from './http.ts';
import { startPostgres } from './postgres.ts';
import { until } from './until.ts';

/** The executable that `npm test` compiled, if it did. */
export const compiledServer: string | undefined = process.env['LATCHKEY_TEST_SERVER'];

export const serverMain = join(import.meta.dir, '../../packages/server/src/main.ts');

/**
 * How to run `latchkey-server`: the compiled executable, as people get it, since it starts in a fifth of the time. Without
 * one, from source.
 */
export const serverProgram: readonly string[] = compiledServer
  ? [compiledServer]
  : [process.execPath, serverMain];

export interface ServiceOptions {
  /** Settings that extend and override the test defaults. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: SQLite in `directory`, or with the dialect `postgres` a new database. */
  readonly databaseUrl?: string;
  readonly dialect?: Dialect;
  /** The command to run. Default: `serverProgram`. */
  readonly program?: readonly string[];
  /** The directory for its files. Pass that of an earlier service to continue with its data. Default: a new one. */
  readonly directory?: string;
}

export type TestService = Awaited<ReturnType<typeof startService>>;

/** Of a command. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The same key ring for every node, so that nodes can share a PostgreSQL database. */
const testKeys = Buffer.alloc(32, 'latchkey test key').toString('base64url');

/** Starts `latchkey-server serve` and resolves once it is ready. */
export async function startService(options: ServiceOptions = {}) {
  const directory = options.directory ?? temporaryDirectory();
  const databaseUrl =
    options.databaseUrl ??
    (options.dialect === 'postgres'
      ? await (await startPostgres()).createDatabase()
      : `sqlite:${join(directory, 'latchkey.db')}`);
  const env = {
    PORT: '0',
    HOST: '127.0.0.1',
    DATABASE_URL: databaseUrl,
    LATCHKEY_RATE_LIMITS: 'off',
    ...(databaseUrl.startsWith('sqlite:') ? {} : { LATCHKEY_KEYS: testKeys }),
    ...options.env,
  };
  const command = [...(options.program ?? serverProgram), 'serve'];
  const { child, stdout, stderr, done } = launchOperator(env, command, directory);
  const output = () => `${stdout()}${stderr()}`;
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  /** Waits for the process, and kills it if that takes too long. */
  const untilIt = (holds: () => boolean, what: string): Promise<void> =>
    until(holds, () => `the service ${what}\n${output()}`).catch((error) => {
      child.kill('SIGKILL');
      throw error;
    });
  const endWith = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<number> => {
    child.kill(signal);
    await untilIt(hasExited, 'to stop');
    return child.exited;
  };

  const readyLine = () =>
    completeLinesIn(stdout()).find((line) => line.includes('"msg":"Latchkey is ready"'));
  await untilIt(() => readyLine() !== undefined || hasExited(), 'to start');
  const ready = readyLine();
  if (ready === undefined) {
    await done;
    throw new Error(`the service ended with ${child.exitCode}\n${output()}`);
  }
  const PORT = String((JSON.parse(ready) as { port: number }).port);

  return {
    // Its `url` is the address for people and browsers.
    ...serviceAt(`http://localhost:${PORT}`),
    pid: child.pid,
    directory,
    /** Its environment, for `runOperator`. */
    env: { ...env, PORT } as Readonly<Record<string, string>>,
    /** The complete lines of its standard output so far. Unless it has stopped, the last ones may be missing. */
    logs: () => completeLinesIn(stdout()),
    stderr,
    /** Sends SIGTERM and resolves with the exit code. */
    stop: async () => {
      const code = await endWith('SIGTERM');
      await done;
      return code;
    },
    kill: async () => void (await endWith('SIGKILL')),
    /** Its exit code. */
    exited: child.exited,
  };
}

/** Changes the SQLite database of a running service, as time or another release would. */
export function changeStore(
  { directory }: Pick<TestService, 'directory'>,
  statement: string,
  values: readonly (string | null)[] = [],
): void {
  using store = new Database(join(directory, 'latchkey.db'));
  store.run('PRAGMA busy_timeout = 5000');
  store.run(statement, [...values]);
}

/** Runs one `latchkey-server` command in this process, with no other environment than these settings. */
export async function runOperator(
  env: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<Outcome> {
  const [stdout, stderr] = [new Collected(), new Collected()];
  const code = await run({ args, env, readEnvFile: () => undefined, stdout, stderr });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

/** Standard error of a command that succeeds. */
const storeLine = /^Store: (sqlite:\/|postgres:\/\/[\w.:,]+\/)\S+\n$/;

/** The commands on the store of these settings. */
export function operatorOn(env: Readonly<Record<string, string>>) {
  const run = (...args: string[]) => runOperator(env, ...args);
  /** Standard output of a command that succeeds without a warning. */
  const done = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...args);
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: expect.stringMatching(storeLine) });
    return stdout;
  };
  return {
    run,
    done,
    /** The objects that a command prints with `--json`, one a line. */
    listed: async (...args: string[]) =>
      // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary output
      linesIn(await done(...args, '--json')).map((line): any => JSON.parse(line)),
    /** Expects a command to exit with this status, to print nothing, and to say this sentence. */
    refused: async (args: readonly string[], status: 1 | 2, sentence: string | RegExp): Promise<void> => {
      const says = expect[typeof sentence === 'string' ? 'stringContaining' : 'stringMatching'];
      expect({ args, ...(await run(...args)) }).toEqual({
        ...{ args, code: status, stdout: '', stderr: says(sentence as string) },
      });
    },
  };
}

export const linesIn = (text: string): string[] => text.split('\n').filter(Boolean);

/** Of a process that still runs: what has been read of its last line may be a part. */
const completeLinesIn = (text: string): string[] => text.split('\n').slice(0, -1);

class Collected implements TextStream {
  text = '';
  write(text: string, done?: () => void): void {
    this.text += text;
    done?.();
  }
}

/** Registers a service by its command. Returns what that prints last: its key, or the id of a public client. */
export async function registerService(
  { env }: Pick<TestService, 'env'>,
  name: string,
  ...options: string[]
): Promise<string> {
  return linesIn(await operatorOn(env).done('services', 'create', name, ...options)).at(-1)!;
}

/** Runs one `latchkey-server` command as a process: for those that lock a store for as long as they live, or start together. */
export async function runOperatorProcess(
  env: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<Outcome> {
  return ended(launchOperator(env, [...serverProgram, ...args]));
}

/** Runs one `latchkey-server` command whose standard output goes where a shell redirects it, such as `>&-`. */
export async function runOperatorInto(
  redirection: string,
  env: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<Omit<Outcome, 'stdout'>> {
  const command = ['sh', '-c', `exec "$@" ${redirection}`, 'sh', ...serverProgram, ...args];
  const { code, stderr } = await ended(launchOperator(env, command));
  return { code, stderr };
}

/** Waits until a process is ready; it must not end before. Returns what ends it. */
export async function untilReady(
  what: string,
  { child, stdout, stderr, done }: ReturnType<typeof launch>,
  isReady: () => boolean | Promise<boolean>,
): Promise<() => Promise<void>> {
  const check = async () => isReady();
  await until(async () => child.exitCode !== null || (await check().catch(() => false)), what);
  if (child.exitCode === null) return () => end(child);
  await done;
  throw new Error(`${what} ended with ${child.exitCode}:\n${stdout()}${stderr()}`);
}

/** What a process has printed, and its exit code, when it has ended. */
export async function ended({ child, stdout, stderr, done }: ReturnType<typeof launch>): Promise<Outcome> {
  await done;
  return { code: await child.exited, stdout: stdout(), stderr: stderr() };
}

export type RunningOperator = ReturnType<typeof startOperator>;

/** Starts one `latchkey-server` command that runs until it is ended, with no other environment than these settings. */
export function startOperator(env: Readonly<Record<string, string>>, ...args: string[]) {
  const { child, stdout, stderr } = launchOperator(env, [...serverProgram, ...args]);
  return {
    /** The complete lines of its standard output so far. */
    lines: () => completeLinesIn(stdout()),
    stderr,
    kill: (signal: 'SIGTERM' | 'SIGINT') => child.kill(signal),
    exited: child.exited,
  };
}

/** The default working directory is an empty one, so that a developer's .env file is not read. */
function launchOperator(
  env: Readonly<Record<string, string>>,
  command: readonly string[],
  cwd = temporaryDirectory(),
) {
  const { PATH = '', HOME = '' } = process.env;
  return launch(cwd, { PATH, HOME, ...env }, command);
}

/** Starts a process with this environment. `watch` gets all of standard error so far, each time it grows. */
export function launch(
  cwd: string,
  env: Readonly<Record<string, string>>,
  command: readonly string[],
  { watch, timeout }: { watch?: (stderr: string) => void; timeout?: number } = {},
) {
  const child = spawn([...command], {
    cwd,
    env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    ...(timeout === undefined ? {} : { timeout }),
  });
  const text = { stdout: '', stderr: '' };
  const collect = async (name: keyof typeof text) => {
    const decoder = new TextDecoder();
    for await (const chunk of child[name]) {
      text[name] += decoder.decode(chunk, { stream: true });
      if (name === 'stderr') watch?.(text.stderr);
    }
  };
  const done = Promise.all([collect('stdout'), collect('stderr')]);
  return { child, stdout: () => text.stdout, stderr: () => text.stderr, done };
}

/** An empty directory that is removed after the tests. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-service-'));
  atExit('remove', directory);
  return directory;
}
