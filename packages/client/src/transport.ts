import type { ErrorBody } from '@latchkey/contract/errors';
import { aborted, unlessAborted } from './clock.ts';
import { isServerError, LatchkeyError, type LatchkeyErrorCode } from './errors.ts';

/** The part of `fetch` that is used. It may be called without `this`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface ReceivedAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined where the answer has no body. */
  readonly body: unknown;
}

/** Several times the longest list the service answers. */
export const maxAnswerBytes = 2 * 1024 * 1024;

/**
 * Does the work until it ends, the time is over or the caller no longer wants it, whether or not it listens.
 * @throws {LatchkeyError} `timeout`, `aborted`, `unreachable`
 */
export async function within<T>(
  timeoutMilliseconds: number,
  given: AbortSignal | undefined,
  origin: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (given?.aborted) throw aborted(given);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(timedOut(origin, timeoutMilliseconds)), timeoutMilliseconds);
  const signal = given ? AbortSignal.any([given, late.signal]) : late.signal;
  try {
    return await unlessAborted(work(signal), signal);
  } catch (error) {
    if (given?.aborted) throw aborted(given);
    if (late.signal.aborted) throw late.signal.reason;
    if (error instanceof LatchkeyError) throw error;
    throw new LatchkeyError('unreachable', `${origin} could not be reached: ${reasonOf(error)}.`, {
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}

const timedOut = (origin: string, milliseconds: number) =>
  new LatchkeyError('timeout', `${origin} did not answer within ${milliseconds / 1000} seconds.`);

/** What runtimes say of a failed connection stands in the error or in its cause, as a code or a sentence. */
function reasonOf(error: unknown): string {
  const { code, cause, message } = Object(error) as { code?: unknown; cause?: unknown; message?: unknown };
  if (typeof code === 'string') return code;
  if (cause instanceof Error) return reasonOf(cause);
  return typeof message === 'string' ? message.replace(/\.$/, '') : 'unknown reason';
}

/**
 * Reads an answer to its end.
 * @throws {LatchkeyError} the service's refusal by its code; `not_latchkey` for what it can never have said
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
    if (bytes > maxAnswerBytes) {
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

/**
 * Whether a status is what a proxy says when the server behind it does not answer: 502 to 504, and Cloudflare's own
 * from 520 on. A web server that is no Latchkey says any other.
 */
const isOfProxy = (status: number): boolean =>
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
    });
  }
  const code: LatchkeyErrorCode =
    status === 429 ? 'rate_limited' : isOfProxy(status) ? 'temporarily_unavailable' : 'not_latchkey';
  const message =
    code === 'not_latchkey'
      ? `What answers at ${origin} is no Latchkey server (status ${status}).`
      : `Something in front of ${origin} answers with status ${status}.`;
  return new LatchkeyError(code, message, { status, retryAfterSeconds });
}
