import { loginMethods } from '@latchkey/contract/sessions';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** All other methods share the label `other`: a client can send any word as a method. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']);

/** From the duration of a cached lookup to one that no client waits for. */
const durationBucketsSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5, 10];

const refreshOutcomes = ['rotated', 'retry', 'race', 'theft', 'ended', 'disabled', 'unknown', 'malformed'];
const mailOutcomes = ['sent', 'failed', 'given_up'];

/** Why sign-ins are refused, by method. */
type Reasons = Readonly<Record<string, readonly string[]>>;

function requestMetrics(registry: Registry) {
  const registers = [registry];
  const requests = new Counter({
    name: 'latchkey_http_requests_total',
    help: 'HTTP requests by route pattern, method and status',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'latchkey_http_request_duration_seconds',
    help: 'Time from request to response by route pattern',
    labelNames: ['route'],
    buckets: durationBucketsSeconds,
    registers,
  });
  return {
    countRequest(route: string, method: string, status: number, seconds: number): void {
      requests.inc({ route, method: methods.has(method) ? method : 'other', status });
      durations.observe({ route }, seconds);
    },
    /** Starts the count of each status of a route and method at 0. */
    expectRequests(route: string, method: string, statuses: Iterable<string>): void {
      for (const status of statuses) requests.inc({ route, method, status }, 0);
      durations.zero({ route });
    },
  };
}

/** The service's metrics. Label values are fixed names, never input from a client. */
export function createMetrics(rateLimitNames: readonly string[], signInFailureReasons: Reasons) {
  const registry = new Registry();
  const registers = [registry];
  /** A counter with one label. Every value starts at 0, because a rate cannot see the first hit of a missing series. */
  const counterBy = <Label extends string>(
    label: Label,
    values: readonly string[],
    name: string,
    help: string,
  ): Counter<Label> => {
    const counter = new Counter({ name, help, labelNames: [label], registers });
    for (const value of values) counter.labels(value).inc(0);
    return counter;
  };
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers });
  /** A number that each process reads from the database. */
  const counted = (name: string, help: string): Gauge => {
    const found = new Gauge({ name, help, registers });
    found.set(Number.NaN);
    return found;
  };
  const signInFailures = new Counter({
    name: 'latchkey_sign_in_failures_total',
    help: 'Refused sign-ins by method and reason, whether or not the account exists. Rate limits count separately.',
    labelNames: ['method', 'reason'],
    registers,
  });
  for (const [method, reasons] of Object.entries(signInFailureReasons))
    for (const reason of reasons) signInFailures.labels(method, reason).inc(0);
  return {
    registry,
    ...requestMetrics(registry),
    logins: counterBy('method', loginMethods, 'latchkey_logins_total', 'Sessions started by method'),
    signInFailures,
    refreshes: counterBy(
      'outcome',
      refreshOutcomes,
      'latchkey_refreshes_total',
      `Token refreshes by outcome: ${refreshOutcomes.join(', ')}`,
    ),
    limitsHit: counterBy(
      'limit',
      rateLimitNames,
      'latchkey_limits_hit_total',
      'Rate limits reached, by limit. Security notices over the limit go into a digest.',
    ),
    limiterFailures: counterBy(
      'limit',
      rateLimitNames,
      'latchkey_limiter_failures_total',
      'Requests that could not be counted against a rate limit because its store was unreachable',
    ),
    mails: counterBy(
      'outcome',
      mailOutcomes,
      'latchkey_mails_total',
      'Email delivery attempts by outcome: sent, failed (will be retried), given_up',
    ),
    mailsWaiting: counted(
      'latchkey_mails_waiting',
      'Emails waiting in the outbox, counted up to 10000; NaN while the database is unreachable',
    ),
    accounts: counted(
      'latchkey_accounts',
      'Accounts, counted every minute or, if there are many, less often',
    ),
    activeSessions: counted(
      'latchkey_active_sessions',
      'Active sign-ins in browsers, on devices and to applications, counted together with the accounts',
    ),
    feedEvents: new Counter({
      name: 'latchkey_feed_events_total',
      help: 'Events handed out to services, each time to each reader',
      registers,
    }),
    feedWaiting: gauge('latchkey_feed_waiting_requests', 'Requests of services that wait for events'),
    untrustedForwards: new Counter({
      name: 'latchkey_untrusted_forwards_total',
      help: 'Requests with forwarding headers from a peer that LATCHKEY_TRUSTED_PROXIES does not name',
      registers,
    }),
    build: new Gauge({
      name: 'latchkey_build_info',
      help: 'Always 1; the labels describe the build',
      labelNames: ['version', 'runtime', 'database'],
      registers,
    }),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;

/** Adds memory, CPU time, event loop lag and other metrics of this process. */
export const observeProcess = (metrics: Metrics): void =>
  collectDefaultMetrics({ register: metrics.registry });
