// Sends requests at a rate, and records their latency and whether each answer was the expected one.

import { type CallInput, createApi } from '@latchkey/client/api';
import { LatchkeyError } from '@latchkey/client/errors';
import type { Answer, OperationId } from '@latchkey/client/operations';

/** A request that is late by more than this is not made up for: a stall must not be followed by a burst. */
const maxLateMs = 1_000;
const maxUnexpected = 20;
const maxQuoted = 300;

export class Load {
  requests = 0;
  unexpectedCount = 0;
  /** The first answers that were not expected, in words. */
  readonly unexpected: string[] = [];
  readonly #server: string;
  #latenciesMs: number[] = [];
  #rate = Number.POSITIVE_INFINITY;
  #nextAt = 0;

  constructor(server: string) {
    this.#server = server;
  }

  /** Limits what is sent from now on, in requests per second. */
  limit(rate: number): void {
    this.#rate = rate;
    this.#nextAt = performance.now();
  }

  /** The latencies of the answers since the last call. */
  takeLatencies(): number[] {
    const taken = this.#latenciesMs;
    this.#latenciesMs = [];
    return taken;
  }

  /** An operation by the SDK, which must succeed. */
  call<Id extends OperationId>(id: Id, input: CallInput<Id> = {}): Promise<Answer<Id>> {
    const fetch = (url: string, init: RequestInit) => this.#record(id, 'success', url, init);
    return createApi({ server: this.#server, fetch }).call(id, input);
  }

  /** An operation by the SDK, which must be refused with this status. */
  async refused<Id extends OperationId>(id: Id, status: number, input: CallInput<Id> = {}): Promise<void> {
    const fetch = (url: string, init: RequestInit) => this.#record(id, status, url, init);
    const api = createApi({ server: this.#server, fetch });
    await api.call(id, input).catch((error) => {
      if (!(error instanceof LatchkeyError && error.status === status)) throw error;
    });
  }

  /** A plain request; the answer must have this status. Returns its body. */
  async send(status: number, path: string, init: RequestInit = {}): Promise<string> {
    return (await this.#record(path, status, this.#server + path, init)).text();
  }

  /** Sends a request when its turn comes, and reads its answer to the end. */
  async #record(
    what: string,
    expected: number | 'success',
    url: string,
    init: RequestInit,
  ): Promise<Response> {
    await this.#turn();
    const sentAt = performance.now();
    const response = await fetch(url, init);
    const text = await response.text();
    this.#latenciesMs.push(performance.now() - sentAt);
    this.requests += 1;
    const { status, headers, ok } = response;
    if (expected === 'success' ? !ok : status !== expected) this.fail(`${what}: ${status} ${text}`);
    return new Response(status === 204 || status === 304 ? null : text, { status, headers });
  }

  /** Records that something went wrong. */
  fail(what: string): void {
    this.unexpectedCount += 1;
    if (this.unexpected.length < maxUnexpected) this.unexpected.push(what.slice(0, maxQuoted));
  }

  async #turn(): Promise<void> {
    if (this.#rate === Number.POSITIVE_INFINITY) return;
    const now = performance.now();
    this.#nextAt = Math.max(this.#nextAt, now - maxLateMs) + 1000 / this.#rate;
    if (this.#nextAt > now) await Bun.sleep(this.#nextAt - now);
  }
}
