import { isWorker } from '../platform/config/environment.ts';
import type { MetricsSnapshot } from '../platform/telemetry/metrics.ts';

/** What a worker tells its supervisor. */
export type FromWorker =
  | { readonly type: 'ready' }
  /** Its metrics, on request or before it ends. */
  | { readonly type: 'metrics'; readonly own: MetricsSnapshot }
  /** Requests the metrics of all other workers. */
  | { readonly type: 'gather'; readonly id: number; readonly own: MetricsSnapshot };

/** What the supervisor tells a worker. */
export type ToWorker =
  /** Another worker has taken its place. */
  | { readonly type: 'retire' }
  /** Requests a `metrics` message. */
  | { readonly type: 'collect' }
  | { readonly type: 'gathered'; readonly id: number; readonly others: readonly MetricsSnapshot[] };

export type SupervisorConnection = NonNullable<ReturnType<typeof connectToSupervisor>>;

/** Connects to the supervisor; undefined in a process that no supervisor has started. */
export function connectToSupervisor() {
  if (!isWorker() || !process.send) return undefined;
  const retired = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<void>();
  const waiting = new Map<number, (others: readonly MetricsSnapshot[]) => void>();
  let takeSnapshot: (() => Promise<MetricsSnapshot>) | undefined;
  let lastId = 0;
  const handle = async (message: ToWorker): Promise<void> => {
    if (message.type === 'retire') retired.resolve();
    else if (message.type === 'collect') {
      if (takeSnapshot) await send({ type: 'metrics', own: await takeSnapshot() });
    } else {
      waiting.get(message.id)?.(message.others);
      waiting.delete(message.id);
    }
  };
  process.on('message', (message: ToWorker) => void handle(message));
  process.on('disconnect', () => {
    lost.resolve();
    for (const answer of waiting.values()) answer([]);
  });
  return {
    /** Resolves when another worker has taken the place of this one. */
    retired: retired.promise,
    /** Resolves when the supervisor has ended, however it did. */
    lost: lost.promise,
    /** Says that this worker accepts connections, and answers for its metrics from now on. */
    ready(snapshot: () => Promise<MetricsSnapshot>): void {
      takeSnapshot = snapshot;
      void send({ type: 'ready' });
    },
    /** The metrics of all other workers, and what those that ended had counted. */
    otherMetrics(own: MetricsSnapshot): Promise<readonly MetricsSnapshot[]> {
      if (!process.connected) return Promise.resolve([]);
      const { promise, resolve } = Promise.withResolvers<readonly MetricsSnapshot[]>();
      const id = ++lastId;
      waiting.set(id, resolve);
      void send({ type: 'gather', id, own });
      return promise;
    },
    /** Hands over what this worker has counted. */
    leave: (own: MetricsSnapshot): Promise<void> => send({ type: 'metrics', own }),
  };
}

/** Resolves when the message is on its way, or cannot be sent because the supervisor has ended. */
const send = (message: FromWorker): Promise<void> =>
  new Promise((resolve) => {
    if (!process.connected) resolve();
    else process.send?.(message, undefined, undefined, () => resolve());
  });
