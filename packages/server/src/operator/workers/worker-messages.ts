import type { MetricsSnapshot } from '../../platform/telemetry/metrics.ts';

/** What a worker tells its supervisor. */
export type FromWorker =
  | { readonly type: 'ready' }
  /** Asks for the metrics of the other workers, and brings its own. */
  | { readonly type: 'gather'; readonly id: number; readonly own: MetricsSnapshot }
  /** Its own metrics, because it was asked for them or because it ends. */
  | { readonly type: 'metrics'; readonly own: MetricsSnapshot };

/** What the supervisor tells a worker. */
export type ToWorker =
  /** Another worker has taken its place. */
  | { readonly type: 'retire' }
  /** Asks for a `metrics` message. */
  | { readonly type: 'collect' }
  | { readonly type: 'gathered'; readonly id: number; readonly others: readonly MetricsSnapshot[] };
