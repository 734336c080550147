import type { ErrorBody } from '@latchkey/contract/errors';
import { aborted } from './clock.ts';
import { LatchkeyError, type LatchkeyErrorCode } from './errors.ts';
import { type Answer, type Body, type OperationId, operations, type Query } from './operations.ts';

/** The part of `fetch` that is used. It may be called without `this`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface ApiOptions {
  /** The origin of the service, like `https://login.example`. */
  readonly server: string;
  readonly fetch?: Fetch;
  /** For each request, from sending it to the last byte of its answer. */
  readonly timeoutMilliseconds?: number;
  /** Not in pages: there the browser's own stands. */
  readonly userAgent?: string;
}

export interface CallInput<Id extends OperationId> {
  /** Fills `{id}` in the path. */
  readonly params?: { readonly id: string };
  readonly query?: Query<Id>;
  readonly body?: Body<Id>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly accessToken?: string;
  readonly signal?: AbortSignal | undefined;
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
  send(path: string, init: RequestInit): Promise<ReceivedAnswer>;
}

export interface ReceivedAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined where the answer has no body. */
  readonly body: unknown;
}

export const requestTimeoutMilliseconds = 20_000;
/** Several times the longest list the service answers. */
export const longestAnswerBytes = 2 * 1024 * 1024;

export function createApi({
  server,
  fetch = (url, init) => globalThis.fetch(url, init),
  timeoutMilliseconds = requestTimeoutMilliseconds,
  userAgent,
}: ApiOptions): Api {
  const origin = serverOrigin(server);

  const send: Api['send'] = (path, init) =>
    within(timeoutMilliseconds, init.signal ?? undefined, origin, async (signal) => {
      const response = await fetch(origin + path, {
        ...init,
        credentials: 'same-origin',
        redirect: 'manual',
        signal,
      });
      return receive(response, origin);
    });

  const callWithHeaders: Api['callWithHeaders'] = async (id, input = {}) => {
    const { params, query, body, headers, accessToken, signal } = input;
    const { method, path } = operations[id];
    const search = query === undefined ? '' : `?${new URLSearchParams(query as Record<string, string>)}`;
    const answer = await send(path.replace('{id}', encodeURIComponent(params?.id ?? '')) + search, {
      method: method.toUpperCase(),
      headers: {
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(userAgent === undefined ? {} : { 'User-Agent': userAgent }),
        ...(accessToken === undefined ? {} : { Authorization: `Bearer ${accessToken}` }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    });
    return { body: answer.body as never, headers: answer.headers };
  };

  return {
    server: origin,
    call: async (id, input) => (await callWithHeaders(id, input)).body,
    callWithHeaders,
    send,
  };
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

/** Does the work until it ends, the time is over or the caller no longer wants it, whether or not it listens. */
async function within<T>(
  timeoutMilliseconds: number,
  given: AbortSignal | undefined,
  origin: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (given?.aborted) throw aborted(given);
  const controller = new AbortController();
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = (error: LatchkeyError) => {
    reject(error);
    controller.abort(error);
  };
  const leave = () => stop(aborted(given!));
  const late = () =>
    new LatchkeyError('timeout', `${origin} did not answer within ${timeoutMilliseconds / 1000} seconds.`);
  const timer = setTimeout(() => stop(late()), timeoutMilliseconds);
  given?.addEventListener('abort', leave);
  try {
    return await Promise.race([work(controller.signal), stopped]);
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason;
    if (error instanceof LatchkeyError) throw error;
    throw new LatchkeyError('unreachable', `${origin} could not be reached: ${reasonOf(error)}.`, {
      cause: error,
    });
  } finally {
    clearTimeout(timer);
    given?.removeEventListener('abort', leave);
  }
}

/** What runtimes say of a failed connection stands in the error or in its cause, as a code or a sentence. */
function reasonOf(error: unknown): string {
  const { code, cause, message } = Object(error) as { code?: unknown; cause?: unknown; message?: unknown };
  if (typeof code === 'string') return code;
  if (cause instanceof Error) return reasonOf(cause);
  return typeof message === 'string' ? message.replace(/\.$/, '') : 'unknown reason';
}

async function receive(response: Response, origin: string): Promise<ReceivedAnswer> {
  const { status, headers } = response;
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    await response.body?.cancel();
    const target = redirectOrigin(headers.get('Location'), origin);
    throw new LatchkeyError('not_latchkey', `${origin} redirects${target}. Is this the right address?`, {
      status,
    });
  }
  const text = await boundedText(response, origin);
  const body = headers.get('Content-Type')?.startsWith('application/json') ? parsed(text) : undefined;
  if (!response.ok) throw refusal(status, headers, body, origin);
  // Every answer of the interface carries its request's id; a captive portal's friendly 200 or 204 does not.
  if (!headers.has('X-Request-Id') || (status !== 204 && body === undefined && text !== ''))
    throw new LatchkeyError('not_latchkey', `What answers at ${origin} is no Latchkey server.`, { status });
  return { status, headers, body };
}

const redirectOrigin = (location: string | null, base: string): string =>
  location !== null && URL.canParse(location, base) ? ` to ${new URL(location, base).origin}` : '';

async function boundedText(response: Response, origin: string): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return '';
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > longestAnswerBytes) {
      await reader.cancel().catch(() => {});
      throw new LatchkeyError('not_latchkey', `The answer of ${origin} is too long for a Latchkey server.`, {
        status: response.status,
      });
    }
    text += decoder.decode(value, { stream: true });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refusal(status: number, headers: Headers, body: unknown, origin: string): LatchkeyError {
  const retryAfter = headers.get('Retry-After') ?? '';
  const retryAfterSeconds = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : undefined;
  const { error, error_description, request_id, interval } = Object(body) as Partial<ErrorBody>;
  if (typeof error === 'string' && typeof error_description === 'string' && typeof request_id === 'string') {
    return new LatchkeyError(error, error_description, {
      status,
      requestId: request_id,
      retryAfterSeconds,
      intervalSeconds: typeof interval === 'number' ? interval : undefined,
    });
  }
  const code: LatchkeyErrorCode =
    status === 429 ? 'rate_limited' : status >= 500 ? 'temporarily_unavailable' : 'not_latchkey';
  const message =
    code === 'not_latchkey'
      ? `What answers at ${origin} is no Latchkey server (status ${status}).`
      : `Something in front of ${origin} answers with status ${status}.`;
  return new LatchkeyError(code, message, { status, retryAfterSeconds });
}
