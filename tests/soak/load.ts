// Sends requests at a rate, and records their latency and whether each answer was the expected one.

import { type CallInput, createApi } from '@latchkey/client/api';
import { LatchkeyError } from '@latchkey/client/errors';
import type { Answer, OperationId } from '@latchkey/client/operations';

/** A request that is late by more than this is not made up for: a stall must not be followed by a burst. */
const maxLateMs = 1_000;
const maxQuoted = 300;
/** Against a service that has crashed, everything is unexpected. */
const maxKept = 1_000;

export type Load = ReturnType<typeof startLoad>;

export function startLoad(server: string) {
  let [latenciesMs, rate, nextAt]: [number[], number, number] = [[], Number.POSITIVE_INFINITY, 0];
  /** The first things that went wrong, in words. */
  const unexpected: string[] = [];
  const fail = (what: string): void => {
    if (unexpected.length < maxKept) unexpected.push(what.slice(0, maxQuoted));
  };

  const turn = async (): Promise<void> => {
    if (rate === Number.POSITIVE_INFINITY) return;
    const now = performance.now();
    nextAt = Math.max(nextAt, now - maxLateMs) + 1000 / rate;
    if (nextAt > now) await Bun.sleep(nextAt - now);
  };

  /** Sends a request when its turn comes, and reads its answer to the end. */
  const record = async (what: string, expected: number | 'success', url: string, init: RequestInit) => {
    await turn();
    const sentAt = performance.now();
    const response = await fetch(url, init);
    const text = await response.text();
    latenciesMs.push(performance.now() - sentAt);
    const { status, headers, ok } = response;
    if (expected === 'success' ? !ok : status !== expected) fail(`${what}: ${status} ${text}`);
    return new Response(status === 204 || status === 304 ? null : text, { status, headers });
  };
  const apiFor = (what: string, expected: number | 'success') =>
    createApi({ server, fetch: (url, init) => record(what, expected, url, init) });

  return {
    unexpected,
    fail,
    /** Limits what is sent from now on, in requests per second. */
    limit: (perSecond: number): void => {
      rate = perSecond;
      nextAt = performance.now();
    },
    /** The latencies of the answers since the last call. */
    takeLatencies: (): number[] => {
      const taken = latenciesMs;
      latenciesMs = [];
      return taken;
    },
    /** An operation by the SDK, which must succeed. */
    call: <Id extends OperationId>(id: Id, input: CallInput<Id> = {}): Promise<Answer<Id>> =>
      apiFor(id, 'success').call(id, input),
    /** An operation by the SDK, which must be refused with this status. */
    refused: async <Id extends OperationId>(id: Id, status: number, input: CallInput<Id> = {}) => {
      await apiFor(id, status)
        .call(id, input)
        .catch((error) => {
          if (!(error instanceof LatchkeyError && error.status === status)) throw error;
        });
    },
    /** A plain request; the answer must have this status. Returns its body. */
    send: async (status: number, path: string, init: RequestInit = {}): Promise<string> =>
      (await record(path, status, server + path, init)).text(),
  };
}
