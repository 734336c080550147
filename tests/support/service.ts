// Starts the service as a process on a free port.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'bun';
import { endAtExit, hasEnded, removeAtExit } from './cleanup.ts';
import { freePort } from './free-port.ts';
import { serverProgram } from './server-program.ts';

export interface ServiceOptions {
  /** Settings that extend and override the test defaults. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: SQLite in `directory`. */
  readonly databaseUrl?: string;
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
  /** Sends SIGTERM and resolves with the exit code. */
  stop(): Promise<number>;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
}

export interface OperatorResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const startDeadlineMs = 60_000;
const stopDeadlineMs = 30_000;
const pollMs = 20;
/** The same key ring for every node, so that nodes can share a PostgreSQL database. */
const testKeys = Buffer.alloc(32, 'latchkey test key').toString('base64url');

/** Starts `latchkey-server serve` and resolves once /readyz responds with 200. */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  const directory = options.directory ?? temporaryDirectory();
  const port = freePort();
  const databaseUrl = options.databaseUrl ?? `sqlite:${join(directory, 'latchkey.db')}`;
  const env = {
    PORT: String(port),
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
  endAtExit(child.pid);
  child.exited.then(() => hasEnded(child.pid));
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);

  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<number> => {
    child.kill(signal);
    const code = await Promise.race([child.exited, Bun.sleep(stopDeadlineMs)]);
    if (typeof code === 'number') return code;
    child.kill('SIGKILL');
    throw new Error(`the service did not stop within ${stopDeadlineMs} ms\n${stdout.text()}${stderr.text()}`);
  };

  const url = `http://localhost:${env.PORT}`;
  const readyAddress = `http://127.0.0.1:${env.PORT}/readyz`;
  const deadline = Date.now() + startDeadlineMs;
  while (!(await isReady(readyAddress))) {
    if (child.exitCode !== null || child.signalCode !== null) {
      await Promise.all([stdout.done, stderr.done]);
      throw new Error(`the service ended with ${child.exitCode}\n${stdout.text()}${stderr.text()}`);
    }
    if (Date.now() > deadline) {
      await end('SIGKILL');
      throw new Error(`the service was not ready in ${startDeadlineMs} ms\n${stdout.text()}${stderr.text()}`);
    }
    await Bun.sleep(pollMs);
  }

  return {
    url,
    pid: child.pid,
    directory,
    env,
    logs: () => stdout.text().split('\n').filter(Boolean),
    stop: async () => {
      const code = await end('SIGTERM');
      await stdout.done;
      return code;
    },
    kill: async () => {
      await end('SIGKILL');
    },
  };
}

/** Runs one `latchkey-server` command with no other environment than these settings. */
export async function runOperator(
  env: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<OperatorResult> {
  const child = spawn([...serverProgram, ...args], {
    cwd: temporaryDirectory(),
    env: cleanEnvironment(env),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  endAtExit(child.pid);
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  hasEnded(child.pid);
  return { code, stdout, stderr };
}

/** Runs one `latchkey-server` command whose standard output goes where a shell redirects it, such as `>&-`. */
export async function runOperatorInto(
  redirection: string,
  env: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<Omit<OperatorResult, 'stdout'>> {
  const child = spawn(['sh', '-c', `exec "$@" ${redirection}`, 'sh', ...serverProgram, ...args], {
    cwd: temporaryDirectory(),
    env: cleanEnvironment(env),
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  });
  endAtExit(child.pid);
  const [stderr, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  hasEnded(child.pid);
  return { code, stderr };
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
  const child = spawn([...serverProgram, ...args], {
    cwd: temporaryDirectory(),
    env: cleanEnvironment(env),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  endAtExit(child.pid);
  child.exited.then(() => hasEnded(child.pid));
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

async function isReady(address: string): Promise<boolean> {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(1000) });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}

function collect(stream: ReadableStream<Uint8Array>): { text(): string; done: Promise<void> } {
  let text = '';
  const decoder = new TextDecoder();
  const read = async () => {
    for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
  };
  return { text: () => text, done: read() };
}
