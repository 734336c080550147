import type { OpenAPIHono } from '@hono/zod-openapi';
import { type Endpoint, userHeader } from '@latchkey/contract/endpoints';
import { type ErrorCode, errorBody, errorStatus } from '@latchkey/contract/errors';
import { limits } from '@latchkey/contract/limits';
import type { Context as HonoContext } from 'hono';
import { z } from 'zod';
import type { Config } from '../config.ts';
import type { Context, Login, Requester, Service } from '../context.ts';
import { AuthError, noSuchThing } from '../errors.ts';
import { type BodyDialect, check, dialectOf, readBody, readQuery, takeBody } from './body.ts';
import { clientAddress, isUnnamedProxy } from './client-address.ts';
import { readSessionCookie, sessionCookieHeader } from './cookie.ts';
import { requireOwnOrigin } from './origin.ts';
import { requireUser } from './user.ts';

/** What surrounds a request: the peer's address as the socket has it, and what the log will say of it. */
export interface RequestEnv {
  Bindings: { readonly peer: string | undefined };
  Variables: {
    requestId: string;
    /** What every answer carries. */
    headers: Readonly<Record<string, string>>;
    /** Whether the answer was made with these headers. */
    dressed: boolean | undefined;
    outcome: string | undefined;
    detail: string | undefined;
  };
}

export type App = OpenAPIHono<RequestEnv>;

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
  readonly accept: string | null;
  /** The browser's session cookie, whether or not it was what authenticated the request. */
  readonly sessionCookie: string | undefined;
}

/** What a route answers. `detail` goes into the log; `cookie` sets or clears the browser session. */
export interface Reply<Body> {
  readonly body?: Body;
  /** The same answer in another form, sent in the place of `body`. */
  readonly signed?: { readonly type: string; readonly text: string };
  readonly status?: 200;
  readonly headers?: Record<string, string>;
  readonly cookie?: 'clear' | { readonly value: string };
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
  readonly app: App;
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

export function createApi(ctx: Context, app: App, access: Access): Api {
  const authenticate = async (endpoint: Endpoint, c: HonoContext<RequestEnv>): Promise<Login | undefined> => {
    if (endpoint.access === 'anyone' || endpoint.access === 'service') return undefined;
    const headers = c.req.raw.headers;
    const bearer = /^bearer(?: +(.*))?$/i.exec(headers.get('Authorization') ?? '');
    const cookie = readSessionCookie(ctx.config, headers.get('Cookie'));
    if (!bearer && cookie === undefined) throw access.credentialMissing();
    if (!bearer) requireOwnOrigin(ctx.config, headers);
    const login = await access.authenticate(
      bearer ? { type: 'bearer', value: bearer[1]?.trim() ?? '' } : { type: 'cookie', value: cookie! },
    );
    requireUser(headers, login.userId);
    if (endpoint.access === 'browser') access.requireBrowserLogin(login);
    if (endpoint.access === 'recent') access.requireRecentLogin(login);
    return login;
  };

  const authenticateService = async (endpoint: Endpoint, c: HonoContext<RequestEnv>) =>
    endpoint.access === 'service'
      ? access.authenticateService(c.req.raw.headers.get('Authorization'))
      : undefined;

  const callOf = <Parts extends object>(c: HonoContext<RequestEnv>, parts: Parts): Parts & CallFacts =>
    Object.assign(new RequestFacts(ctx.config, c), parts);

  const answer = <Body>(
    c: HonoContext<RequestEnv>,
    endpoint: Endpoint,
    reply: Reply<Body>,
    login?: Login,
  ) => {
    c.set('detail', reply.detail);
    const cookie = reply.cookie ?? (login?.renewedCookie ? { value: login.renewedCookie } : undefined);
    const clears = cookie === 'clear' && login?.credential === 'cookie';
    const set = cookie && cookie !== 'clear' ? cookie.value : undefined;
    const headers =
      clears || set !== undefined
        ? { ...reply.headers, 'Set-Cookie': sessionCookieHeader(ctx.config, set) }
        : reply.headers;
    if (reply.signed) return c.body(reply.signed.text, 200, { 'Content-Type': reply.signed.type });
    return dressed(c, reply.body, reply.status ?? endpoint.status, headers);
  };

  const on: Api['on'] = (endpoint, handler, form) => {
    const dialects: BodyDialect[] = [
      ...(endpoint.body ? (['json'] as const) : []),
      ...(form ? (['form'] as const) : []),
    ];
    app.openAPIRegistry.registerPath(describe(endpoint));
    app.on(endpoint.method.toUpperCase(), endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'), async (c) => {
      const taken = await takeBody(c.req.raw);
      const service = await authenticateService(endpoint, c);
      const isEmpty = !(taken instanceof AuthError) && taken.length === 0;
      if (
        form &&
        endpoint.form &&
        dialectOf(c.req.raw) === 'form' &&
        !(isEmpty && endpoint.access === 'bearer')
      ) {
        const body = check(endpoint.form, readBody(c.req.raw, taken, dialects) ?? {}, 'the body');
        return answer(c, endpoint, await form(callOf(c, { service: service as never, body: body as never })));
      }
      const login = await authenticate(endpoint, c);
      const parameters = endpoint.query ? readQuery(c.req.url) : {};
      if (parameters['session'] === 'cookie') requireOwnOrigin(ctx.config, c.req.raw.headers);
      const query = endpoint.query ? check(endpoint.query, parameters, 'the query') : {};
      const given = endpoint.body ? readBody(c.req.raw, taken, dialects) : undefined;
      const absent = given === undefined && endpoint.bodyOptional ? {} : given;
      const body = endpoint.body ? check(endpoint.body, absent, 'the body') : {};
      const params = c.req.param();
      if (!Object.values(params).every((id) => idPattern.test(String(id)))) throw noSuchThing();
      const call = callOf(c, { login, service, params, query, body });
      return answer(c, endpoint, await handler(call as never), login);
    });
  };

  const formGrants: Api['formGrants'] = (grants) => (call) => {
    const grant = grants.find((candidate) => candidate.grantType === call.body.grant_type);
    if (!grant)
      throw new AuthError('unsupported_grant_type', 'grant_type: is not one that this endpoint takes');
    const value = call.body[grant.parameter];
    if (value === undefined) throw new AuthError('invalid_request', `${grant.parameter}: is missing`);
    return grant.redeem(ctx, value, call);
  };

  return { app, on, formGrants };
}

/**
 * An answer with the headers that every one carries, made in one piece: setting headers one by one costs more
 * than the rest of an answer.
 */
export function dressed(
  c: HonoContext<RequestEnv>,
  body: unknown,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): Response {
  c.set('dressed', true);
  return body === undefined
    ? new Response(null, { status, headers: { ...c.get('headers'), ...headers } })
    : new Response(JSON.stringify(body), {
        status,
        headers: { ...c.get('headers'), 'Content-Type': 'application/json', ...headers },
      });
}

/**
 * The facts around a request, each read from it only where a use case asks for it: by name, since spreading a
 * call leaves them behind.
 */
class RequestFacts implements CallFacts {
  readonly #config: Config;
  readonly #c: HonoContext<RequestEnv>;

  constructor(config: Config, c: HonoContext<RequestEnv>) {
    this.#config = config;
    this.#c = c;
  }

  get requester(): Requester {
    const { headers } = this.#c.req.raw;
    const { peer } = this.#c.env;
    const { trustedProxies } = this.#config;
    return {
      ipAddress: clientAddress(peer, headers.get('X-Forwarded-For'), trustedProxies),
      isAddressOfProxy: isUnnamedProxy(peer, headers, trustedProxies),
      userAgent: userAgentOf(headers),
    };
  }

  get idempotencyKey(): string | undefined {
    return idempotencyKeyOf(this.#c.req.raw.headers);
  }

  get ifMatch(): string | null {
    return this.#c.req.raw.headers.get('If-Match');
  }

  get accept(): string | null {
    return this.#c.req.raw.headers.get('Accept');
  }

  get sessionCookie(): string | undefined {
    return readSessionCookie(this.#config, this.#c.req.raw.headers.get('Cookie'));
  }
}

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

type RouteConfig = Parameters<App['openAPIRegistry']['registerPath']>[0];

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
