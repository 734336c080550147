import type { Subprocess } from 'bun';
import { workerEnvironment } from '../../platform/config/environment.ts';
import type { MetricsSnapshot } from '../../platform/telemetry/metrics.ts';
import type { FromWorker, ToWorker } from './worker-messages.ts';

/** A worker that takes longer to start is stuck. */
const startDeadlineMs = 30_000;

/**
 * How often a serving worker is asked for its metrics, which every release answers, and how long it may leave that unanswered. The
 * requests are counted instead of the time, because the whole machine may have slept.
 */
const askIntervalMs = 2_000;
const hungAfterMs = 10_000;

/** Longer than a worker waits for what is in flight. */
const stopDeadlineMs = 15_000;

/** How long to wait for the metrics of a busy worker before its last ones are used. */
const metricsDeadlineMs = 1_000;

export interface WorkerEvents {
  /** Asked for the metrics of the other workers. */
  readonly onGather: (worker: WorkerProcess) => Promise<readonly MetricsSnapshot[]>;
  readonly onExit: (worker: WorkerProcess) => void;
}

/** One worker, as its supervisor sees it. */
export class WorkerProcess {
  readonly startedAt = performance.now();
  /** Rejects when the process ends before it accepts connections, or takes too long. */
  readonly ready: Promise<void>;
  state: 'starting' | 'serving' | 'leaving' = 'starting';
  lastMetrics: MetricsSnapshot = [];
  readonly #process: Subprocess<'ignore', 'inherit', 'inherit'>;
  readonly #events: WorkerEvents;
  readonly #waiting = new Set<() => void>();
  readonly #ready = Promise.withResolvers<void>();
  #asking: NodeJS.Timeout | undefined;
  #unanswered = 0;
  #isHung = false;

  /** Starts this program once more, with its arguments and these settings. */
  constructor(settings: Readonly<Record<string, string>>, events: WorkerEvents) {
    this.#events = events;
    this.ready = this.#ready.promise;
    // Whoever started the worker may learn of its end before it waits for `ready`.
    this.ready.catch(() => undefined);
    this.#process = Bun.spawn(ownCommand(), {
      env: { ...workerEnvironment(settings) },
      stdin: 'ignore',
      stdout: 'inherit',
      stderr: 'inherit',
      serialization: 'advanced',
      ipc: (message: FromWorker) => void this.#handle(message),
    });
    const timer = setTimeout(() => this.#giveUpStart(), startDeadlineMs);
    this.ready.finally(() => clearTimeout(timer)).catch(() => undefined);
    void this.#process.exited.then(() => this.#handleExit());
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** How the process ended: the name of a signal, or its exit status, and why it was killed. */
  get ending(): string {
    const ending = String(this.#process.signalCode ?? this.#process.exitCode);
    return this.#isHung ? `${ending}, because it did not respond for ${hungAfterMs / 1000} s` : ending;
  }

  /** Ends the worker because another one has taken its place. Resolves when it has ended. */
  retire(): Promise<void> {
    this.#send({ type: 'retire' });
    return this.#leave();
  }

  /** Ends the worker as SIGTERM ends the service. Resolves when it has ended. */
  stop(): Promise<void> {
    this.#process.kill('SIGTERM');
    return this.#leave();
  }

  /** The metrics of the worker, or its last ones if it does not answer. */
  async metrics(): Promise<MetricsSnapshot> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, metricsDeadlineMs);
    this.#waiting.add(resolve);
    this.#send({ type: 'collect' });
    await promise;
    this.#waiting.delete(resolve);
    clearTimeout(timer);
    return this.lastMetrics;
  }

  #giveUpStart(): void {
    this.#ready.reject(new Error(`it was not ready within ${startDeadlineMs / 1000} s`));
    this.#process.kill('SIGKILL');
  }

  async #leave(): Promise<void> {
    this.state = 'leaving';
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), stopDeadlineMs);
    await this.#process.exited;
    clearTimeout(timer);
  }

  #askOrKill(): void {
    if (this.state !== 'serving') return;
    if (this.#unanswered * askIntervalMs >= hungAfterMs) {
      this.#isHung = true;
      this.#process.kill('SIGKILL');
      return;
    }
    this.#unanswered += 1;
    this.#send({ type: 'collect' });
  }

  async #handle(message: FromWorker): Promise<void> {
    this.#unanswered = 0;
    if (message.type === 'ready') {
      if (this.state === 'starting') this.state = 'serving';
      this.#asking = setInterval(() => this.#askOrKill(), askIntervalMs);
      this.#ready.resolve();
      return;
    }
    this.lastMetrics = message.own;
    if (message.type === 'metrics') for (const answered of this.#waiting) answered();
    else this.#send({ type: 'gathered', id: message.id, others: await this.#events.onGather(this) });
  }

  #handleExit(): void {
    clearInterval(this.#asking);
    this.#ready.reject(new Error(`it ended with ${this.ending}`));
    for (const answered of this.#waiting) answered();
    this.#events.onExit(this);
  }

  /** A worker that has just ended gets no message. */
  #send(message: ToWorker): void {
    try {
      this.#process.send(message);
    } catch {
      // Its end is noticed elsewhere.
    }
  }
}

/** The command that runs this process. A program compiled into one file has no script of its own. */
const ownCommand = (): string[] => {
  const [, script = '', ...options] = process.argv;
  return Bun.main.startsWith('/$bunfs/')
    ? [process.execPath, ...options]
    : [process.execPath, ...process.execArgv, script, ...options];
};
