// Trace context, as sent by proxies and clients that trace requests. Nothing is exported: the ids appear in the log, where
// a tracing system can find them.

import { AsyncLocalStorage } from 'node:async_hooks';

/** The position of a request in its trace. Both ids are lower-case hexadecimal. */
export interface Trace {
  /** 32 digits, the same for all requests caused by one user action. */
  readonly traceId: string;
  /** 16 digits, of this request. */
  readonly spanId: string;
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;
const zeros = /^0+$/;

/**
 * The trace that a `traceparent` header names; undefined without one, or if it is malformed. A version after 00 may have
 * more fields.
 * @see W3C Trace Context, section 3.2
 */
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
