import type { Guard } from '../guard.ts';
import type { Caller } from './caller.ts';
import { type GuardedRequest, isPreflight } from './refusal.ts';
import type { Requirements } from './requirements.ts';

/** By the request object of the framework: typed without changing its types, and out of reach of the client. */
const callers = new WeakMap<object, Caller>();

/**
 * A guard that remembers the caller of each request for `callerOf`, and returns the response to all others. Undefined for
 * preflights, too, which the program answers: they have no caller.
 * @throws {RangeError} for requirements that no token can meet
 */
export function rememberingGuard(guard: Guard, requirements: Requirements) {
  const routeGuard = guard.with(requirements);
  return async (request: object, guarded: GuardedRequest): Promise<Response | undefined> => {
    if (isPreflight(guarded)) return routeGuard.metadata(guarded);
    const caller = await routeGuard(guarded);
    if (caller instanceof Response) return caller;
    callers.set(request, caller);
    return undefined;
  };
}

/**
 * The caller that `requireCaller` accepted, by the request of Express and Fastify, and the context of Hono.
 * @throws {TypeError} on a route without it
 * @example
 * const { subject } = callerOf(request);
 */
export function callerOf(request: object): Caller {
  const caller = callers.get(request);
  if (!caller) throw new TypeError('This request has no caller: add requireCaller to its route.');
  return caller;
}

/** The part of Node's `IncomingMessage` that a guard reads. */
export interface IncomingRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** In Express, where a router may shorten `url`. */
  readonly originalUrl?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The part of Node's `ServerResponse` that sends a refusal. */
export interface OutgoingResponse {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: string): unknown;
}

/** Reads Node's headers like the headers of a web-standard `Request`. */
export const guardedRequest = ({ headers, method, url, originalUrl }: IncomingRequest): GuardedRequest => ({
  method,
  url: originalUrl ?? url,
  headers: {
    get: (name) => {
      const value = headers[name.toLowerCase()];
      return Array.isArray(value) ? value.join(', ') : (value ?? null);
    },
  },
});

export async function sendResponse(outgoing: OutgoingResponse, response: Response): Promise<void> {
  const body = await response.text();
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(body);
}
