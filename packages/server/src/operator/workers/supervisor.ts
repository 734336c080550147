import type { Config } from '../../platform/config/config.ts';
import { ConfigError } from '../../platform/config/config-error.ts';
import type { Log } from '../../platform/telemetry/log.ts';
import { type MetricsSnapshot, mergeCounts } from '../../platform/telemetry/metrics.ts';
import { announce } from '../announcement.ts';
import { nextSignal } from '../stop-signal.ts';
import { WorkerProcess } from './worker-process.ts';

/** The pause before a worker is replaced doubles with each one that ends soon after its start. */
const minPauseMs = 100;
const maxPauseMs = 30_000;
const maxDoublings = 10;
const soundAfterMs = 60_000;

/**
 * Runs as many workers as the settings say, until SIGTERM or SIGINT. Each is a process of this program that listens on the
 * same port. One that ends by itself is replaced; SIGHUP replaces all of them, one after the other.
 * @throws {ConfigError} when the first worker does not start
 */
export async function superviseWorkers(config: Config, log: Log): Promise<void> {
  const stopSignal = nextSignal('SIGTERM', 'SIGINT');
  const supervisor = new Supervisor(config, log);
  process.on('SIGHUP', () => supervisor.replaceAll());
  try {
    const started = supervisor.start().then(() => announce({ config, log }));
    await Promise.race([started, stopSignal]);
    log.info({ signal: await stopSignal }, 'stopping the workers');
  } finally {
    await supervisor.stop();
  }
}

class Supervisor {
  readonly #settings: Readonly<Record<string, string>>;
  readonly #count: number;
  readonly #log: Log;
  readonly #workers = new Set<WorkerProcess>();
  /** What workers that have ended had counted. */
  #past: Promise<MetricsSnapshot> = Promise.resolve([]);
  /** How many workers in a row ended soon after their start. */
  #failures = 0;
  /** SIGHUPs that are not followed yet. */
  #requests = 0;
  /** The worker that ends when its replacement is ready. */
  #outgoing: WorkerProcess | undefined;
  readonly #started = Promise.withResolvers<void>();
  #replacesEnded = false;
  #stopping = false;

  constructor({ host, port, workers }: Config, log: Log) {
    // What all workers share stays as it was, even if the env file has changed.
    this.#settings = { HOST: host, PORT: String(port), LATCHKEY_WORKERS: String(workers) };
    this.#count = workers;
    this.#log = log;
  }

  /**
   * Starts the first worker alone, so that whatever is wrong is said once. Any later one that ends is replaced.
   * @throws {ConfigError} when the first one does not start
   */
  async start(): Promise<void> {
    try {
      await this.#add().ready;
    } catch (error) {
      throw new ConfigError(`A worker does not start: ${(error as Error).message}.`);
    }
    if (this.#stopping) return;
    this.#replacesEnded = true;
    await Promise.allSettled(Array.from({ length: this.#count - 1 }, () => this.#add().ready));
    this.#started.resolve();
  }

  /** Replaces the workers one by one, once all have started. A request that comes meanwhile does it once more. */
  async replaceAll(): Promise<void> {
    this.#requests += 1;
    if (this.#requests > 1) return;
    await this.#started.promise;
    while (this.#requests > 0 && !this.#stopping) {
      const followed = this.#requests;
      this.#log.info('replacing the workers');
      try {
        for (const old of [...this.#workers]) await this.#replace(old);
        if (!this.#stopping) this.#log.info('all workers are replaced');
      } catch (error) {
        if (this.#stopping) return;
        this.#log.error({ reason: (error as Error).message }, 'the workers stay as they are');
      }
      this.#requests -= followed;
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#workers].map((worker) => worker.stop()));
  }

  /** Ends the old worker when the new one is ready. */
  async #replace(old: WorkerProcess): Promise<void> {
    if (this.#stopping || old.state !== 'serving' || !this.#workers.has(old)) return;
    this.#outgoing = old;
    try {
      await this.#add().ready;
      if (!this.#stopping && this.#workers.has(old)) await old.retire();
    } finally {
      this.#outgoing = undefined;
    }
  }

  #add(): WorkerProcess {
    const worker = new WorkerProcess(this.#settings, {
      onGather: (asking) => this.#metricsBesides(asking),
      onExit: (ended) => this.#remove(ended),
    });
    this.#workers.add(worker);
    return worker;
  }

  #remove(worker: WorkerProcess): void {
    this.#workers.delete(worker);
    this.#past = this.#past.then((past) => mergeCounts([past, worker.lastMetrics]));
    if (worker.state === 'leaving' || this.#stopping) return;
    const ending = { worker: worker.pid, ending: worker.ending };
    this.#log.error(ending, worker.state === 'starting' ? 'a worker does not start' : 'a worker has ended');
    if (performance.now() - worker.startedAt > soundAfterMs) this.#failures = 0;
    if (this.#replacesEnded) void this.#fillUpAfterPause();
  }

  /** Starts a worker if one is missing. If it ends at once, the next pause is longer. */
  async #fillUpAfterPause(): Promise<void> {
    const pauseMs = Math.min(maxPauseMs, minPauseMs * 2 ** Math.min(this.#failures, maxDoublings));
    this.#failures += 1;
    await Bun.sleep(pauseMs);
    const staying = [...this.#workers].filter(
      (worker) => worker.state !== 'leaving' && worker !== this.#outgoing,
    );
    if (!this.#stopping && staying.length < this.#count) this.#add();
  }

  async #metricsBesides(asking: WorkerProcess): Promise<readonly MetricsSnapshot[]> {
    const others = [...this.#workers].filter((worker) => worker !== asking && worker.state !== 'starting');
    return [...(await Promise.all(others.map((worker) => worker.metrics()))), await this.#past];
  }
}
