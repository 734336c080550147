import { AsyncLocalStorage } from 'node:async_hooks';
import pino, { type Logger } from 'pino';

/** How long lines wait to be written together. */
const maxWaitMs = 10;

/** PIPE_BUF on Linux: up to this many, writes of several processes do not mix. */
const maxBatch = 4096;

/** How long an exiting process waits until its log has been read. */
const maxFlushMs = 1_000;

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** The service's logger: pino, with a faster way to write the one line that every request gets. */
export type Log = Logger & {
  /** Writes the line that `info(entry, 'request')` or `debug` would, in a third of pino's time. */
  readonly request: (level: 'debug' | 'info', entry: RequestLogEntry) => void;
};

/** What the log says about a request: names and numbers of our own, never a raw path, query or header. */
export interface RequestLogEntry {
  readonly request_id: string;
  readonly method: string;
  /** The pattern of its route. */
  readonly route: string;
  readonly status: number;
  readonly outcome: string;
  readonly detail: string | undefined;
  readonly duration_ms: number;
  /** Of a traced request. */
  readonly trace_id?: string | undefined;
  readonly span_id?: string | undefined;
}

/** Logs to standard output. */
export const createLogger = (level: LogLevel | 'silent'): Log => createLoggerTo(batchedStdout(), level);

/** Resolves once all lines have been written, or after a while if the reader hangs. */
export const written = (log: Log): Promise<void> =>
  Promise.race([new Promise<void>((resolve) => log.flush(() => resolve())), Bun.sleep(maxFlushMs)]);

/** Logs one JSON object per line to a destination. */
export function createLoggerTo(destination: pino.DestinationStream, level: string): Log {
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
  const request: Log['request'] = (level, entry) => {
    if (!log.isLevelEnabled(level)) return;
    const head = `"level":${log.levels.values[level]},"time":"${new Date().toISOString()}"`;
    // Joined as text: serializing one object with all members takes a third longer.
    destination.write(`{${head},${JSON.stringify(entry).slice(1, -1)},"msg":"request"}\n`);
  };
  return Object.assign(log, { request });
}

/** Writes a line at once, those soon after it together: a write costs several times its formatting. */
function batchedStdout() {
  // If the reader goes away, the service carries on without its log.
  if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', () => undefined);
  let allWritten = Promise.resolve();
  let lines = '';
  let writtenAt = Number.NEGATIVE_INFINITY;
  const flushLines = (): void => {
    if (lines === '') return;
    const batch = lines;
    // One after the other, because the stream joins writes that wait.
    allWritten = allWritten.then(
      () => new Promise((resolve) => process.stdout.write(batch, () => resolve())),
    );
    lines = '';
    writtenAt = performance.now();
  };
  const scheduleFlush = (): void => {
    const waitMs = writtenAt + maxWaitMs - performance.now();
    if (waitMs > 0) setTimeout(flushLines, waitMs);
    else setImmediate(flushLines);
  };
  return {
    write: (line: string): void => {
      if (lines.length + line.length > maxBatch) flushLines();
      if (lines === '') scheduleFlush();
      lines += line;
    },
    flush: (done: () => void): void => {
      flushLines();
      void allWritten.then(done);
    },
  };
}

// Trace context, as sent by proxies and clients that trace requests. Nothing is exported: the ids appear in
// the log, where a tracing system can find them.

/** The position of a request in its trace. Both ids are lower-case hexadecimal. */
export interface Trace {
  /** 32 digits, the same for all requests caused by one user action. */
  readonly traceId: string;
  /** 16 digits, of this request. */
  readonly spanId: string;
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;
const zeros = /^0+$/;

/** The trace that a well-formed header of any version names. @see W3C Trace Context, section 3.2 */
export function traceIdIn(traceparent: string | null): string | undefined {
  if (traceparent === null) return undefined;
  const [, version, traceId = '', parentId = '', rest] = form.exec(traceparent) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  return zeros.test(traceId) || zeros.test(parentId) ? undefined : traceId;
}

const current = new AsyncLocalStorage<Trace | undefined>();

/** Runs `work` as part of a trace, so that what it logs and queues belongs to it. */
export const runInTrace = <T>(trace: Trace, work: () => T): T => current.run(trace, work);

/** The trace of the request that is being handled, if it is traced. */
export const currentTrace = (): Trace | undefined => current.getStore();

/** `work` as part of the trace of the caller, wherever it is called: transactions are, from a queue. */
export function keepTrace<Input, Output>(work: (input: Input) => Output): (input: Input) => Output {
  const trace = currentTrace();
  return (input) => current.run(trace, work, input);
}
