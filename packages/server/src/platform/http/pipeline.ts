import type { Endpoint } from '@latchkey/contract/endpoint';
import { organizationSlug } from '@latchkey/contract/organizations';
import { everything, includesAny } from '@latchkey/contract/scope-names';
import type { ServiceRight } from '@latchkey/contract/scopes';
import type { z } from 'zod';
import type { Caller, CallingService, Context, SentServiceKey } from '../context.ts';
import { AuthError, insufficientScope, invalidSlug, resourceNotFound } from '../errors.ts';
import { type ClientInfo, readClientInfo } from '../values/client-address.ts';
import { type BodyDialect, check, dialectOf, parseBody, readQuery, receiveBody } from './body.ts';
import {
  type Call,
  type CallHandler,
  completeCall,
  type FormOf,
  type FormResponseOf,
  type Nothing,
  type Reply,
} from './call.ts';
import { cookieHeader } from './cookie.ts';
import {
  namesBearer,
  type PresentedCredential,
  readPresentedCredential,
  readServiceKey,
  requireExpectedUser,
} from './credential.ts';
import { describeEndpoint, patternOf, takesUser } from './operations.ts';
import { requirePage } from './origin.ts';
import type { Exchange, Routes } from './server.ts';

/** How the pipeline identifies callers. `app.ts` connects it to the owners of sessions and service keys. */
export interface Access {
  /** @throws {AuthError} `invalid_token`; without a statement for a forged credential */
  authenticate(presented: PresentedCredential): Promise<Caller>;
  /** @throws {AuthError} `invalid_client` */
  authenticateService(sent: SentServiceKey | undefined): Promise<CallingService>;
  /** @throws {AuthError} `unauthorized_client` */
  requireRight(service: CallingService, rights: readonly ServiceRight[]): void;
  /** @param takesForm whether the endpoint takes a form instead */
  missingCredential(takesForm: boolean): AuthError;
  /** @throws {AuthError} `insufficient_user_authentication` */
  requireBrowserSession(caller: Caller): void;
  /** @throws {AuthError} `insufficient_user_authentication` */
  requireRecentSignIn(caller: Caller): void;
}

export interface Api {
  readonly routes: Routes;
  /**
   * Serves and describes an endpoint. One with a form dialect takes the handler of its form third.
   * `afterwards` learns of every request whose body is complete, however it ended, before it is answered.
   */
  on<const E extends Endpoint>(
    endpoint: E,
    handler: CallHandler<E>,
    formHandler?: CallHandler<FormOf<E>, FormResponseOf<E>>,
    afterwards?: Afterwards,
  ): void;
  /** Serves and describes an endpoint whose response is a body and nothing else. */
  answer<const E extends Endpoint & { readonly response: z.ZodType }>(
    endpoint: E,
    handler: (call: Call<E>) => Promise<z.output<E['response']>>,
  ): void;
}

/** @param ended what the handler returned, or the error that refuses the request */
export type Afterwards = (
  request: Request,
  received: Uint8Array,
  client: ClientInfo,
  ended: Reply<unknown> | Error,
) => Promise<void>;

/** One dialect of an endpoint, JSON or form, with its handler. */
interface Dialect {
  readonly endpoint: Endpoint;
  readonly takesUser: boolean;
  readonly handle: (call: Call<Endpoint>) => Promise<Reply<unknown>>;
}

const emptyBody = new Uint8Array();

export function createApi(ctx: Context, routes: Routes, access: Access): Api {
  const on: Api['on'] = (endpoint, handler, formHandler, afterwards) => {
    const asJson = dialectWith(endpoint, handler);
    const asForm = formHandler && dialectWith(formOf(endpoint), formHandler);
    const dialects: BodyDialect[] = [];
    if (endpoint.body) dialects.push('json');
    if (asForm) dialects.push('form');

    const isRecorded = endpoint.method !== 'get' && endpoint.access !== 'service';

    // The order protects: no credential is checked before the body is complete, because a slow sender could
    // otherwise act on one that was revoked meanwhile, and nothing is parsed before the caller is known.
    const answerCall = async (exchange: Exchange): Promise<Response> => {
      const { request, params } = exchange;
      // Before the first wait: the client may disconnect meanwhile.
      const client = isRecorded ? readClientInfo(ctx.config.trustedProxies, exchange) : undefined;
      // What is wrong with the body is said only to a caller whose credential is good.
      const received =
        dialects.length > 0 ? await receiveBody(request).catch((error: AuthError) => error) : emptyBody;
      const service =
        endpoint.access === 'service' ? await identifyService(access, endpoint, request) : undefined;
      const dialect = asForm && isFormCall(endpoint, request, received) ? asForm : asJson;
      const caller = dialect.takesUser ? await identifyCaller(ctx, access, dialect, request) : undefined;
      if (received instanceof AuthError) throw received;
      let reply: Reply<unknown>;
      try {
        const query = checkQuery(ctx, dialect, request);
        const body = checkBody(dialect, request, received, dialects);
        if (caller && dialect.endpoint.endsOwnSession && !endsOwnSession(caller, params, query, body))
          requireScope(caller, dialect.endpoint);
        requireNames(endpoint, params);
        const { arrivedAt } = exchange;
        const checked = { caller, service, client, params, query, body, arrivedAt };
        reply = await dialect.handle(completeCall(ctx.config, dialect.endpoint, request, checked));
      } catch (error) {
        if (afterwards && client) await afterwards(request, received, client, error as Error);
        throw error;
      }
      if (afterwards && client) await afterwards(request, received, client, reply);
      return respond(ctx, exchange, dialect, reply, caller);
    };

    routes.operations.push(describeEndpoint(endpoint));
    routes.on(endpoint.method.toUpperCase(), patternOf(endpoint.path), answerCall, {
      isPolled: endpoint.isPolled,
    });
  };

  const answer: Api['answer'] = (endpoint, handler) =>
    on<Endpoint>(endpoint, async (call) => ({ body: await handler(call as Call<typeof endpoint>) }));

  return { routes, on, answer };
}

/** The pipeline checks a call against its endpoint at run time; `E` says the same to the compiler. */
const dialectWith = <E extends Endpoint, Body>(
  endpoint: Endpoint,
  handler: (call: Call<E>) => Promise<Reply<Body> | Nothing>,
): Dialect => ({
  endpoint,
  takesUser: takesUser(endpoint),
  handle: async (call) => (await handler(call as Call<E>)) ?? {},
});

/**
 * An empty form with a user's credential, such as `curl -d ''` sends, counts as JSON, which revokes the
 * caller's own sessions. Without a credential, it is a form that lacks its token.
 * @see RFC 7009 section 2.2.1
 */
function isFormCall({ access }: Endpoint, request: Request, received: Uint8Array | AuthError): boolean {
  if (dialectOf(request) !== 'form') return false;
  const isEmpty = !(received instanceof AuthError) && received.length === 0;
  const { headers } = request;
  return !(access === 'bearer' && isEmpty && (namesBearer(headers) || headers.has('Cookie')));
}

function formOf({ query: _, ...endpoint }: Endpoint): Endpoint {
  const { access, form, status, formStatus = status } = endpoint;
  return {
    ...endpoint,
    access: access === 'service' ? 'service' : 'anyone',
    ...(form ? { body: form, bodyOptional: true } : {}),
    status: formStatus,
  };
}

async function identifyService(access: Access, { rights }: Endpoint, { headers }: Request) {
  const service = await access.authenticateService(readServiceKey(headers));
  if (rights) access.requireRight(service, rights);
  return service;
}

/** The caller, who meets all requirements of the endpoint; undefined only if the credential is optional. */
async function identifyCaller(
  { config }: Context,
  access: Access,
  { endpoint }: Dialect,
  { headers }: Request,
): Promise<Caller | undefined> {
  const presented = readPresentedCredential(config, headers);
  const isOptional = endpoint.access === 'optional' && !namesBearer(headers);
  if (!presented && !isOptional) throw access.missingCredential(endpoint.form !== undefined);
  if (endpoint.ownOriginOnly && presented?.type !== 'bearer') requirePage(config, headers, 'own');
  if (!presented) return undefined;
  let caller: Caller;
  try {
    caller = await access.authenticate(presented);
  } catch (error) {
    // A browser keeps sending the cookie of an ended session. A bearer token is sent on purpose: an invalid
    // one is an error.
    if (isOptional && error instanceof AuthError && error.code === 'invalid_token') return undefined;
    throw error;
  }
  requireExpectedUser(headers, caller.userId);
  if (!endpoint.endsOwnSession) requireScope(caller, endpoint);
  if (endpoint.access === 'browser') access.requireBrowserSession(caller);
  if (endpoint.access === 'recent') access.requireRecentSignIn(caller);
  return caller;
}

/**
 * A token that is bound to a resource is for that service, not for this one.
 * @throws {AuthError} `insufficient_scope` unless the scope is one that the endpoint accepts
 */
function requireScope({ scope, resource }: Caller, endpoint: Endpoint): void {
  const needed = endpoint.scopes ?? [everything];
  if (resource !== null || !includesAny(scope, needed)) throw insufficientScope(needed[0]!, resource);
}

/** Whether the call ends the caller's own session and nothing else, which no token is too narrow for. */
const endsOwnSession = (
  caller: Caller,
  params: Readonly<Record<string, string>>,
  query: Readonly<Record<string, unknown>>,
  body: unknown,
): boolean =>
  params['id'] === undefined
    ? query['scope'] === 'session' || (body as { scope?: unknown }).scope === 'session'
    : params['id'] === caller.sessionId;

function checkQuery({ config }: Context, { endpoint: { query } }: Dialect, { url, headers }: Request) {
  if (!query) return {};
  const parameters = readQuery(url);
  // Another site must not be able to sign its visitors in to an account of its choice.
  if (parameters['session'] === 'cookie') requirePage(config, headers, 'allowed');
  return check(query, parameters, 'the query');
}

function checkBody(
  { endpoint: { body, bodyOptional } }: Dialect,
  request: Request,
  received: Uint8Array,
  dialects: readonly BodyDialect[],
): unknown {
  if (!body) return {};
  const parsed = parseBody(request, received, dialects);
  return check(body, parsed === undefined && bodyOptional ? {} : parsed, 'the body');
}

const idPattern = /^[a-z]{2,4}_[\w-]{22}$/;

/**
 * A malformed id or slug names no resource, so no statement needs to run for it.
 * @throws {AuthError} `not_found`, or `invalid_request` if the call would create what the slug names
 */
function requireNames({ method, path }: Endpoint, params: Readonly<Record<string, string>>): void {
  for (const name in params) {
    const isSlug = name === 'slug';
    if ((isSlug ? organizationSlug : idPattern).test(params[name]!)) continue;
    if (isSlug && method === 'put' && path.endsWith('{slug}')) throw invalidSlug();
    throw resourceNotFound();
  }
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
      response.headers.append('Set-Cookie', cookieHeader(config, 'session', ''));
  } else if (cookie) {
    response.headers.append('Set-Cookie', cookieHeader(config, 'session', cookie.value));
    if (cookie.knownBrowser !== undefined)
      response.headers.append('Set-Cookie', cookieHeader(config, 'knownBrowser', cookie.knownBrowser));
  }
  return response;
}
