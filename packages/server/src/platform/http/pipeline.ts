import type { Endpoint } from '@latchkey/contract/endpoints';
import type { Caller, CallingService, Context } from '../context.ts';
import { AuthError, resourceNotFound } from '../errors.ts';
import {
  type BodyDialect,
  check,
  dialectOf,
  parseBody,
  type ReceivedBody,
  readQuery,
  receiveBody,
} from './body.ts';
import { type Call, type CallHandler, type FormOf, type Reply, readCallHeaders } from './call.ts';
import { readClientInfo } from './client-info.ts';
import { knownBrowserCookieHeader, sessionCookieHeader } from './cookie.ts';
import { namesBearer, type PresentedCredential, readPresentedCredential } from './credential.ts';
import type { Exchange } from './exchange.ts';
import { describeEndpoint, patternOf, takesUser } from './operations.ts';
import { requireAllowedOrigin } from './origin.ts';
import type { Routes } from './routing.ts';
import { requireExpectedUser } from './user.ts';

/** How the pipeline identifies callers. `app.ts` connects it to the capabilities that own sessions and service keys. */
export interface Access<Credential> {
  /**
   * Verifies a credential without a statement. It is synchronous because each rejected promise adds about 5% to the cost
   * of refusing a forged token.
   * @throws {AuthError} `invalid_token`
   */
  readCredential(presented: PresentedCredential): Credential;
  /** @throws {AuthError} `invalid_token` */
  authenticate(credential: Credential): Promise<Caller>;
  /** @throws {AuthError} `invalid_client` */
  authenticateService(authorization: string | null): Promise<CallingService>;
  missingCredential(): AuthError;
  /** @throws {AuthError} `insufficient_user_authentication` */
  requireBrowserSession(caller: Caller): void;
  /** @throws {AuthError} `insufficient_user_authentication` */
  requireRecentLogin(caller: Caller): void;
}

export interface Api {
  readonly routes: Routes;
  /** Serves and describes an endpoint. One with a form dialect takes the handler of its form third. */
  on<const E extends Endpoint>(
    endpoint: E,
    handler: CallHandler<E>,
    formHandler?: CallHandler<FormOf<E>, E['response']>,
  ): void;
}

/** One dialect of an endpoint, JSON or form, with its handler. */
interface Dialect {
  readonly endpoint: Endpoint;
  readonly handle: (call: Call<Endpoint>) => Promise<Reply<unknown>>;
}

const emptyBody = new Uint8Array();

export function createApi<Credential>(ctx: Context, routes: Routes, access: Access<Credential>): Api {
  const on: Api['on'] = (endpoint, handler, formHandler) => {
    const asJson = dialectWith(endpoint, handler);
    const asForm = formHandler && dialectWith(formOf(endpoint), formHandler);
    const dialects: BodyDialect[] = [];
    if (endpoint.body) dialects.push('json');
    if (asForm) dialects.push('form');

    // The order protects: no credential is checked before the body is complete, and nothing is parsed before the
    // caller is known.
    const answerCall = async (exchange: Exchange): Promise<Response> => {
      const { request, params } = exchange;
      const received = dialects.length > 0 ? await receiveBody(request) : emptyBody;
      const service = takesService(endpoint) ? await identifyService(access, request) : undefined;
      const dialect = asForm && isFormCall(endpoint, request, received) ? asForm : asJson;
      const credential = takesUser(dialect.endpoint)
        ? requireCredential(ctx, access, dialect, request)
        : undefined;
      const caller = credential && (await identifyCaller(access, credential, dialect, request));
      const query = checkQuery(ctx, dialect, request);
      const body = checkBody(dialect, request, received, dialects);
      requireIds(params);
      const client = dialect.endpoint.method === 'get' ? undefined : readClientInfo(ctx.config, exchange);
      const headers = readCallHeaders(ctx.config, dialect.endpoint, request.headers);
      const reply = await dialect.handle({ caller, service, client, params, query, body, ...headers });
      return respond(ctx, exchange, dialect, reply, caller);
    };

    routes.describe(describeEndpoint(endpoint));
    routes.on(endpoint.method.toUpperCase(), patternOf(endpoint.path), answerCall);
  };

  return { routes, on };
}

/** The pipeline checks a call against its endpoint at run time; `E` says the same to the compiler. */
const dialectWith = <E extends Endpoint, Body>(
  endpoint: Endpoint,
  handler: (call: Call<E>) => Promise<Reply<Body>>,
): Dialect => ({ endpoint, handle: (call) => handler(call as Call<E>) });

/** An empty form to revoke has no token, so it counts as JSON, which revokes the caller's own sessions. */
const isFormCall = (endpoint: Endpoint, request: Request, received: ReceivedBody): boolean =>
  dialectOf(request) === 'form' &&
  !(endpoint.access === 'bearer' && !(received instanceof AuthError) && received.length === 0);

function formOf({ query: _, ...endpoint }: Endpoint): Endpoint {
  const { access, form, status, formStatus = status } = endpoint;
  return {
    ...endpoint,
    access: access === 'service' ? 'service' : 'anyone',
    ...(form ? { body: form, bodyOptional: true } : {}),
    status: formStatus,
  };
}

const identifyService = <Credential>(
  access: Access<Credential>,
  { headers }: Request,
): Promise<CallingService> => access.authenticateService(headers.get('Authorization'));

const takesService = ({ access }: Endpoint): boolean => access === 'service';

/** The verified credential of a user; undefined only where it is optional. */
function requireCredential<Credential>(
  { config }: Context,
  access: Access<Credential>,
  { endpoint }: Dialect,
  { headers }: Request,
): Credential | undefined {
  const presented = readPresentedCredential(config, headers);
  if (!presented) {
    if (endpoint.access === 'optional' && !namesBearer(headers)) return undefined;
    throw access.missingCredential();
  }
  try {
    return access.readCredential(presented);
  } catch (error) {
    if (isStaleCookie(endpoint, headers, error)) return undefined;
    throw error;
  }
}

/** The caller, who meets every requirement of the endpoint; undefined only where the credential is optional. */
async function identifyCaller<Credential>(
  access: Access<Credential>,
  credential: Credential,
  { endpoint }: Dialect,
  { headers }: Request,
): Promise<Caller | undefined> {
  let caller: Caller;
  try {
    caller = await access.authenticate(credential);
  } catch (error) {
    if (isStaleCookie(endpoint, headers, error)) return undefined;
    throw error;
  }
  requireExpectedUser(headers, caller.userId);
  if (endpoint.access === 'browser') access.requireBrowserSession(caller);
  if (endpoint.access === 'recent') access.requireRecentLogin(caller);
  return caller;
}

/**
 * A browser keeps sending the cookie of an ended session, so where a credential is optional, an invalid cookie counts
 * as none. A bearer token is sent on purpose: an invalid one is an error.
 */
const isStaleCookie = ({ access }: Endpoint, headers: Headers, error: unknown): boolean =>
  access === 'optional' &&
  !namesBearer(headers) &&
  error instanceof AuthError &&
  error.code === 'invalid_token';

function checkQuery(
  { config }: Context,
  { endpoint: { query } }: Dialect,
  { url, headers }: Request,
): Record<string, unknown> {
  if (!query) return {};
  const parameters = readQuery(url);
  // Another site must not be able to sign its visitors in to an account of its choice.
  if (parameters['session'] === 'cookie') requireAllowedOrigin(config, headers);
  return check(query, parameters, 'the query');
}

function checkBody(
  { endpoint: { body, bodyOptional } }: Dialect,
  request: Request,
  received: ReceivedBody,
  dialects: readonly BodyDialect[],
): unknown {
  if (!body) return {};
  const parsed = parseBody(request, received, dialects);
  return check(body, parsed === undefined && bodyOptional ? {} : parsed, 'the body');
}

const idPattern = /^[a-z]{2,4}_[\w-]{22}$/;

/** @throws {AuthError} `not_found`: a malformed id names no resource, so no statement needs to run for it */
function requireIds(params: Readonly<Record<string, string>>): void {
  for (const name in params) if (!idPattern.test(params[name]!)) throw resourceNotFound();
}

/** Turns a handler's reply into the response. A caller whose cookie is due for renewal gets a new one. */
function respond(
  { config }: Context,
  exchange: Exchange,
  { endpoint: { status } }: Dialect,
  reply: Reply<unknown>,
  caller: Caller | undefined,
): Response {
  exchange.detail = reply.detail;
  if (reply.signed)
    return new Response(reply.signed.text, { headers: { 'Content-Type': reply.signed.type } });
  const cookie = reply.cookie ?? (caller?.renewedCookie ? { value: caller.renewedCookie } : undefined);
  const response = exchange.json(reply.body, reply.status ?? status, reply.headers);
  if (cookie === 'clear') {
    if (caller?.credential === 'cookie')
      response.headers.set('Set-Cookie', sessionCookieHeader(config, undefined));
  } else if (cookie) {
    response.headers.set('Set-Cookie', sessionCookieHeader(config, cookie.value));
    if (cookie.knownBrowser !== undefined)
      response.headers.append('Set-Cookie', knownBrowserCookieHeader(config, cookie.knownBrowser));
  }
  return response;
}
