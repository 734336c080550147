import { fieldLimits } from '@latchkey/contract/field-limits';
import type { Context } from '../context.ts';
import type { AuthError, ErrorDetail } from '../errors.ts';
import { redact } from '../telemetry/redact.ts';
import type { ReplyDetail } from './call.ts';
import { corsHeaders } from './origin.ts';

/** The connection that a request came in on. */
export interface ConnectionInfo {
  /**
   * The peer address reported by the socket; undefined once the client has disconnected, so it must be read before the first wait.
   * Reading it costs as much as a look-up.
   */
  readonly peer: string | undefined;
}

const requestIdPattern = new RegExp(`^[A-Za-z0-9._-]{1,${fieldLimits.requestId}}$`);

const commonHeaders = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  Vary: 'Origin',
};
// Copied for each response: that costs half as much as making headers from an object.
const emptyHeaders = new Headers(commonHeaders);
const jsonHeaders = new Headers({ ...commonHeaders, 'Content-Type': 'application/json' });

const hstsMaxAgeSeconds = 63_072_000;

const noParams: Readonly<Record<string, string>> = {};

/** One HTTP request, the response being built for it, and what the log will say about it. */
export class Exchange {
  readonly request: Request;
  readonly connection: ConnectionInfo;
  /** From the client's `X-Request-Id` if that is well-formed, otherwise a new one. */
  readonly requestId: string;
  /** The same for the log, which never shows a credential that a client sent in its place. */
  readonly loggedId: string;
  /** In milliseconds of this process's monotonic clock. */
  readonly arrivedAt: number;
  params = noParams;
  outcome = 'ok';
  detail: ErrorDetail | ReplyDetail | undefined;
  /** Takes the place of the error object. */
  errorPage: ((error: AuthError) => Response) | undefined;
  readonly #cors: Readonly<Record<string, string>> | undefined;
  readonly #https: boolean;
  #hasCommonHeaders = false;

  constructor(
    request: Request,
    connection: ConnectionInfo,
    { config, timers }: Pick<Context, 'config' | 'timers'>,
    path: string,
  ) {
    this.arrivedAt = timers.monotonic();
    this.request = request;
    this.connection = connection;
    const sent = request.headers.get('X-Request-Id');
    const isWellFormed = sent !== null && requestIdPattern.test(sent);
    this.requestId = isWellFormed ? sent : crypto.randomUUID();
    this.loggedId = isWellFormed ? redact(sent) : this.requestId;
    const origin = request.headers.get('Origin');
    this.#cors = origin === null ? undefined : corsHeaders(config, request, path, origin);
    this.#https = config.https;
  }

  /** A JSON response, or one without a body if `body` is undefined. */
  json(body: unknown, status = 200, headers?: Readonly<Record<string, string>>): Response {
    const response =
      body === undefined
        ? new Response(null, { status, headers: emptyHeaders })
        : new Response(JSON.stringify(body), { status, headers: jsonHeaders });
    for (const name in headers) response.headers.set(name, headers[name]!);
    this.#hasCommonHeaders = true;
    return this.#withOwnHeaders(response);
  }

  /** The error object of a refused request, or the page that takes its place. */
  refuse(error: AuthError): Response {
    this.outcome = error.code;
    this.detail = error.detail;
    if (!this.errorPage) return this.json(error.toBody(this.requestId), error.status, error.headers);
    const page = this.withCommonHeaders(this.errorPage(error));
    for (const name in error.headers) page.headers.set(name, error.headers[name]!);
    return page;
  }

  /** Adds the headers of every response, unless the response already has its own. */
  withCommonHeaders(response: Response): Response {
    if (this.#hasCommonHeaders) return response;
    for (const [name, value] of Object.entries(commonHeaders))
      if (!response.headers.has(name)) response.headers.set(name, value);
    return this.#withOwnHeaders(response);
  }

  #withOwnHeaders(response: Response): Response {
    response.headers.set('X-Request-Id', this.requestId);
    if (this.#https) response.headers.set('Strict-Transport-Security', `max-age=${hstsMaxAgeSeconds}`);
    for (const name in this.#cors) response.headers.set(name, this.#cors[name]!);
    return response;
  }
}
