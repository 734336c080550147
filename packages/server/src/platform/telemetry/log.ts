import pino, { type Logger } from 'pino';

/** How long lines wait for others where many come, and how many characters of them at most. */
const maxWaitMs = 10;
const maxBatch = 16 * 1024;

/**
 * One JSON object a line on standard output. A line that comes after a pause is written in the same turn of the
 * event loop; lines that come close together are written together: a write each costs several times as much as
 * making the line.
 */
export function createLogger(level: string): Logger {
  const output = pino.destination({ dest: 1, sync: false });
  let lines = '';
  let writtenAt = Number.NEGATIVE_INFINITY;
  const flushLines = (): void => {
    if (lines === '') return;
    output.write(lines);
    lines = '';
    writtenAt = performance.now();
  };
  const scheduleFlush = (): void => {
    const wait = writtenAt + maxWaitMs - performance.now();
    if (wait > 0) setTimeout(flushLines, wait);
    else setImmediate(flushLines);
  };
  const stream = {
    write: (line: string): void => {
      if (lines === '') scheduleFlush();
      lines += line;
      if (lines.length > maxBatch) flushLines();
    },
    flush: (done?: (error?: Error) => void): void => {
      flushLines();
      output.flush(done);
    },
  };
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream);
}

/** What the log says of a request: names and numbers of ours, never a raw path, query or header value. */
export interface RequestLogEntry {
  readonly request_id: string;
  readonly method: string;
  /** The pattern of its route. */
  readonly route: string;
  readonly status: number;
  readonly outcome: string;
  readonly detail: string | undefined;
  readonly duration_ms: number;
}

/** Writes the line that `log.info(facts, 'request')` would, which takes pino as long as all the rest of an answer. */
export function logRequest(log: Logger, facts: RequestLogEntry): void {
  if (!log.isLevelEnabled('info')) return;
  const { request_id, method, route, status, outcome, detail, duration_ms } = facts;
  const level = log.levels.values['info'];
  const time = new Date().toISOString();
  const line = {
    level,
    time,
    request_id,
    method,
    route,
    status,
    outcome,
    detail,
    duration_ms,
    msg: 'request',
  };
  streamOf(log).write(`${JSON.stringify(line)}\n`);
}

const streamOf = (log: Logger): pino.DestinationStream =>
  (log as unknown as Record<symbol, pino.DestinationStream>)[pino.symbols.streamSym]!;
