// Three nodes on one PostgreSQL database and five processes of services that read the feed of one of them, through
// connections that break.

import { type Api, createApi } from '@latchkey/client/api';
import { LatchkeyError } from '@latchkey/client/errors';
import { createContext } from '../../packages/server/src/create-context.ts';
import { readLogKeys } from '../../packages/server/src/platform/config/server-keys.ts';
import type { Context } from '../../packages/server/src/platform/context.ts';
import { parseKeyRing } from '../../packages/server/src/platform/crypto/key-ring.ts';
import { openClock } from '../../packages/server/src/platform/database/clock.ts';
import { openDatabase } from '../../packages/server/src/platform/database/database.ts';
import { createLogger } from '../../packages/server/src/platform/telemetry/log.ts';
import { systemTimers } from '../../packages/server/src/platform/timers.ts';
import { readConfig } from '../../packages/server/src/settings.ts';
import { type LossyProxy, startLossyProxy } from '../support/lossy-proxy.ts';
import { startPostgres } from '../support/postgres.ts';
import type { Random } from '../support/random.ts';
import { reservePort } from '../support/reserved-port.ts';
import { startService, type TestService } from '../support/service.ts';
import { declareService } from '../support/services.ts';
import { startWorker, type Worker } from '../support/worker.ts';
import type { Outcome } from './recorder.ts';

const nodeCount = 3;
const serviceCount = 5;
const program = '../history/service-worker.ts';
const requestTimeoutMs = 5_000;
/** The share of chunks of data with which a connection is cut. */
const lossShare = 0.004;

/** A process of a service, which can be killed and started again. */
export interface ServiceProcess {
  readonly name: string;
  verify(token: string): Promise<Outcome>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface Cluster {
  /** The context of a program on the cluster's database, as a command of the operator has it. */
  readonly operator: Context;
  readonly services: readonly ServiceProcess[];
  /** `id:secret` of a service that may read the feed and act in runs. */
  readonly serviceKey: string;
  /** The SDK against one of the nodes. */
  api(index: number): Api;
  /** The same through a connection that breaks. */
  unreliableApi(index: number): Api;
  /** Kills a node with SIGKILL and starts it again on its port after some time. */
  restartNode(index: number, afterMs: number): Promise<void>;
  /** No connection breaks from now on; returns how many requests and responses were lost. */
  mend(): number;
  stop(): Promise<void>;
}

export async function startCluster(random: Random): Promise<Cluster> {
  const databaseUrl = await (await startPostgres()).createDatabase();
  // Without leeway every refresh token that was spent before counts as stolen.
  const env = { LATCHKEY_REFRESH_REUSE_LEEWAY: '0' };
  const nodes = await Promise.all(
    Array.from({ length: nodeCount }, () =>
      startService({ databaseUrl, env: { ...env, PORT: String(reservePort()) } }),
    ),
  );
  const operator = await openOperator({
    DATABASE_URL: databaseUrl,
    LATCHKEY_KEYS: nodes[0]!.env['LATCHKEY_KEYS']!,
  });
  const { key: serviceKey } = await declareService(operator, { rights: ['feed', 'delegate'] });
  const portOf = ({ env }: TestService) => Number(env['PORT']);
  const losses = { requests: lossShare, answers: lossShare, random: random.next };
  const proxies = await Promise.all(nodes.map((node) => startLossyProxy(portOf(node), losses)));
  const services = Array.from({ length: serviceCount }, (_, index) =>
    startServiceProcess(`s${index}`, proxies[index % nodeCount]!.url, serviceKey),
  );
  const timeoutMs = requestTimeoutMs;
  return {
    operator,
    services,
    serviceKey,
    api: (index) => createApi({ server: nodes[index % nodeCount]!.url, timeoutMs }),
    unreliableApi: (index) => createApi({ server: proxies[index % nodeCount]!.url, timeoutMs }),
    restartNode: async (index, afterMs) => {
      const node = nodes[index % nodeCount]!;
      await node.kill();
      await Bun.sleep(afterMs);
      const PORT = String(portOf(node));
      nodes[index % nodeCount] = await startService({ databaseUrl, env: { ...env, PORT } });
    },
    mend: () => {
      for (const proxy of proxies) proxy.mend();
      return proxies.reduce((sum, { lost }: LossyProxy) => sum + lost.requests + lost.answers, 0);
    },
    stop: async () => {
      await Promise.all(services.map((service) => service.stop()));
      for (const proxy of proxies) proxy.close();
      await Promise.all(nodes.map((node) => node.stop()));
      await operator.db.close();
    },
  };
}

/** By the clock of the database, which the nodes have, too. */
async function openOperator(settings: Record<string, string>): Promise<Context> {
  const config = readConfig(settings);
  const log = createLogger('silent');
  const keys = parseKeyRing(settings['LATCHKEY_KEYS']!);
  const db = await openDatabase(config.databaseUrl, { log });
  const timers = systemTimers;
  const logKeys = readLogKeys(keys, settings);
  return createContext({ config, log, db, keys, logKeys, timers, clock: await openClock(db, timers) });
}

function startServiceProcess(name: string, server: string, serviceKey: string): ServiceProcess {
  const pending = new Map<number, (outcome: Outcome) => void>();
  let asked = 0;
  const listen = async (worker: Worker): Promise<void> => {
    for (;;) {
      const answer: { n: number; outcome: Outcome } | undefined = await worker.hear();
      if (answer === undefined) break;
      pending.get(answer.n)?.(answer.outcome);
      pending.delete(answer.n);
    }
    for (const resolve of pending.values()) resolve('unknown');
    pending.clear();
  };
  const start = () => {
    const worker = startWorker([process.execPath], program, server, serviceKey);
    return { worker, ended: listen(worker) };
  };
  let current: ReturnType<typeof start> | undefined = start();
  return {
    name,
    verify: async (token) => {
      if (!current) return 'unknown';
      const n = ++asked;
      const { promise, resolve } = Promise.withResolvers<Outcome>();
      pending.set(n, resolve);
      current.worker.say({ n, token });
      return promise;
    },
    restart: async () => {
      const killed = current!;
      current = undefined;
      killed.worker.signal('SIGKILL');
      await killed.ended;
      current = start();
    },
    stop: async () => {
      await current?.worker.finish();
    },
  };
}

/** Whether an error is an answer that refuses the credential or the request, so that nothing has changed. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof LatchkeyError && [400, 401, 403, 404, 409].includes(error.status ?? 0);
