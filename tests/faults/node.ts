// A node as a process behind a proxy, which can be killed, stopped, starved, and given another time of day.

import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Api, createApi } from '@latchkey/client/api';
import { spawnSync } from 'bun';
import { startFaultProxy } from '#support/fault-proxy.ts';
import { reservePort } from '#support/reserved-port.ts';
import { serverMain, startService, type TestService } from '#support/service.ts';
import { until } from '#support/until.ts';

interface NodeOptions {
  readonly name: string;
  readonly directory: string;
  readonly databaseUrl: string;
  readonly env: Readonly<Record<string, string>>;
}

const clockPreload = join(import.meta.dir, 'clock-preload.ts');
/** A write beyond the size that a file may have then fails with an error, and kills nobody. */
const program = ['sh', '-c', 'trap "" XFSZ; exec "$0" "$@"', process.execPath, serverMain];
const enoughDescriptors = 1024;

/** Sets a soft limit of a process that runs. */
function limit(pid: number, option: string): void {
  const { success, stderr } = spawnSync(['prlimit', `--pid=${pid}`, option]);
  if (!success) throw new Error(String(stderr));
}

const requestTimeoutMs = 6_000;

/**
 * The SDK against a node, from this address. Every request has a connection of its own: over one that was kept, the
 * runtime may send a request a second time without saying so.
 */
export const apiOf = ({ url: server }: { readonly url: string }, address: string): Api =>
  createApi({
    server,
    timeoutMs: requestTimeoutMs,
    fetch: (url, init) => {
      const headers = new Headers(init.headers);
      headers.set('X-Forwarded-For', address);
      return fetch(url, { ...init, headers, keepalive: false });
    },
  });

export type FaultNode = Awaited<ReturnType<typeof startFaultNode>>;

export async function startFaultNode({ name, directory, databaseUrl, env }: NodeOptions) {
  const port = reservePort();
  const front = await startFaultProxy(port);
  const clockFile = join(directory, `clock-${name}`);
  const settings = {
    ...env,
    PORT: String(port),
    BUN_OPTIONS: `--preload ${clockPreload}`,
    FAULTS_CLOCK_FILE: clockFile,
  };
  const launch = () => startService({ directory, program, databaseUrl, env: settings });
  let running = await launch();
  let epoch = 0;
  const url = `http://127.0.0.1:${front.port}`;
  return {
    name,
    /** Between clients and this node. */
    front,
    /** Where clients reach it, through the proxy. */
    url,
    running: (): TestService => running,
    /** On SQLite budgets are in its memory. Differs between two processes, and for what one of them still answers while it ends. */
    budgetEpoch: (): number => (databaseUrl.startsWith('sqlite:') ? epoch : 0),
    start: async (): Promise<void> => {
      running = await launch();
    },
    kill: async (): Promise<void> => {
      epoch++;
      await running.kill();
      epoch++;
    },
    /** Sends SIGTERM, after which it must end without an error. */
    stop: async (): Promise<void> => {
      epoch++;
      const code = await running.stop();
      epoch++;
      if (code !== 0) throw new Error(`${name} ended with ${code}: ${running.stderr()}`);
    },
    setClock: (aheadMs: number): void => writeFileSync(clockFile, String(aheadMs)),
    /** Lets its writes to files fail with an error, or not. */
    limitFiles: (isLimited: boolean): void => limit(running.pid, `--fsize=${isLimited ? '0' : 'unlimited'}:`),
    /** Leaves it no descriptor for another connection, or enough. */
    limitDescriptors: (isLimited: boolean): void => {
      const open = readdirSync(`/proc/${running.pid}/fd`).map(Number);
      limit(running.pid, `--nofile=${isLimited ? Math.max(...open) + 1 : enoughDescriptors}:`);
    },
    /** Resolves when it answers a request that writes. Every try comes from another address, or there would be too many. */
    recovered: async (anyAddress: () => string): Promise<void> => {
      let reason: unknown;
      const isRecovered = () =>
        apiOf({ url }, anyAddress())
          .call('startDeviceAuthorization', { body: {} })
          .then(Boolean, (error: unknown) => {
            reason = error;
            return false;
          });
      const log = () => running.logs().slice(-30).join('\n');
      await until(isRecovered, () => `${name}: ${reason}\n${log()}`);
    },
  };
}
