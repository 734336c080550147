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
const maxPending = 256;

function flush({ count, duration, seconds }: RequestKind): void {
  if (seconds.length === 0) return;
  count.inc(seconds.length);
  for (const value of seconds) duration.observe(value);
  seconds.length = 0;
}

const loginMethods = ['magic_link', 'email_code', 'passkey', 'device_code'];
const refreshOutcomes = ['rotated', 'retry', 'race', 'theft', 'over', 'disabled', 'unknown', 'malformed'];
const mailOutcomes = ['sent', 'failed', 'given_up'];

/** A counter by one label that starts with a 0 for each value: a rate over a series that is not there sees no first hit. */
function counterBy<Label extends string>(
  registry: Registry,
  [name, help]: readonly [string, string],
  label: Label,
  values: readonly string[],
): Counter<Label> {
  const counter = new Counter({ name, help, labelNames: [label], registers: [registry] });
  for (const value of values) counter.labels(value).inc(0);
  return counter;
}

/** What the process counts. Labels hold names that the program knows, never what a client sent. */
export function createMetrics(rateLimitNames: readonly string[]) {
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
      if (kind.seconds.length >= maxPending) flush(kind);
    },
    /** Starts the counts of a route and method with a 0 for each status. */
    expectRequests(route: string, method: string, statuses: Iterable<string>): void {
      for (const status of statuses) requests.labels(route, method, status).inc(0);
      durations.zero({ route });
    },
    logins: counterBy(
      registry,
      ['latchkey_logins_total', 'Sessions started, by method'],
      'method',
      loginMethods,
    ),
    refreshes: counterBy(
      registry,
      ['latchkey_refreshes_total', `Refreshes of tokens by outcome: ${refreshOutcomes.join(', ')}`],
      'outcome',
      refreshOutcomes,
    ),
    limitsHit: counterBy(
      registry,
      ['latchkey_limits_hit_total', 'Requests refused by a limit, by its name'],
      'limit',
      rateLimitNames,
    ),
    limiterFailures: counterBy(
      registry,
      [
        'latchkey_limiter_failures_total',
        'Times a limit could not be counted because its store was out of reach',
      ],
      'limit',
      rateLimitNames,
    ),
    mails: counterBy(
      registry,
      ['latchkey_mails_total', 'Attempts to deliver a mail by outcome: sent, failed (tried again), given_up'],
      'outcome',
      mailOutcomes,
    ),
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
