// A node as a process behind a proxy, which can be killed, stopped, starved, and given another time of day.

import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Api, createApi } from '@latchkey/client/api';
import { spawnSync } from 'bun';
import { type FaultProxy, startFaultProxy } from '#support/fault-proxy.ts';
import { reservePort } from '#support/reserved-port.ts';
import { startService, type TestService } from '#support/service.ts';
import { until } from '#support/until.ts';

interface NodeOptions {
  readonly name: string;
  readonly directory: string;
  readonly databaseUrl: string;
  readonly env: Readonly<Record<string, string>>;
}

const serverMain = join(import.meta.dir, '../../packages/server/src/main.ts');
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
export const apiOf = ({ url: server }: Pick<FaultNode, 'url'>, address: string): Api =>
  createApi({
    server,
    timeoutMs: requestTimeoutMs,
    fetch: (url, init) => {
      const headers = new Headers(init.headers);
      headers.set('X-Forwarded-For', address);
      return fetch(url, { ...init, headers, keepalive: false });
    },
  });

export class FaultNode {
  readonly name: string;
  readonly #options: NodeOptions;
  readonly #port: number;
  readonly #clockFile: string;
  #service: TestService | undefined;
  #epoch = 0;
  /** Between clients and this node. */
  readonly front: FaultProxy;

  private constructor(options: NodeOptions, port: number, front: FaultProxy) {
    this.name = options.name;
    this.#options = options;
    this.#port = port;
    this.front = front;
    this.#clockFile = join(options.directory, `clock-${options.name}`);
  }

  static async start(options: NodeOptions): Promise<FaultNode> {
    const port = reservePort();
    const node = new FaultNode(options, port, await startFaultProxy(port));
    await node.start();
    return node;
  }

  /** Where clients reach it, through the proxy. */
  get url(): string {
    return `http://127.0.0.1:${this.front.port}`;
  }

  get running(): TestService {
    if (!this.#service) throw new Error(`${this.name} does not run`);
    return this.#service;
  }

  /** On SQLite budgets are in its memory. Differs between two processes, and for what one of them still answers while it ends. */
  budgetEpoch(): number {
    return this.#options.databaseUrl.startsWith('sqlite:') ? this.#epoch : 0;
  }

  async start(): Promise<void> {
    const { directory, databaseUrl, env } = this.#options;
    this.#service = await startService({
      directory,
      program,
      databaseUrl,
      env: {
        ...env,
        PORT: String(this.#port),
        BUN_OPTIONS: `--preload ${clockPreload}`,
        FAULTS_CLOCK_FILE: this.#clockFile,
      },
    });
  }

  async kill(): Promise<void> {
    this.#epoch++;
    await this.running.kill();
    this.#epoch++;
  }

  /** Sends SIGTERM, after which it must end without an error. */
  async stop(): Promise<void> {
    this.#epoch++;
    const { running } = this;
    const code = await running.stop();
    this.#epoch++;
    if (code !== 0) throw new Error(`${this.name} ended with ${code}: ${running.stderr()}`);
  }

  setClock(aheadMs: number): void {
    writeFileSync(this.#clockFile, String(aheadMs));
  }

  /** Lets its writes to files fail with an error, or not. */
  limitFiles(isLimited: boolean): void {
    limit(this.running.pid, `--fsize=${isLimited ? '0' : 'unlimited'}:`);
  }

  /** Leaves it no descriptor for another connection, or enough. */
  limitDescriptors(isLimited: boolean): void {
    const { pid } = this.running;
    const open = readdirSync(`/proc/${pid}/fd`).map(Number);
    limit(pid, `--nofile=${isLimited ? Math.max(...open) + 1 : enoughDescriptors}:`);
  }

  /** Resolves when it answers a request that writes. Every try comes from another address, or there would be too many. */
  async recovered(anyAddress: () => string): Promise<void> {
    let reason: unknown;
    const isRecovered = () =>
      apiOf(this, anyAddress())
        .call('startDeviceAuthorization', { body: {} })
        .then(Boolean, (error: unknown) => {
          reason = error;
          return false;
        });
    const log = () => this.running.logs().slice(-30).join('\n');
    await until(isRecovered, () => `${this.name}: ${reason}\n${log()}`);
  }
}
