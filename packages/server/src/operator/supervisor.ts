import type { Config } from '../platform/config/config.ts';
import { ConfigError } from '../platform/config/config-error.ts';
import type { Log } from '../platform/telemetry/log.ts';
import { type MetricsSnapshot, mergeCounts } from '../platform/telemetry/metrics.ts';
import { announce } from './announcement.ts';
import { nextSignal } from './stop-signal.ts';
import { WorkerProcess } from './worker-process.ts';

/** The pause before a worker is replaced doubles each time one ends soon after its start. */
const minPauseMs = 100;
const maxPauseMs = 30_000;
const stableAfterMs = 60_000;

/**
 * Runs the configured number of workers until SIGTERM or SIGINT. Each is a process of this program that listens on the
 * shared port. A worker that ends is replaced; SIGHUP replaces them all, one after the other.
 * @throws {ConfigError} when the first worker does not start
 */
export async function superviseWorkers(config: Config, log: Log): Promise<void> {
  // Workers read the env file again, but the port they share stays.
  const settings = { HOST: config.host, PORT: String(config.port), LATCHKEY_WORKERS: String(config.workers) };
  const workers = new Set<WorkerProcess>();
  /** The counts of workers that have ended. */
  let past: Promise<MetricsSnapshot> = Promise.resolve([]);
  let failures = 0;
  let stopping = false;
  const stopSignal = nextSignal('SIGTERM', 'SIGINT');

  const start = (): WorkerProcess => {
    const worker = new WorkerProcess(settings, async () => {
      const others = [...workers].filter((other) => other !== worker && other.state !== 'starting');
      return [...(await Promise.all(others.map((other) => other.collect()))), await past];
    });
    workers.add(worker);
    void worker.exited.then(() => {
      workers.delete(worker);
      past = past.then((counts) => mergeCounts([counts, worker.metrics]));
    });
    return worker;
  };
  const stopAll = () => {
    stopping = true;
    return Promise.all([...workers].map((worker) => worker.end('SIGTERM')));
  };

  /** Keeps one place filled until the end, with one worker after another. */
  const keepFilled = async (place: { worker: WorkerProcess }): Promise<void> => {
    while (!stopping) {
      const { worker } = place;
      const ending = await worker.exited;
      if (stopping) return;
      if (worker !== place.worker) continue;
      log.error({ worker: worker.pid, ending }, 'a worker has ended');
      failures = performance.now() - worker.startedAt > stableAfterMs ? 0 : failures + 1;
      await Promise.race([stopSignal, Bun.sleep(Math.min(maxPauseMs, minPauseMs * 2 ** (failures - 1)))]);
      if (!stopping && worker === place.worker) place.worker = start();
    }
  };

  try {
    const first = start();
    const stopped = await Promise.race([stopSignal, first.ready]).catch((error: Error) => {
      throw new ConfigError(`A worker does not start: ${error.message}.`);
    });
    if (stopped) return;
    const places = [{ worker: first }];
    while (places.length < config.workers) places.push({ worker: start() });
    for (const place of places) void keepFilled(place);
    const started = Promise.allSettled(places.map(({ worker }) => worker.ready));
    let rolling = started.then(() => (stopping ? undefined : announce({ config, log })));
    process.on('SIGHUP', () => {
      rolling = rolling
        .then(() => replaceAll(places))
        .catch((error: Error) => {
          if (!stopping) log.error({ reason: error.message }, 'the workers stay as they are');
        });
    });
    log.info({ signal: await stopSignal }, 'stopping the workers');
  } finally {
    await stopAll();
  }

  /** Starts the replacement of each worker before that one retires. A replacement that fails leaves the rest in place. */
  async function replaceAll(places: readonly { worker: WorkerProcess }[]): Promise<void> {
    log.info('replacing the workers');
    for (const place of places) {
      if (stopping) return;
      const next = start();
      await next.ready;
      const old = place.worker;
      place.worker = next;
      await old.end('retire');
    }
    log.info('all workers are replaced');
  }
}
