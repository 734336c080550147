import type { Subprocess } from 'bun';
import { workerEnvironment } from '../platform/config/environment.ts';
import type { MetricsSnapshot } from '../platform/telemetry/metrics.ts';
import type { FromWorker, ToWorker } from './worker.ts';

/** A worker that takes longer to start is stuck. */
const startTimeoutMs = 30_000;
/** Longer than a worker waits for its requests in flight. */
const stopTimeoutMs = 15_000;

/** Probes are counted, not timed, so that workers survive a machine that slept. */
const probeIntervalMs = 2_000;
const maxUnansweredProbes = 5;
/** After this wait for a busy worker, its last known metrics are used. */
const metricsTimeoutMs = 1_000;

/** One worker, as its supervisor sees it. */
export class WorkerProcess {
  readonly startedAt = performance.now();
  /** Rejects when the process ends before it accepts connections, or takes too long. */
  readonly ready: Promise<void>;
  /** Resolves when the process has ended: with its signal or status, and why it was killed. */
  readonly exited: Promise<string>;
  state: 'starting' | 'serving' | 'leaving' = 'starting';
  metrics: MetricsSnapshot = [];
  readonly #process: Subprocess<'ignore', 'inherit', 'inherit'>;
  readonly #ready = Promise.withResolvers<void>();
  #collected = Promise.withResolvers<void>();
  #unansweredProbes = 0;

  /** Starts this program again, with its arguments and these settings. */
  constructor(settings: Record<string, string>, gather: () => Promise<readonly MetricsSnapshot[]>) {
    this.#process = Bun.spawn(ownCommand(), {
      env: { ...workerEnvironment(settings) },
      stdio: ['ignore', 'inherit', 'inherit'],
      serialization: 'advanced',
      ipc: (message: FromWorker) => void this.#handle(message, gather),
    });
    let killedBecause = '';
    const kill = (reason: string) => {
      killedBecause = `, because ${reason}`;
      this.#ready.reject(new Error(reason));
      this.#process.kill('SIGKILL');
    };
    const startTimer = setTimeout(() => {
      if (this.state === 'starting') kill(`it was not ready within ${startTimeoutMs / 1000} s`);
    }, startTimeoutMs);
    const probe = setInterval(() => {
      if (this.state !== 'serving') return;
      if (this.#unansweredProbes < maxUnansweredProbes) this.#probe();
      else kill(`it did not respond for ${(maxUnansweredProbes * probeIntervalMs) / 1000} s`);
    }, probeIntervalMs);
    this.ready = this.#ready.promise;
    this.ready.catch(() => undefined);
    this.exited = this.#process.exited.then(() => {
      clearTimeout(startTimer);
      clearInterval(probe);
      const ending = String(this.#process.signalCode ?? this.#process.exitCode);
      this.#ready.reject(new Error(`it ended with ${ending}`));
      this.#collected.resolve();
      return ending + killedBecause;
    });
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** Resolves when the worker has ended: by SIGTERM as the service ends, or after another one has taken its place. */
  async end(how: 'SIGTERM' | 'retire'): Promise<void> {
    this.state = 'leaving';
    if (how === 'SIGTERM') this.#process.kill('SIGTERM');
    else this.#send({ type: 'retire' });
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), stopTimeoutMs);
    await this.exited;
    clearTimeout(timer);
  }

  /** Returns the current metrics, or the last known ones of a worker that does not answer. */
  async collect(): Promise<MetricsSnapshot> {
    this.#probe();
    await Promise.race([this.#collected.promise, Bun.sleep(metricsTimeoutMs)]);
    return this.metrics;
  }

  #probe(): void {
    this.#unansweredProbes += 1;
    this.#send({ type: 'collect' });
  }

  async #handle(message: FromWorker, gather: () => Promise<readonly MetricsSnapshot[]>): Promise<void> {
    this.#unansweredProbes = 0;
    if (message.type === 'ready') {
      if (this.state === 'starting') this.state = 'serving';
      return this.#ready.resolve();
    }
    this.metrics = message.own;
    if (message.type === 'gather')
      return this.#send({ type: 'gathered', id: message.id, others: await gather() });
    this.#collected.resolve();
    this.#collected = Promise.withResolvers();
  }

  /** A worker that has just ended gets no message. */
  #send(message: ToWorker): void {
    try {
      this.#process.send(message);
    } catch {
      // Handled when the process exits.
    }
  }
}

/** The command that runs this process. A single-file executable has no script of its own. */
const ownCommand = (): string[] => {
  const [, script = '', ...options] = process.argv;
  return Bun.main.startsWith('/$bunfs/')
    ? [process.execPath, ...options]
    : [process.execPath, ...process.execArgv, script, ...options];
};
