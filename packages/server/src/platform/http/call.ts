import type { Endpoint } from '@latchkey/contract/endpoint';
import { fieldLimits } from '@latchkey/contract/field-limits';
import type { Language } from '@latchkey/contract/languages';
import type { z } from 'zod';
import type { Config } from '../config/config.ts';
import type { Caller, CallingService, SentServiceKey, WaitPreference } from '../context.ts';
import { invalidRequest } from '../errors.ts';
import { preferredLanguage } from '../values/accept.ts';
import type { ClientInfo } from '../values/client-address.ts';
import { readCookie } from './cookie.ts';
import {
  type PresentedCredential,
  readPresentedCredential,
  readServiceKey,
  requireExpectedUser,
} from './credential.ts';
import { isFromForeignPage } from './origin.ts';

type OutputOf<S> = S extends z.ZodType ? z.output<S> : Record<string, never>;
type CallerOf<Access> = Access extends 'anyone' | 'service'
  ? undefined
  : Access extends 'optional'
    ? Caller | undefined
    : Caller;
type ServiceOf<Access> = Access extends 'service' ? CallingService : undefined;
type ClientOf<Method, Access> = Method extends 'get'
  ? undefined
  : Access extends 'service'
    ? undefined
    : ClientInfo;
type ParamsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [K in Name]: string } & ParamsOf<Rest>
  : unknown;

/** What a handler gets: a request that passed every check of its endpoint. */
export interface Call<E extends Endpoint> extends CallHeaders {
  readonly caller: CallerOf<E['access']>;
  readonly service: ServiceOf<E['access']>;
  /** Undefined for a GET and a service: asking the socket for its peer costs as much as a look-up. */
  readonly client: ClientOf<E['method'], E['access']>;
  readonly params: ParamsOf<E['path']>;
  readonly query: OutputOf<E['query']>;
  readonly body: OutputOf<E['body']>;
  /** When the request arrived, in milliseconds of this process's monotonic clock. */
  readonly arrivedAt: number;
}

export interface CallHeaders {
  // The first five are missing even for an endpoint that does not declare them.
  readonly idempotencyKey: string | undefined;
  readonly wait: WaitPreference | undefined;
  readonly ifMatch: string | null;
  readonly ifNoneMatch: string | null;
  /** The one of our languages that the request prefers. */
  readonly language: Language | undefined;
  readonly accept: string | null;
  /** It is checked only where the request needs one. */
  readonly serviceKey: SentServiceKey | undefined;
  /**
   * The user's credential in the headers, where it may take the place of a token in the body.
   * @throws {AuthError} `origin_not_allowed` for a cookie from a page of another origin
   */
  readonly presentedCredential: () => PresentedCredential | undefined;
  /** @throws {AuthError} `precondition_failed` if the request is bound to another user */
  readonly requireExpectedUser: (userId: string) => void;
  /** The browser's session cookie, whether or not it authenticated the request. */
  readonly sessionCookie: string | undefined;
  /** The cookie of a known browser. Undefined if a page of a foreign origin made the request. */
  readonly knownBrowserCookie: string | undefined;
  readonly requestsCookie: string | undefined;
}

/** The form dialect of an endpoint, as an endpoint of its own. It never takes a user's credential. */
export interface FormOf<E extends Endpoint> extends Endpoint {
  readonly method: E['method'];
  readonly path: E['path'];
  readonly access: E['access'] extends 'service' ? 'service' : 'anyone';
  readonly query?: never;
  readonly body: NonNullable<E['form']>;
}

export type FormResponseOf<E extends Endpoint> = E extends { readonly formResponse: infer Response }
  ? Response
  : E['response'];

export interface Reply<Body> {
  /** The `code` of the request was redeemed or repeated by this request, so it is no second use. */
  readonly isOwnCode?: true;
  readonly body?: Body;
  /** Another representation, sent instead of `body`. */
  readonly signed?: { readonly type: string; readonly text: string };
  /** Other than the endpoint's own status. */
  readonly status?: 201 | 204 | 304;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sets or clears the session cookie. A sign-in also sets the cookie that makes this a known browser. */
  readonly cookie?: 'clear' | { readonly value: string; readonly knownBrowser?: string };
  /** For the log. */
  readonly detail?: ReplyDetail;
}

/** How a request succeeded, where that is worth a word in the log. */
export type ReplyDetail =
  | 'redeemed'
  | 'rotated'
  | 'retry'
  | 'access_token'
  | 'refresh_token'
  | 'key'
  | 'exchanged'
  | 'federated'
  | 'issued'
  | 'inactive';

/** What a function without a result resolves to. */
export type Nothing = Awaited<Promise<void>>;

/** A handler of an endpoint whose response has no body may return nothing. */
export type CallHandler<E extends Endpoint, Response = E['response']> = (
  call: Call<E>,
) => Promise<Response extends z.ZodType ? Reply<z.output<Response>> : Reply<Nothing> | Nothing>;

type CheckedCall = Omit<Call<Endpoint>, keyof CallHeaders>;

/**
 * Completes a call with what its headers contain. Optional headers are read only for an endpoint that
 * declares them, and cookies only if there are any: most requests have neither.
 * @throws {AuthError} `invalid_request` for an `Idempotency-Key` that is empty, too long or not printable
 */
export function completeCall(config: Config, endpoint: Endpoint, request: Request, checked: CheckedCall) {
  const { headers } = request;
  const declared = endpoint.headers ?? {};
  const cookies = headers.get('Cookie');
  const cookie = (kind: 'session' | 'knownBrowser' | 'requests'): string | undefined =>
    cookies === null ? undefined : readCookie(config, kind, cookies);
  return {
    ...checked,
    idempotencyKey: 'Idempotency-Key' in declared ? readIdempotencyKey(headers) : undefined,
    wait: 'Prefer' in declared ? readWait(request) : undefined,
    ifMatch: 'If-Match' in declared ? headers.get('If-Match') : null,
    ifNoneMatch: 'If-None-Match' in declared ? headers.get('If-None-Match') : null,
    language: 'Accept-Language' in declared ? preferredLanguage(headers.get('Accept-Language')) : undefined,
    accept: headers.get('Accept'),
    serviceKey: headers.has('Authorization') ? readServiceKey(headers) : undefined,
    presentedCredential: () => readPresentedCredential(config, headers),
    requireExpectedUser: (userId) => requireExpectedUser(headers, userId),
    sessionCookie: cookie('session'),
    knownBrowserCookie:
      cookies !== null && isFromForeignPage(config, headers) ? undefined : cookie('knownBrowser'),
    requestsCookie: cookie('requests'),
  } satisfies Call<Endpoint>;
}

/** Reads the signal of the request only where needed, because the runtime then watches the connection. */
function readWait(request: Request): WaitPreference | undefined {
  const seconds = waitSecondsOf(request.headers.get('Prefer'));
  return seconds === undefined ? undefined : { seconds, clientGone: request.signal };
}

function readIdempotencyKey(headers: Headers): string | undefined {
  const key = headers.get('Idempotency-Key');
  if (key === null) return undefined;
  if (key.length === 0 || key.length > fieldLimits.idempotencyKey || !/^[\x20-\x7e]+$/.test(key)) {
    throw invalidRequest(`Idempotency-Key: must be 1-${fieldLimits.idempotencyKey} printable characters`);
  }
  return key;
}

/** Shorter than the read timeouts of common proxies. A longer preference counts as this one. */
const maxWaitSeconds = 25;

/** A longer header is ignored: splitting one with unbalanced quotes takes time quadratic in its length. */
const maxHeaderLength = 1_000;

/** A preference with its parameters: commas separate preferences, except in quotes. */
const preference = /(?:"(?:[^"\\]|\\.)*"|[^",])+/g;
const waitPreference = /^\s*wait\s*(?:=\s*("?)(\d*)\1\s*)?(;|$)/i;

/**
 * The seconds of the `wait` preference in a `Prefer` header; undefined if there is none, or if it is not a
 * positive whole number. Only the first of several counts, and all other preferences are ignored.
 * @see RFC 7240 section 2
 */
export function waitSecondsOf(prefer: string | null): number | undefined {
  if (prefer === null || prefer.length > maxHeaderLength) return undefined;
  const wait = prefer.match(preference)?.find((text) => /^\s*wait\s*(?:[=;]|$)/i.test(text));
  const seconds = Math.min(Number(wait && waitPreference.exec(wait)?.[2]), maxWaitSeconds);
  return seconds > 0 ? seconds : undefined;
}
