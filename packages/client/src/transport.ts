import type { ErrorBody } from '@latchkey/contract/errors';
import { aborted, type Clock, unlessAborted } from './clock.ts';
import { isServerError, LatchkeyError, type LatchkeyErrorCode } from './errors.ts';

/** The part of `fetch` that is used. It may be called without `this`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface ReceivedAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined if the response has no body. */
  readonly body: unknown;
}

/** A form of the members that have a value. */
export const formOf = (members: Readonly<Record<string, string | undefined>>): URLSearchParams =>
  new URLSearchParams(
    Object.entries(members).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

/** Several times the longest list the service returns. */
export const maxAnswerBytes = 2 * 1024 * 1024;

/**
 * Runs the work until it ends, times out or is aborted by the caller, even if it ignores its signal.
 * @throws {LatchkeyError} `timeout`, `aborted`, `unreachable`
 */
export async function within<T>(
  timeoutMs: number,
  callerSignal: AbortSignal | undefined,
  origin: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (callerSignal?.aborted) throw aborted(callerSignal);
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(timedOut(origin, timeoutMs)), timeoutMs);
  const signal = callerSignal ? AbortSignal.any([callerSignal, timeout.signal]) : timeout.signal;
  try {
    return await unlessAborted(work(signal), signal);
  } catch (error) {
    if (callerSignal?.aborted) throw aborted(callerSignal);
    if (timeout.signal.aborted) throw timeout.signal.reason;
    if (error instanceof LatchkeyError) throw error;
    throw new LatchkeyError('unreachable', connectionFailure(error, origin), { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** When to repeat a request after an error that may pass. */
export interface Retries {
  /** Before each retry; none means a single try. */
  readonly pausesMs: readonly number[];
  /** A longer `Retry-After` is left to the caller. */
  readonly maxPauseMs: number;
  /** No try begins later than this after the first. Default: any time. */
  readonly lastTryMs?: number;
}

/** The result of the first try that succeeds, or the error of the last. */
export async function withRetries<T>(
  { pausesMs, maxPauseMs, lastTryMs = Number.POSITIVE_INFINITY }: Retries,
  clock: Clock,
  signal: AbortSignal | undefined,
  attempt: (tries: number) => Promise<T>,
): Promise<T> {
  const startedAt = clock.now();
  for (let tries = 0; ; tries++) {
    try {
      return await attempt(tries);
    } catch (error) {
      const pause = pausesMs[tries];
      if (pause === undefined || !(error instanceof LatchkeyError && error.retryable)) throw error;
      const ms = Math.max(pause, (error.retryAfterSeconds ?? 0) * 1000);
      if (ms > maxPauseMs) throw error;
      await clock.sleep(ms, signal);
      // The machine may have slept, too.
      if (clock.now() - startedAt > lastTryMs) throw error;
    }
  }
}

const timedOut = (origin: string, ms: number) =>
  new LatchkeyError('timeout', `${origin} did not respond within ${ms / 1000} seconds.`);

/** Sentences for the error codes of Bun and Node; their own messages are terse or misleading. */
const connectionFailures: Readonly<Record<string, (origin: string, host: string) => string>> = {
  ECONNREFUSED: (origin) => `${origin} refused the connection.`,
  ECONNRESET: (origin) => `${origin} closed the connection.`,
  ENOTFOUND: (_, host) => `The name ${host} does not resolve.`,
  EAI_AGAIN: (_, host) => `The name ${host} could not be resolved; the name server did not respond.`,
  ENETUNREACH: (origin) => `There is no network route to ${origin}.`,
  EHOSTUNREACH: (origin) => `There is no network route to ${origin}.`,
  ETIMEDOUT: (origin) => `The connection to ${origin} timed out.`,
  EPROTO: (origin) => `${origin} did not answer in TLS. Is it plain http?`,
  ERR_SSL_WRONG_VERSION_NUMBER: (origin) => `${origin} did not answer in TLS. Is it plain http?`,
  CERT_HAS_EXPIRED: (origin) => `The certificate of ${origin} has expired.`,
  ERR_TLS_CERT_ALTNAME_INVALID: (origin) => `The certificate of ${origin} is for another name.`,
  DEPTH_ZERO_SELF_SIGNED_CERT: (origin) => `The certificate of ${origin} is self-signed.`,
  SELF_SIGNED_CERT_IN_CHAIN: (origin) => `The certificate of ${origin} is from an unknown authority.`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: (origin) => `The certificate of ${origin} is from an unknown authority.`,
};

/** Runtimes describe a failed connection in the error or in its cause, by a code or a sentence. @internal */
export function connectionFailure(error: unknown, origin: string): string {
  const { code, cause, message } = Object(error) as { code?: unknown; cause?: unknown; message?: unknown };
  if (typeof code !== 'string' && cause instanceof Error) return connectionFailure(cause, origin);
  const sentence =
    typeof code === 'string' && Object.hasOwn(connectionFailures, code)
      ? connectionFailures[code]
      : undefined;
  if (sentence) return sentence(origin, new URL(origin).hostname);
  const reason = typeof message === 'string' ? `: ${message.replace(/\.$/, '')}` : '';
  return `${origin} could not be reached${reason}.`;
}

/**
 * Reads a response to its end.
 * @throws {LatchkeyError} the service's error code; `not_latchkey` for a response Latchkey cannot have sent
 */
export async function receive(response: Response, origin: string): Promise<ReceivedAnswer> {
  const { status, headers } = response;
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    await response.body?.cancel();
    const target = redirectOrigin(headers.get('Location'), origin);
    throw new LatchkeyError('not_latchkey', `${origin} redirects${target}. Is this the right address?`, {
      status,
    });
  }
  const text = await boundedText(response, origin);
  const body = headers.get('Content-Type')?.startsWith('application/json') ? parseJson(text) : undefined;
  if (!response.ok) throw refusal(status, headers, body, origin);
  // Latchkey puts a request ID on every response; a captive portal's friendly 200 or 204 has none.
  if (!headers.has('X-Request-Id') || (status !== 204 && body === undefined && text !== ''))
    throw new LatchkeyError('not_latchkey', `${origin} is not a Latchkey server.`, { status });
  return { status, headers, body };
}

const redirectOrigin = (location: string | null, base: string): string =>
  location !== null && URL.canParse(location, base) ? ` to ${new URL(location, base).origin}` : '';

/** @throws {LatchkeyError} `not_latchkey` if it is too long @internal */
export async function boundedText(response: Response, origin: string): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return '';
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > maxAnswerBytes) {
      await reader.cancel().catch(() => {});
      throw new LatchkeyError(
        'not_latchkey',
        `The response of ${origin} is too long for a Latchkey server.`,
        { status: response.status },
      );
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** Undefined for invalid JSON: the parser's own message would quote secrets. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What proxies send for a server that does not respond: 502 to 504, and from 520 on Cloudflare's own. */
const isGatewayStatus = (status: number): boolean =>
  (status >= 502 && status <= 504) || (status >= 520 && status <= 530);

function refusal(status: number, headers: Headers, body: unknown, origin: string): LatchkeyError {
  const retryAfter = headers.get('Retry-After') ?? '';
  const retryAfterSeconds = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : undefined;
  const { error, error_description, request_id, interval } = Object(body) as Partial<ErrorBody>;
  if (isServerError(error) && typeof error_description === 'string' && typeof request_id === 'string') {
    return new LatchkeyError(error, error_description, {
      status,
      requestId: request_id,
      retryAfterSeconds,
      intervalSeconds: typeof interval === 'number' ? interval : undefined,
      body: body as Readonly<Record<string, unknown>>,
    });
  }
  const refused = (code: LatchkeyErrorCode, what: string) =>
    new LatchkeyError(code, `${what} (status ${status}).`, { status, retryAfterSeconds });
  if (status === 429) return refused('rate_limited', `A proxy in front of ${origin} limits requests`);
  return isGatewayStatus(status)
    ? refused('temporarily_unavailable', `A proxy in front of ${origin} reports that it is unavailable`)
    : refused('not_latchkey', `${origin} is not a Latchkey server`);
}
