import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** Methods that have a name of their own in the metrics; a client may send any word. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']);

/** From what a cached look-up takes to what nobody waits for. */
const durationBucketsSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5, 10];

/** Requests with the same labels, which are counted many at a time: one by one costs several times as much. */
interface RequestKind {
  readonly count: Counter.Internal;
  readonly duration: Histogram.Internal<'route'>;
  readonly seconds: number[];
}

/** How many requests of one kind wait to be counted at most. */
const greatestPending = 256;

function flush({ count, duration, seconds }: RequestKind): void {
  if (seconds.length === 0) return;
  count.inc(seconds.length);
  for (const value of seconds) duration.observe(value);
  seconds.length = 0;
}

/** What the process counts. Labels hold names that the program knows, never what a client sent. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  /** Requests not counted yet, by what they have in common. Labels are few: none is a client's. */
  const pending = new Map<string, RequestKind>();
  const flushAll = () => pending.forEach(flush);
  const requests = new Counter({
    name: 'latchkey_http_requests_total',
    help: 'Requests by pattern of the route, method and status',
    labelNames: ['route', 'method', 'status'],
    registers,
    collect: flushAll,
  });
  const durations = new Histogram({
    name: 'latchkey_http_request_duration_seconds',
    help: 'Time from a request to its answer, by pattern of the route',
    labelNames: ['route'],
    buckets: durationBucketsSeconds,
    registers,
    collect: flushAll,
  });

  return {
    registry,
    countRequest(route: string, method: string, status: number, seconds: number): void {
      const known = methods.has(method) ? method : 'other';
      const key = `${status} ${known} ${route}`;
      let kind = pending.get(key);
      if (!kind) {
        kind = {
          count: requests.labels(route, known, String(status)),
          duration: durations.labels(route),
          seconds: [],
        };
        pending.set(key, kind);
      }
      kind.seconds.push(seconds);
      if (kind.seconds.length >= greatestPending) flush(kind);
    },
    logins: new Counter({
      name: 'latchkey_logins_total',
      help: 'Sessions started, by method',
      labelNames: ['method'],
      registers,
    }),
    refreshes: new Counter({
      name: 'latchkey_refreshes_total',
      help: 'Refreshes of tokens by outcome: rotated, retry, race, theft, over, disabled, unknown, malformed',
      labelNames: ['outcome'],
      registers,
    }),
    limitsHit: new Counter({
      name: 'latchkey_limits_hit_total',
      help: 'Requests refused by a limit, by its name',
      labelNames: ['limit'],
      registers,
    }),
    limiterFailures: new Counter({
      name: 'latchkey_limiter_failures_total',
      help: 'Times a limit could not be counted because its store was out of reach',
      labelNames: ['limit'],
      registers,
    }),
    mails: new Counter({
      name: 'latchkey_mails_total',
      help: 'Attempts to deliver a mail by outcome: sent, failed (tried again), given_up',
      labelNames: ['outcome'],
      registers,
    }),
    mailsWaiting: new Gauge({
      name: 'latchkey_mails_waiting',
      help: 'Mails in the outbox that wait, counted up to 10000; NaN while the store is out of reach',
      registers,
    }),
    untrustedForwards: new Counter({
      name: 'latchkey_untrusted_forwards_total',
      help: 'Requests with forwarding headers from a peer that LATCHKEY_TRUSTED_PROXIES does not name',
      registers,
    }),
    build: new Gauge({
      name: 'latchkey_build_info',
      help: 'Always 1; the labels say what runs',
      labelNames: ['version', 'runtime', 'database'],
      registers,
    }),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;

/** Adds memory, processor time, event loop and the like of this process. */
export const observeProcess = (metrics: Metrics): void =>
  collectDefaultMetrics({ register: metrics.registry });
