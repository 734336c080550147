// Starts the measured programs, each as a process on the server core.

import { join } from 'node:path';
import type { Subprocess } from 'bun';
import { spawn } from '../../tests/support/cleanup.ts';
import { reservePort } from '../../tests/support/reserved-port.ts';
import { temporaryDirectory } from '../../tests/support/service.ts';
import { onCore, serverCore } from './cores.ts';

const startDeadlineMs = 30_000;
const startPollMs = 1;

export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  /** The process that started all others of its database, if their CPU time is measured, too. */
  readonly databasePid?: number;
  /** Time from the call to the first 200. */
  readonly startedAfterMs: number;
  stop(): Promise<void>;
}

const mainFile = join(import.meta.dir, '../../packages/server/src/main.ts');

/** `latchkey-server serve` without its shell wrapper. */
export const serveCommand = [process.execPath, mainFile, 'serve'];

export interface ServiceSettings {
  readonly databaseUrl: string;
  /** The key ring. By default the service creates its own. */
  readonly keys?: string;
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the service as in production, but without rate limits and with its log discarded. Resolves when it is ready. */
export function startService(
  settings: ServiceSettings,
  command: readonly string[] = serveCommand,
): Promise<RunningServer> {
  const port = reservePort();
  const env = {
    PORT: String(port),
    HOST: '127.0.0.1',
    NODE_ENV: 'production',
    DATABASE_URL: settings.databaseUrl,
    LATCHKEY_RATE_LIMITS: 'off',
    ...(settings.keys ? { LATCHKEY_KEYS: settings.keys } : {}),
    ...settings.env,
  };
  return startServer(command, env, `http://127.0.0.1:${port}`, '/readyz');
}

/** A recorded response. */
export interface RecordedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What the floor of `GET /me` repeats of a refusal. Nothing unless the answer is one. */
export const refusalOf = ({ status, body, headers }: RecordedAnswer): Record<string, string> =>
  status === 401
    ? { REFUSAL: JSON.parse(body).error_description, CHALLENGE: headers['www-authenticate'] ?? '' }
    : {};

/** The programs of `bench/floors/`. */
export type FloorName =
  | 'me'
  | 'refresh'
  | 'introspect'
  | 'device-start'
  | 'device-poll'
  | 'link-request'
  | 'link-verify'
  | 'passkey-login';

/** Starts the floor of a figure: the least program that keeps the same promises. */
export function startFloor(
  name: FloorName,
  { databaseUrl, keys }: { readonly databaseUrl: string; readonly keys: string },
  more: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  return startProgram(`floors/${name}.ts`, { DATABASE_URL: databaseUrl, LATCHKEY_KEYS: keys, ...more });
}

/** The programs of `bench/peers/`. */
export const peerNames = ['better-auth', 'oidc-provider'] as const;
export type PeerName = (typeof peerNames)[number];

/** Starts another authentication service on a database of its own. */
export const startPeer = (name: PeerName, databaseUrl: string): Promise<RunningServer> =>
  startProgram(`peers/${name}.ts`, { DATABASE_URL: databaseUrl });

function startProgram(file: string, more: Readonly<Record<string, string>>): Promise<RunningServer> {
  const port = reservePort();
  const env = { PORT: String(port), NODE_ENV: 'production', ...more };
  const command = [process.execPath, join(import.meta.dir, '..', file)];
  return startServer(command, env, `http://127.0.0.1:${port}`, '/');
}

async function startServer(
  command: readonly string[],
  env: Record<string, string>,
  url: string,
  probe: string,
): Promise<RunningServer> {
  const started = performance.now();
  const child = spawn(onCore(serverCore, command), {
    // A directory without a developer's .env file.
    cwd: temporaryDirectory(),
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  });
  await firstAnswer(url + probe, child, started + startDeadlineMs);
  return {
    url,
    pid: child.pid,
    startedAfterMs: performance.now() - started,
    stop: async () => {
      child.kill('SIGTERM');
      await child.exited;
    },
  };
}

/** Waits for a response other than 503, which a service sends until it is ready. */
async function firstAnswer(
  address: string,
  child: Subprocess<'ignore', 'ignore', 'pipe'>,
  deadline: number,
): Promise<void> {
  while (performance.now() < deadline && child.exitCode === null) {
    try {
      const response = await fetch(address);
      await response.arrayBuffer();
      if (response.status !== 503) return;
    } catch {
      await Bun.sleep(startPollMs);
    }
  }
  child.kill('SIGKILL');
  throw new Error(`the server did not start: ${await new Response(child.stderr).text()}`);
}
