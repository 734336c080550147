// The programs that are measured, each a process on the server's core.

import { join } from 'node:path';
import { type Subprocess, spawn } from 'bun';
import { endAtExit, hasEnded } from '../../tests/support/cleanup.ts';
import { freePort } from '../../tests/support/free-port.ts';
import { temporaryDirectory } from '../../tests/support/service.ts';
import { onCore, serverCore } from './cores.ts';

const startDeadlineMs = 30_000;
const startPollMs = 1;

export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  /** From the call to the first 200. */
  readonly startedAfterMs: number;
  stop(): Promise<void>;
}

const mainFile = join(import.meta.dir, '../../packages/server/src/main.ts');

/** What `serve` of the operator's program is without the shell around it. */
export const serveCommand = [process.execPath, mainFile, 'serve'];

export interface ServiceSettings {
  readonly databaseUrl: string;
  /** The key ring. Default: the service makes its own. */
  readonly keys?: string;
}

/** Starts the service as in production but without limits, its log going nowhere; resolves when it is ready. */
export function startService(settings: ServiceSettings, command = serveCommand): Promise<RunningServer> {
  const port = freePort();
  const env = {
    PORT: String(port),
    HOST: '127.0.0.1',
    NODE_ENV: 'production',
    DATABASE_URL: settings.databaseUrl,
    LATCHKEY_RATE_LIMITS: 'off',
    ...(settings.keys ? { LATCHKEY_KEYS: settings.keys } : {}),
  };
  return startServer(command, env, `http://127.0.0.1:${port}`, '/readyz');
}

/** An answer as it was received, to be given again. */
export interface RecordedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Starts a bare `Bun.serve` that answers every request alike. */
export function startBareServer(answer: RecordedAnswer): Promise<RunningServer> {
  const port = freePort();
  const program = join(import.meta.dir, '../programs/bare-server.ts');
  const env = { PORT: String(port), NODE_ENV: 'production', ANSWER: JSON.stringify(answer) };
  return startServer([process.execPath, program], env, `http://127.0.0.1:${port}`, '/');
}

async function startServer(
  command: readonly string[],
  env: Record<string, string>,
  url: string,
  probe: string,
): Promise<RunningServer> {
  const started = performance.now();
  const child = spawn(onCore(serverCore, command), {
    // No .env file of a developer's is read there.
    cwd: temporaryDirectory(),
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  });
  endAtExit(child.pid);
  await firstAnswer(url + probe, child, started + startDeadlineMs);
  return {
    url,
    pid: child.pid,
    startedAfterMs: performance.now() - started,
    stop: async () => {
      child.kill('SIGTERM');
      await child.exited;
      hasEnded(child.pid);
    },
  };
}

/** Waits until a server answers, whatever the status of a bare one; a service that is not ready answers 503. */
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
  throw new Error(`a server did not start: ${await new Response(child.stderr).text()}`);
}
