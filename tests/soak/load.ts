// Sends requests at a rate, and records their latency and whether each answer was the expected one.

import { createApi } from '@latchkey/client/api';
import { LatchkeyError } from '@latchkey/client/errors';
import type { Answer, Body, OperationId, Params } from '@latchkey/client/operations';

/** What a call sends. */
export interface Input<Id extends OperationId> {
  readonly params?: Params<Id>;
  readonly body?: Body<Id>;
  readonly accessToken?: string;
}

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
  call<Id extends OperationId>(id: Id, input: Input<Id> = {}): Promise<Answer<Id>> {
    return this.#operate(id, (status) => status >= 200 && status < 300, input);
  }

  /** An operation by the SDK, which must be refused with this status. */
  async refused<Id extends OperationId>(id: Id, status: number, input: Input<Id> = {}): Promise<void> {
    try {
      await this.#operate(id, (actual) => actual === status, input);
    } catch (error) {
      if (!(error instanceof LatchkeyError && error.status === status)) throw error;
    }
  }

  /** A plain request; the answer must have this status. Returns its body. */
  async send(status: number, path: string, init: RequestInit = {}): Promise<string> {
    const response = await this.#record(path, (actual) => actual === status, this.#server + path, init);
    return response.text();
  }

  #operate<Id extends OperationId>(
    id: Id,
    isExpected: (status: number) => boolean,
    input: Input<Id>,
  ): Promise<Answer<Id>> {
    const api = createApi({
      server: this.#server,
      fetch: (url, init) => this.#record(id, isExpected, url, init),
    });
    return api.call(id, input);
  }

  /** Sends a request when its turn comes, and reads its answer to the end. */
  async #record(
    what: string,
    isExpected: (status: number) => boolean,
    url: string,
    init: RequestInit,
  ): Promise<Response> {
    await this.#turn();
    const sentAt = performance.now();
    const response = await fetch(url, init);
    const text = await response.text();
    this.#latenciesMs.push(performance.now() - sentAt);
    this.requests += 1;
    const { status, headers } = response;
    if (!isExpected(status)) this.fail(`${what}: ${status} ${text}`);
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
