// Starts the service as a process, on a port that it chooses and prints.

import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TextStream } from '../../packages/server/src/operator/output.ts';
import { run } from '../../packages/server/src/operator/run.ts';
import type { Dialect } from '../../packages/server/src/platform/database/executor.ts';
import { removeAtExit, spawn } from './cleanup.ts';
import { startPostgres } from './postgres.ts';
import { serverProgram } from './server-program.ts';
import { until } from './until.ts';

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

export interface TestService {
  /** The address for people and browsers: `http://localhost:port`. */
  readonly url: string;
  readonly pid: number;
  readonly directory: string;
  /** Its environment, for `runOperator`. */
  readonly env: Readonly<Record<string, string>>;
  /** The lines of its standard output so far. */
  logs(): string[];
  stderr(): string;
  /** Sends SIGTERM and resolves with the exit code. */
  stop(): Promise<number>;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  /** Its exit code. */
  readonly exited: Promise<number>;
}

export interface OperatorResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The same key ring for every node, so that nodes can share a PostgreSQL database. */
const testKeys = Buffer.alloc(32, 'latchkey test key').toString('base64url');

/** Starts `latchkey-server serve` and resolves once it is ready. */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
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
  // A temporary working directory, so that a developer's .env file is not read.
  const child = spawn([...(options.program ?? serverProgram), 'serve'], {
    cwd: directory,
    env: cleanEnvironment(env),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);

  const output = () => `${stdout.text()}${stderr.text()}`;
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  /** Waits for the process, and kills it if that takes too long. */
  const untilIt = (holds: () => boolean, what: string): Promise<void> =>
    until(holds, () => `the service ${what}\n${output()}`).catch((error) => {
      child.kill('SIGKILL');
      throw error;
    });
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<number> => {
    child.kill(signal);
    await untilIt(hasExited, 'to stop');
    return child.exited;
  };

  const readyLine = () =>
    stdout
      .text()
      .split('\n')
      .find((line) => line.includes('"msg":"Latchkey is ready"'));
  await untilIt(() => readyLine() !== undefined || hasExited(), 'to start');
  const ready = readyLine();
  if (ready === undefined) {
    await Promise.all([stdout.done, stderr.done]);
    throw new Error(`the service ended with ${child.exitCode}\n${output()}`);
  }
  const PORT = String((JSON.parse(ready) as { port: number }).port);

  return {
    url: `http://localhost:${PORT}`,
    pid: child.pid,
    directory,
    env: { ...env, PORT },
    logs: () => stdout.text().split('\n').filter(Boolean),
    stderr: stderr.text,
    stop: async () => {
      const code = await end('SIGTERM');
      await Promise.all([stdout.done, stderr.done]);
      return code;
    },
    kill: async () => {
      await end('SIGKILL');
    },
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
): Promise<OperatorResult> {
  const [stdout, stderr] = [new Collected(), new Collected()];
  const code = await run({ args, env, readEnvFile: () => undefined, stdout, stderr });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

/** Standard error of a command that succeeds. */
const storeLine = /^Store: (sqlite:\/|postgres:\/\/[\w.:]+\/)\S+\n$/;

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
  const { code, stdout, stderr } = await runOperator(env, 'services', 'create', name, ...options);
  if (code !== 0) throw new Error(stderr);
  return stdout.trimEnd().split('\n').at(-1)!;
}

/** Runs one `latchkey-server` command as a process: for those that lock a store for as long as they live, or start together. */
export const runOperatorProcess = (
  env: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<OperatorResult> => resultOf(spawnIn(env, [...serverProgram, ...args]));

/** Runs one `latchkey-server` command whose standard output goes where a shell redirects it, such as `>&-`. */
export async function runOperatorInto(
  redirection: string,
  env: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<Omit<OperatorResult, 'stdout'>> {
  const command = ['sh', '-c', `exec "$@" ${redirection}`, 'sh', ...serverProgram, ...args];
  const { code, stderr } = await resultOf(spawnIn(env, command));
  return { code, stderr };
}

const spawnIn = (env: Readonly<Record<string, string>>, command: readonly string[]) =>
  spawn([...command], {
    cwd: temporaryDirectory(),
    env: cleanEnvironment(env),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });

async function resultOf(child: ReturnType<typeof spawnIn>): Promise<OperatorResult> {
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

/** One `latchkey-server` command that runs until it is ended. */
export interface RunningOperator {
  readonly pid: number;
  /** The complete lines of its standard output so far. */
  lines(): string[];
  stderr(): string;
  kill(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): void;
  readonly exited: Promise<number>;
}

/** Starts one `latchkey-server` command with no other environment than these settings. */
export function startOperator(env: Readonly<Record<string, string>>, ...args: string[]): RunningOperator {
  const child = spawnIn(env, [...serverProgram, ...args]);
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  return {
    pid: child.pid,
    lines: () => stdout.text().split('\n').slice(0, -1),
    stderr: stderr.text,
    kill: (signal) => child.kill(signal),
    exited: child.exited,
  };
}

/** An empty directory that is removed after the tests. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-service-'));
  removeAtExit(directory);
  return directory;
}

function cleanEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env };
}

function collect(stream: ReadableStream<Uint8Array>): { text(): string; done: Promise<void> } {
  let text = '';
  const decoder = new TextDecoder();
  const read = async () => {
    for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
  };
  return { text: () => text, done: read() };
}
