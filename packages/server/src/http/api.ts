import { type Endpoint, userHeader } from '@latchkey/contract/endpoints';
import { type ErrorCode, errorBody, errorStatus } from '@latchkey/contract/errors';
import { limits } from '@latchkey/contract/limits';
import { z } from 'zod';
import type { Config } from '../config.ts';
import type { Context, Login, Requester, Service } from '../context.ts';
import { AuthError, noSuchThing } from '../errors.ts';
import { type BodyDialect, check, dialectOf, readBody, readQuery, takeBody } from './body.ts';
import { clientAddress } from './client-address.ts';
import {
  knownBrowserCookieHeader,
  readKnownBrowserCookie,
  readSessionCookie,
  sessionCookieHeader,
} from './cookie.ts';
import type { Exchange } from './exchange.ts';
import { isFromForeignPage, requireOwnOrigin } from './origin.ts';
import type { Routes } from './routing.ts';
import { requireUser } from './user.ts';

type OutputOf<S> = S extends z.ZodType ? z.output<S> : Record<string, never>;
type ServiceOf<E extends Endpoint> = E['access'] extends 'service' ? Service : undefined;
type LoginOf<E extends Endpoint> = E['access'] extends 'anyone' | 'service' ? undefined : Login;
type ParametersOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [K in Name]: string } & ParametersOf<Rest>
  : unknown;

/** A request after everything that can be checked without a use case was checked. */
export interface Call<E extends Endpoint, Body = OutputOf<E['body']>> extends CallFacts {
  readonly login: LoginOf<E>;
  readonly service: ServiceOf<E>;
  readonly params: ParametersOf<E['path']>;
  readonly query: OutputOf<E['query']>;
  readonly body: Body;
}

export interface CallFacts {
  readonly requester: Requester;
  readonly idempotencyKey: string | undefined;
  readonly ifMatch: string | null;
  readonly ifNoneMatch: string | null;
  readonly accept: string | null;
  /** The browser's session cookie, whether or not it was what authenticated the request. */
  readonly sessionCookie: string | undefined;
  /** The cookie by which the browser is known again; none in a request of a foreign page. */
  readonly knownBrowserCookie: string | undefined;
}

/**
 * What a route answers. `detail` goes into the log; `cookie` sets or clears the browser session, and with a login
 * the browser is given what it is known by.
 */
export interface Reply<Body> {
  readonly body?: Body;
  /** The same answer in another form, sent in the place of `body`. */
  readonly signed?: { readonly type: string; readonly text: string };
  readonly status?: 200 | 304;
  readonly headers?: Record<string, string>;
  readonly cookie?: 'clear' | { readonly value: string; readonly knownBrowser?: string };
  readonly detail?: string;
}

type Handler<E extends Endpoint, Body> = (call: Call<E, Body>) => Promise<Reply<OutputOf<E['response']>>>;
type FormHandler<E extends Endpoint> = (
  call: CallFacts & { readonly service: ServiceOf<E>; readonly body: OutputOf<E['form']> },
) => Promise<Reply<OutputOf<E['response']>>>;

/** One way to get tokens at the OAuth token endpoint. */
export interface Grant {
  readonly grantType: string;
  /** The form parameter that carries what is redeemed. */
  readonly parameter: 'device_code' | 'refresh_token';
  redeem(ctx: Context, value: string, call: CallFacts): Promise<Reply<TokenSetLike>>;
}

interface TokenSetLike {
  access_token: string;
  token_type: 'Bearer';
  expires_in: number;
  refresh_token: string;
}

/** What the interface needs from the capabilities that know who calls. */
export interface Access {
  authenticate(credential: { type: 'bearer' | 'cookie'; value: string }): Promise<Login>;
  authenticateService(authorization: string | null): Promise<Service>;
  credentialMissing(): AuthError;
  requireBrowserLogin(login: Login): void;
  requireRecentLogin(login: Login): void;
}

export interface Api {
  readonly routes: Routes;
  /** Adds an operation; an endpoint with a form dialect takes its handler third. */
  on<const E extends Endpoint>(
    endpoint: E,
    handler: Handler<E, OutputOf<E['body']>>,
    form?: FormHandler<E>,
  ): void;
  /** The form dialect of an endpoint that redeems grants: picks the grant by `grant_type`. */
  formGrants(grants: readonly Grant[]): (
    call: CallFacts & {
      body: { grant_type: string; device_code?: string | undefined; refresh_token?: string | undefined };
    },
  ) => Promise<Reply<TokenSetLike>>;
}

export function createApi(ctx: Context, routes: Routes, access: Access): Api {
  const authenticate = (headers: Headers): Promise<Login> => {
    const bearer = /^bearer(?: +(.*))?$/i.exec(headers.get('Authorization') ?? '');
    const cookie = bearer ? undefined : readSessionCookie(ctx.config, headers.get('Cookie'));
    if (!bearer && cookie === undefined) throw access.credentialMissing();
    if (!bearer) requireOwnOrigin(ctx.config, headers);
    return access.authenticate(
      bearer ? { type: 'bearer', value: bearer[1]?.trim() ?? '' } : { type: 'cookie', value: cookie! },
    );
  };

  const answer = <Body>(exchange: Exchange, endpoint: Endpoint, reply: Reply<Body>, login?: Login) => {
    exchange.detail = reply.detail;
    const cookie = reply.cookie ?? (login?.renewedCookie ? { value: login.renewedCookie } : undefined);
    const clears = cookie === 'clear' && login?.credential === 'cookie';
    const set = cookie && cookie !== 'clear' ? cookie.value : undefined;
    const headers =
      clears || set !== undefined
        ? { ...reply.headers, 'Set-Cookie': sessionCookieHeader(ctx.config, set) }
        : reply.headers;
    if (reply.signed)
      return new Response(reply.signed.text, { headers: { 'Content-Type': reply.signed.type } });
    const response = exchange.json(reply.body, reply.status ?? endpoint.status, headers);
    if (cookie && cookie !== 'clear' && cookie.knownBrowser !== undefined)
      response.headers.append('Set-Cookie', knownBrowserCookieHeader(ctx.config, cookie.knownBrowser));
    return response;
  };

  const on: Api['on'] = (endpoint, handler, form) => {
    const dialects: BodyDialect[] = [
      ...(endpoint.body ? (['json'] as const) : []),
      ...(form ? (['form'] as const) : []),
    ];
    const isForUsers = endpoint.access !== 'anyone' && endpoint.access !== 'service';
    const takesBody = dialects.length > 0;
    const answerCall = async (exchange: Exchange, presented?: Promise<Login>): Promise<Response> => {
      const { request } = exchange;
      const call = new ReceivedCall(ctx.config, exchange);
      const taken = takesBody ? await takeBody(request) : noBody;
      if (endpoint.access === 'service')
        call.service = await access.authenticateService(request.headers.get('Authorization'));
      const isEmpty = !(taken instanceof AuthError) && taken.length === 0;
      if (
        form &&
        endpoint.form &&
        dialectOf(request) === 'form' &&
        !(isEmpty && endpoint.access === 'bearer')
      ) {
        call.body = check(endpoint.form, readBody(request, taken, dialects) ?? {}, 'the body');
        return answer(exchange, endpoint, await form(call as never));
      }
      if (isForUsers) {
        const login = await (presented ?? authenticate(request.headers));
        requireUser(request.headers, login.userId);
        if (endpoint.access === 'browser') access.requireBrowserLogin(login);
        if (endpoint.access === 'recent') access.requireRecentLogin(login);
        call.login = login;
      }
      if (endpoint.query) {
        const parameters = readQuery(request.url);
        if (parameters['session'] === 'cookie') requireOwnOrigin(ctx.config, request.headers);
        call.query = check(endpoint.query, parameters, 'the query');
      }
      if (endpoint.body) {
        const given = readBody(request, taken, dialects);
        call.body = check(
          endpoint.body,
          given === undefined && endpoint.bodyOptional ? {} : given,
          'the body',
        );
      }
      for (const name in exchange.params) if (!idPattern.test(exchange.params[name]!)) throw noSuchThing();
      return answer(exchange, endpoint, await handler(call as never), call.login);
    };

    const pattern = endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1');
    routes.document.openAPIRegistry.registerPath(describe(endpoint));
    routes.on(
      endpoint.method.toUpperCase(),
      pattern,
      // Where no body has to come first, garbage is refused before anything is started: floods are made of it.
      isForUsers && !takesBody
        ? (exchange) => answerCall(exchange, authenticate(exchange.request.headers))
        : (exchange) => answerCall(exchange),
    );
  };

  const formGrants: Api['formGrants'] = (grants) => (call) => {
    const grant = grants.find((candidate) => candidate.grantType === call.body.grant_type);
    if (!grant)
      throw new AuthError('unsupported_grant_type', 'grant_type: is not one that this endpoint takes');
    const value = call.body[grant.parameter];
    if (value === undefined) throw new AuthError('invalid_request', `${grant.parameter}: is missing`);
    return grant.redeem(ctx, value, call);
  };

  return { routes, on, formGrants };
}

/**
 * A call as it came to be. The facts around it are each read only where a use case asks for them: by name, since
 * spreading a call leaves them behind.
 */
class ReceivedCall implements CallFacts {
  login: Login | undefined;
  service: Service | undefined;
  query: unknown = {};
  body: unknown = {};
  readonly params: Exchange['params'];
  readonly #config: Config;
  readonly #exchange: Exchange;

  constructor(config: Config, exchange: Exchange) {
    this.#config = config;
    this.#exchange = exchange;
    this.params = exchange.params;
  }

  get requester(): Requester {
    const { env, request } = this.#exchange;
    const forwardedFor = request.headers.get('X-Forwarded-For');
    return {
      ipAddress: clientAddress(env.peer, forwardedFor, this.#config.trustedProxies),
      userAgent: userAgentOf(request.headers),
    };
  }

  get idempotencyKey(): string | undefined {
    return idempotencyKeyOf(this.#exchange.request.headers);
  }

  get ifMatch(): string | null {
    return this.#exchange.request.headers.get('If-Match');
  }

  get ifNoneMatch(): string | null {
    return this.#exchange.request.headers.get('If-None-Match');
  }

  get accept(): string | null {
    return this.#exchange.request.headers.get('Accept');
  }

  get sessionCookie(): string | undefined {
    return readSessionCookie(this.#config, this.#exchange.request.headers.get('Cookie'));
  }

  get knownBrowserCookie(): string | undefined {
    const { headers } = this.#exchange.request;
    if (isFromForeignPage(this.#config, headers)) return undefined;
    return readKnownBrowserCookie(this.#config, headers.get('Cookie'));
  }
}

const noBody = new Uint8Array();

/** Whatever else stands in a path names nothing here. */
const idPattern = /^[a-z]{2,4}_[\w-]{22}$/;

/** Longer ones are cut. */
export const greatestUserAgentLength = 512;

/**
 * For people to read in lists and logs: cut where it is too long, without control characters, directional
 * overrides and line separators, and never half a character.
 */
const userAgentOf = (headers: Headers): string | null =>
  headers
    .get('User-Agent')
    ?.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .slice(0, greatestUserAgentLength)
    .replace(/\p{Cs}$/u, '') || null;

/** @throws {AuthError} `invalid_request` for a key that is empty, too long or not printable */
function idempotencyKeyOf(headers: Headers): string | undefined {
  const key = headers.get('Idempotency-Key');
  if (key === null) return undefined;
  if (key.length === 0 || key.length > limits.idempotencyKey || !/^[\x20-\x7e]+$/.test(key)) {
    throw new AuthError(
      'invalid_request',
      `Idempotency-Key: must be 1-${limits.idempotencyKey} printable characters`,
    );
  }
  return key;
}

type RouteConfig = Parameters<Routes['document']['openAPIRegistry']['registerPath']>[0];

const field = (description: string, example: string) => ({
  description,
  schema: { type: 'string', example },
});

/** @see draft-ietf-httpapi-ratelimit-headers */
const rateLimitedResponse = {
  description: 'rate_limited, and when to come back. Other answers may carry the RateLimit fields too',
  headers: {
    'Retry-After': field('Whole seconds until the window ends', '42'),
    RateLimit: field(
      'The limit that was reached: what remains (r) and seconds to its end (t)',
      '"refreshes";r=0;t=42',
    ),
    'RateLimit-Policy': field('The limit: how many (q) in how many seconds (w)', '"refreshes";q=60;w=60'),
  },
  content: { 'application/json': { schema: errorBody } },
};

/** The operation in the words of OpenAPI. */
function describe(endpoint: Endpoint): RouteConfig {
  const content = {
    ...(endpoint.body ? { 'application/json': { schema: endpoint.body } } : {}),
    ...(endpoint.form ? { 'application/x-www-form-urlencoded': { schema: endpoint.form } } : {}),
  };
  const answer = {
    ...(endpoint.response ? { 'application/json': { schema: endpoint.response } } : {}),
    ...(endpoint.signedAs ? { [endpoint.signedAs]: { schema: z.string() } } : {}),
  };
  return {
    operationId: endpoint.id,
    method: endpoint.method,
    path: endpoint.path,
    summary: endpoint.summary,
    description: accessInWords[endpoint.access],
    security: credentialsOf[endpoint.access],
    request: {
      ...pathParameters(endpoint.path),
      ...(endpoint.query ? { query: endpoint.query } : {}),
      ...headerParameters(endpoint),
      ...(endpoint.body ? { body: { content, required: !endpoint.bodyOptional } } : {}),
    },
    responses: {
      [endpoint.status]: {
        description: 'Done',
        ...(endpoint.response ? { content: answer } : {}),
      },
      ...(endpoint.headers && 'If-None-Match' in endpoint.headers
        ? { 304: { description: 'The caller has it already' } }
        : {}),
      ...errorResponses(endpoint),
    },
  } as RouteConfig;
}

const byUser = [{ bearer: [] }, { cookie: [] }];
const credentialsOf = {
  anyone: [],
  bearer: byUser,
  browser: byUser,
  recent: byUser,
  service: [{ serviceKey: [] }],
} satisfies Record<Endpoint['access'], object[]>;

const accessInWords = {
  anyone: 'Anyone may call this.',
  bearer: 'Needs an access token, or the session cookie of a page.',
  browser: 'Needs the access token or cookie of a login in a browser.',
  recent: 'Needs the access token or cookie of a recent login by passkey or mail.',
  service: 'Needs a service key, by HTTP Basic.',
} satisfies Record<Endpoint['access'], string>;

/** What `Latchkey-User` may be answered. */
const errorsOfUser: ErrorCode[] = ['invalid_request', 'precondition_failed'];

/** What checking who calls may answer. */
const accessErrors = {
  anyone: [],
  bearer: ['invalid_token', 'origin_not_allowed', ...errorsOfUser],
  browser: ['invalid_token', 'insufficient_user_authentication', 'origin_not_allowed', ...errorsOfUser],
  recent: ['invalid_token', 'insufficient_user_authentication', 'origin_not_allowed', ...errorsOfUser],
  service: ['invalid_client'],
} satisfies Record<Endpoint['access'], ErrorCode[]>;

/** What any endpoint may answer, whatever it does. */
const errorsOfAll: ErrorCode[] = ['server_error', 'temporarily_unavailable'];
const errorsOfBodies: ErrorCode[] = ['invalid_request', 'payload_too_large', 'unsupported_media_type'];

/** By status: the codes that this endpoint may answer with it. */
function errorResponses(endpoint: Endpoint) {
  const codes = new Set<ErrorCode>([
    ...endpoint.errors,
    ...accessErrors[endpoint.access],
    ...(endpoint.body ? errorsOfBodies : []),
    ...errorsOfAll,
  ]);
  const byStatus = Map.groupBy(codes, (code) => errorStatus[code]);
  return Object.fromEntries(
    [...byStatus].map(([status, found]) => [
      status,
      found.includes('rate_limited')
        ? rateLimitedResponse
        : { description: found.join(', '), content: { 'application/json': { schema: errorBody } } },
    ]),
  );
}

function pathParameters(path: string): { params?: z.ZodObject } {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  return names.length === 0
    ? {}
    : { params: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))) };
}

const userParameter = {
  [userHeader]:
    "A user's id. With a credential of anybody else the answer is precondition_failed, and nothing is done.",
};

function headerParameters({ access, headers }: Endpoint): { headers?: z.ZodObject } {
  const isOfUser = access !== 'anyone' && access !== 'service';
  const parameters = Object.entries({ ...headers, ...(isOfUser ? userParameter : {}) });
  if (parameters.length === 0) return {};
  const shape = parameters.map(([name, description]) => [name, z.string().optional().meta({ description })]);
  return { headers: z.object(Object.fromEntries(shape)) };
}
