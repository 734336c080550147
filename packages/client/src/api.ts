import type {
  pageHeader as contractPageHeader,
  userHeader as contractUserHeader,
} from '@latchkey/contract/endpoint';
import { answers, checkedAnswer } from './answers.ts';
import { isLoopbackHost, runtimeFetch } from './loopback.ts';
import {
  type Answer,
  type Body,
  type OperationId,
  operations,
  type Params,
  type Query,
} from './operations.ts';
import { type Fetch, type ReceivedAnswer, receive, within } from './transport.ts';

export interface ApiOptions {
  /** In a browser: whether requests carry its cookies. Default: `same-origin`. */
  readonly credentials?: 'same-origin' | 'omit';
  /** The origin of the service, like `https://login.example`. */
  readonly server: string;
  readonly fetch?: Fetch;
  /** For each request, up to the last byte of the response. */
  readonly timeoutMs?: number;
  /** Browsers send their own instead. */
  readonly userAgent?: string;
  /**
   * The ID of the user the calls are for, once it is known. From then on the service refuses another user's
   * credential with `precondition_failed`. For web pages, where the cookie belongs to the user who signed in last.
   */
  readonly userId?: () => string | undefined;
  /**
   * Allows plain http to another machine, which exposes the tokens to the network. Loopback hosts and the origin of
   * the current page are always allowed.
   */
  readonly insecureHttp?: boolean;
}

export interface CallInput<Id extends OperationId> {
  /** Fills the braces in the path. */
  readonly params?: Params<Id>;
  readonly query?: Query<Id>;
  readonly body?: Body<Id>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly accessToken?: string;
  readonly signal?: AbortSignal | undefined;
  /** Overrides the limit for all requests. */
  readonly timeoutMs?: number | undefined;
}

export interface AnswerWithHeaders<Id extends OperationId> {
  readonly body: Answer<Id>;
  readonly headers: Headers;
}

/** The HTTP API of one service, typed by the contract. */
export interface Api {
  readonly server: string;
  /** @throws {LatchkeyError} the service's error code; `unreachable`, `timeout`, `not_latchkey`, `aborted` */
  call<Id extends OperationId>(id: Id, input?: CallInput<Id>): Promise<Answer<Id>>;
  /** The same with the response headers, for the `ETag`. */
  callWithHeaders<Id extends OperationId>(id: Id, input?: CallInput<Id>): Promise<AnswerWithHeaders<Id>>;
  /** Any request, under the same rules: limited in time and size, no redirects, errors by code. */
  send(path: string, init: RequestInit, timeoutMs?: number): Promise<ReceivedAnswer>;
  /** The time of the service at its last response, in milliseconds since 1970. Undefined if it does not say. */
  serverTime(): number | undefined;
  /** The `fetch` that sends the requests. */
  readonly fetch: Fetch;
  readonly insecureHttp: boolean;
  readonly timeoutMs: number;
}

const userHeader: typeof contractUserHeader = 'Latchkey-User';
const pageHeader: typeof contractPageHeader = { name: 'Latchkey-Page', value: '1' };

/** Whether a page of the service itself runs this. */
const isOwnPage = (origin: string): boolean => origin === globalThis.location?.origin;

export const requestTimeoutMs = 20_000;

/**
 * A typed client for one service.
 * @throws {TypeError} for plain http to another machine without `insecureHttp`
 * @example
 * const api = createApi({ server: 'https://login.example', userAgent: 'projects/1.0' });
 */
export function createApi({
  server,
  fetch = runtimeFetch,
  timeoutMs = requestTimeoutMs,
  userAgent,
  userId,
  insecureHttp = false,
  credentials = 'same-origin',
}: ApiOptions): Api {
  const origin = serverOrigin(server);
  if (!insecureHttp) requireEncrypted(origin);
  let serverTime: number | undefined;

  const send: Api['send'] = (path, init, limit = timeoutMs) =>
    within(limit, init.signal ?? undefined, origin, async (signal) => {
      const headers = new Headers(init.headers);
      if (userAgent !== undefined) headers.set('User-Agent', userAgent);
      if (isOwnPage(origin)) headers.set(pageHeader.name, pageHeader.value);
      // As text, because a test environment with a URLSearchParams of its own has a fetch that does not recognize it.
      const isForm = init.body instanceof URLSearchParams;
      if (isForm) headers.set('Content-Type', 'application/x-www-form-urlencoded');
      const response = await fetch(origin + path, {
        ...init,
        headers,
        body: isForm ? String(init.body) : (init.body ?? null),
        credentials,
        redirect: 'manual',
        signal,
      });
      serverTime = timeOf(response) ?? serverTime;
      return receive(response, origin);
    });

  const callWithHeaders: Api['callWithHeaders'] = async (id, input = {}) => {
    const { params, query, body, headers, accessToken, signal } = input;
    const { method, path } = operations[id];
    const user = userId?.();
    const search = query === undefined ? '' : `?${new URLSearchParams(query as Record<string, string>)}`;
    const init = {
      method: method.toUpperCase(),
      headers: {
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(user === undefined ? {} : { [userHeader]: user }),
        ...(accessToken === undefined ? {} : { Authorization: `Bearer ${accessToken}` }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    };
    const answer = await send(fillPath(path, params) + search, init, input.timeoutMs);
    const check = answers[id];
    if (check)
      checkedAnswer(answer.body, check, `The answer of ${origin} to ${init.method} ${path} is malformed.`);
    return { body: answer.body as never, headers: answer.headers };
  };

  return {
    server: origin,
    call: async (id, input) => (await callWithHeaders(id, input)).body,
    callWithHeaders,
    send,
    serverTime: () => serverTime,
    fetch,
    insecureHttp,
    timeoutMs,
  };
}

/** Proxies and captive portals answer with times of their own, but without a request id. */
function timeOf({ headers }: Response): number | undefined {
  const time = headers.has('X-Request-Id') ? Date.parse(headers.get('Date') ?? '') : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

const fillPath = (path: string, params: unknown = {}): string =>
  path.replace(/{(\w+)}/g, (_, name: string) =>
    encodeURIComponent((params as Record<string, string>)[name] ?? ''),
  );

/** @throws {TypeError} for plain http to another machine @internal */
export function requireEncrypted(origin: string): void {
  const { protocol, hostname } = new URL(origin);
  if (protocol !== 'http:' || isLoopbackHost(hostname) || isOwnPage(origin)) return;
  throw new TypeError(
    `Plain http to ${origin} would expose the tokens to the network. Use an https:// address, or allow it with insecureHttp.`,
  );
}

/**
 * The origin of an address, in the form used throughout this package.
 * @throws {TypeError} for anything but the http or https address of a host
 * @example
 * serverOrigin('https://LOGIN.example:443/'); // 'https://login.example'
 */
export function serverOrigin(address: string): string {
  const origin = originOf(address);
  if (origin === undefined)
    throw new TypeError('The address of a Latchkey server looks like https://login.example.');
  return origin;
}

/** The same for what a person typed. Default scheme: https, and http for this machine. @throws {TypeError} @internal */
export function serverAddress(address: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(address)) return serverOrigin(address);
  const encrypted = serverOrigin(`https://${address}`);
  return isLoopbackHost(new URL(encrypted).hostname) ? serverOrigin(`http://${address}`) : encrypted;
}

/** Undefined for what cannot be the address of a server. @internal */
export function originOf(address: string): string | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isOrigin =
    (url?.protocol === 'https:' || url?.protocol === 'http:') &&
    url.username + url.password + url.search + url.hash === '' &&
    url.pathname === '/';
  return isOrigin ? url.origin : undefined;
}
