import type { userHeader as contractUserHeader } from '@latchkey/contract/endpoints';
import { type Answer, type Body, type OperationId, operations, type Query } from './operations.ts';
import { type Fetch, type ReceivedAnswer, receive, within } from './transport.ts';

export interface ApiOptions {
  /** In a browser: whether requests carry its cookies. Default: `same-origin`. */
  readonly credentials?: 'same-origin' | 'omit';
  /** The origin of the service, like `https://login.example`. */
  readonly server: string;
  readonly fetch?: Fetch;
  /** For each request, from sending it to the last byte of its answer. */
  readonly timeoutMilliseconds?: number;
  /** Not in pages: there the browser's own stands. */
  readonly userAgent?: string;
  /**
   * The id of the user whom all calls are for, once it is known. From then on the service refuses what comes with
   * another user's credential, by `precondition_failed`. For pages: the cookie is of whoever signed in last.
   */
  readonly userId?: () => string | undefined;
  /**
   * Allows plain http to another machine, where anybody on the way can read the tokens. Without it only a loopback
   * host, or the origin of the page this runs in, may be reached by plain http.
   */
  readonly insecureHttp?: boolean;
}

export interface CallInput<Id extends OperationId> {
  /** Fills `{id}` in the path. */
  readonly params?: { readonly id: string };
  readonly query?: Query<Id>;
  readonly body?: Body<Id>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly accessToken?: string;
  readonly signal?: AbortSignal | undefined;
  /** Instead of the limit of all requests. */
  readonly timeoutMilliseconds?: number | undefined;
}

export interface AnswerWithHeaders<Id extends OperationId> {
  readonly body: Answer<Id>;
  readonly headers: Headers;
}

/** The interface of one service, typed by the contract. */
export interface Api {
  readonly server: string;
  /**
   * @throws {LatchkeyError} the service's refusal by its code; `unreachable`, `timeout`, `not_latchkey`, `aborted`
   */
  call<Id extends OperationId>(id: Id, input?: CallInput<Id>): Promise<Answer<Id>>;
  /** The same with the answer's headers, for the `ETag`. */
  callWithHeaders<Id extends OperationId>(id: Id, input?: CallInput<Id>): Promise<AnswerWithHeaders<Id>>;
  /** Any request under the same rules: bounded in time and size, no redirects, errors by code. */
  send(path: string, init: RequestInit, timeoutMilliseconds?: number): Promise<ReceivedAnswer>;
  /** What carries the requests. */
  readonly fetch: Fetch;
  /** Whether tokens may go to another machine by plain http. */
  readonly insecureHttp: boolean;
}

const userHeader: typeof contractUserHeader = 'Latchkey-User';

export const requestTimeoutMilliseconds = 20_000;

export function createApi({
  server,
  fetch = (url, init) => globalThis.fetch(url, init),
  timeoutMilliseconds = requestTimeoutMilliseconds,
  userAgent,
  userId,
  insecureHttp = false,
  credentials = 'same-origin',
}: ApiOptions): Api {
  const origin = serverOrigin(server);
  if (!insecureHttp) requireEncrypted(origin);

  const send: Api['send'] = (path, init, limit = timeoutMilliseconds) =>
    within(limit, init.signal ?? undefined, origin, async (signal) => {
      const response = await fetch(origin + path, {
        ...init,
        credentials,
        redirect: 'manual',
        signal,
      });
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
        ...(userAgent === undefined ? {} : { 'User-Agent': userAgent }),
        ...(user === undefined ? {} : { [userHeader]: user }),
        ...(accessToken === undefined ? {} : { Authorization: `Bearer ${accessToken}` }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    };
    const target = path.replace('{id}', encodeURIComponent(params?.id ?? '')) + search;
    const answer = await send(target, init, input.timeoutMilliseconds);
    return { body: answer.body as never, headers: answer.headers };
  };

  return {
    server: origin,
    call: async (id, input) => (await callWithHeaders(id, input)).body,
    callWithHeaders,
    send,
    fetch,
    insecureHttp,
  };
}

/** Whether a host, as `URL` names it, is this machine: what is sent there crosses no network. */
export const isLoopbackHost = (hostname: string): boolean =>
  /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);

/** @throws {TypeError} for plain http to another machine */
export function requireEncrypted(origin: string): void {
  const { protocol, hostname } = new URL(origin);
  if (protocol !== 'http:' || isLoopbackHost(hostname) || origin === globalThis.location?.origin) return;
  throw new TypeError(
    `${origin} is not encrypted: anybody on the way can read the tokens. Use an https:// address, or allow it with insecureHttp.`,
  );
}

/**
 * The origin that an address names, as all of this package writes it.
 * @throws {TypeError} for anything but the http or https address of a host
 */
export function serverOrigin(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isOrigin =
    (url?.protocol === 'https:' || url?.protocol === 'http:') &&
    url.username + url.password + url.search + url.hash === '' &&
    url.pathname === '/';
  if (!isOrigin) throw new TypeError('The address of a Latchkey server looks like https://login.example.');
  return url.origin;
}
