import { type Endpoint, userHeader } from '@latchkey/contract/endpoints';
import { type ErrorCode, errorStatus } from '@latchkey/contract/errors';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { z } from 'zod';
import type { Config } from '../config/config.ts';
import type { Caller, CallingService, Context } from '../context.ts';
import { AuthError, resourceNotFound } from '../errors.ts';
import { clientAddress } from '../values/client-address.ts';
import type { ClientInfo } from '../values/client-info.ts';
import { type BodyDialect, check, dialectOf, readBody, readQuery, takeBody } from './body.ts';
import {
  knownBrowserCookieHeader,
  readKnownBrowserCookie,
  readSessionCookie,
  sessionCookieHeader,
} from './cookie.ts';
import type { Exchange } from './exchange.ts';
import {
  type Answer,
  errorAnswer,
  etag,
  type Operation,
  type Parameter,
  rateLimitHeaders,
  setCookie,
  sometimes,
} from './openapi.ts';
import { isFromForeignPage, requireAllowedOrigin } from './origin.ts';
import type { Routes } from './routing.ts';
import { requireExpectedUser } from './user.ts';

type OutputOf<S> = S extends z.ZodType ? z.output<S> : Record<string, never>;
type ServiceOf<E extends Endpoint> = E['access'] extends 'service' ? CallingService : undefined;
type LoginOf<E extends Endpoint> = E['access'] extends 'anyone' | 'service'
  ? undefined
  : E['access'] extends 'optional'
    ? Caller | undefined
    : Caller;
type ParametersOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [K in Name]: string } & ParametersOf<Rest>
  : unknown;

/** A request after everything that can be checked without a use case was checked. */
export interface Call<E extends Endpoint, Body = OutputOf<E['body']>> extends CallFacts {
  readonly caller: LoginOf<E>;
  readonly service: ServiceOf<E>;
  readonly params: ParametersOf<E['path']>;
  readonly query: OutputOf<E['query']>;
  readonly body: Body;
}

export interface CallFacts {
  readonly client: ClientInfo;
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
  readonly status?: 304;
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
  authenticate(credential: { type: 'bearer' | 'cookie'; value: string }): Promise<Caller>;
  authenticateService(authorization: string | null): Promise<CallingService>;
  credentialMissing(): AuthError;
  requireBrowserLogin(caller: Caller): void;
  requireRecentLogin(caller: Caller): void;
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
  const authenticate = (headers: Headers): Promise<Caller> => {
    const bearer = /^bearer(?: +(.*))?$/i.exec(headers.get('Authorization') ?? '');
    const cookie = bearer ? undefined : readSessionCookie(ctx.config, headers.get('Cookie'));
    if (!bearer && cookie === undefined) throw access.credentialMissing();
    if (!bearer) requireAllowedOrigin(ctx.config, headers);
    return access.authenticate(
      bearer ? { type: 'bearer', value: bearer[1]?.trim() ?? '' } : { type: 'cookie', value: cookie! },
    );
  };

  /**
   * The login of a credential that may be left out. A cookie without a login counts as none: browsers keep sending it
   * after the login has ended. A bearer token is sent on purpose, so one that is not good is refused.
   */
  const authenticateIfPresented = async (headers: Headers): Promise<Caller | undefined> => {
    const hasBearer = /^bearer\b/i.test(headers.get('Authorization') ?? '');
    if (!hasBearer && readSessionCookie(ctx.config, headers.get('Cookie')) === undefined) return undefined;
    try {
      return await authenticate(headers);
    } catch (error) {
      if (!hasBearer && error instanceof AuthError && error.code === 'invalid_token') return undefined;
      throw error;
    }
  };

  const answer = <Body>(
    exchange: Exchange,
    endpoint: Pick<Endpoint, 'status'>,
    reply: Reply<Body>,
    caller?: Caller,
  ) => {
    exchange.detail = reply.detail;
    const cookie = reply.cookie ?? (caller?.renewedCookie ? { value: caller.renewedCookie } : undefined);
    const clears = cookie === 'clear' && caller?.credential === 'cookie';
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
    const isForUsers = !['anyone', 'optional', 'service'].includes(endpoint.access);
    const takesBody = dialects.length > 0;
    const answerCall = async (exchange: Exchange, presented?: Promise<Caller>): Promise<Response> => {
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
        return answer(
          exchange,
          { status: endpoint.formStatus ?? endpoint.status },
          await form(call as never),
        );
      }
      if (isForUsers) {
        const caller = await (presented ?? authenticate(request.headers));
        requireExpectedUser(request.headers, caller.userId);
        if (endpoint.access === 'browser') access.requireBrowserLogin(caller);
        if (endpoint.access === 'recent') access.requireRecentLogin(caller);
        call.caller = caller;
      }
      if (endpoint.access === 'optional') {
        call.caller = await authenticateIfPresented(request.headers);
        if (call.caller) requireExpectedUser(request.headers, call.caller.userId);
      }
      if (endpoint.query) {
        const parameters = readQuery(request.url);
        if (parameters['session'] === 'cookie') requireAllowedOrigin(ctx.config, request.headers);
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
      for (const name in exchange.params)
        if (!idPattern.test(exchange.params[name]!)) throw resourceNotFound();
      return answer(exchange, endpoint, await handler(call as never), call.caller);
    };

    const pattern = endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1');
    routes.describe(describe(endpoint));
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
  caller: Caller | undefined;
  service: CallingService | undefined;
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

  get client(): ClientInfo {
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
export const maxUserAgentLength = 512;

/**
 * For people to read in lists and logs: cut where it is too long, without control characters, directional
 * overrides and line separators, and never half a character.
 */
const userAgentOf = (headers: Headers): string | null =>
  headers
    .get('User-Agent')
    ?.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .slice(0, maxUserAgentLength)
    .replace(/\p{Cs}$/u, '') || null;

/** @throws {AuthError} `invalid_request` for a key that is empty, too long or not printable */
function idempotencyKeyOf(headers: Headers): string | undefined {
  const key = headers.get('Idempotency-Key');
  if (key === null) return undefined;
  if (key.length === 0 || key.length > fieldLimits.idempotencyKey || !/^[\x20-\x7e]+$/.test(key)) {
    throw new AuthError(
      'invalid_request',
      `Idempotency-Key: must be 1-${fieldLimits.idempotencyKey} printable characters`,
    );
  }
  return key;
}

const idempotencyKeyRules = { minLength: 1, maxLength: fieldLimits.idempotencyKey, pattern: '^[ -~]+$' };

/** The operation in the words of OpenAPI. */
function describe(endpoint: Endpoint): Operation {
  const { id, method, path, summary, access, body, bodyOptional, form, status, response } = endpoint;
  const isOfUser = access !== 'anyone' && access !== 'service';
  const setsCookie = isOfUser || (endpoint.query !== undefined && 'session' in endpoint.query.shape);
  const tags = endpoint.etag ? [etag] : [];
  const headers = [
    ...tags,
    ...(setsCookie ? [setCookie] : []),
    ...(endpoint.errors.includes('rate_limited') ? rateLimitHeaders.map(sometimes) : []),
  ];
  const content = {
    ...(response ? { 'application/json': response } : {}),
    ...(endpoint.signedAs ? { [endpoint.signedAs]: signedText } : {}),
  };
  return {
    id,
    method,
    path,
    summary,
    description: [
      accessInWords[access],
      ...(isOfUser && form ? ['As a form, it needs only the token in the body.'] : []),
      ...(endpoint.notes === undefined ? [] : [endpoint.notes].flat()),
    ].join(' '),
    security: isOfUser && form ? [...credentialsOf[access], []] : credentialsOf[access],
    parameters: parametersOf(endpoint),
    ...(body
      ? {
          body: {
            required: !bodyOptional,
            content: {
              'application/json': body,
              ...(method === 'patch' ? { 'application/merge-patch+json': body } : {}),
              ...(form ? { 'application/x-www-form-urlencoded': form } : {}),
            },
          },
        }
      : {}),
    responses: {
      [status]: { description: 'Done', headers, ...(response ? { content } : {}) },
      ...(endpoint.formStatus ? { [endpoint.formStatus]: { description: 'Done, asked as a form' } } : {}),
      ...(endpoint.headers && 'If-None-Match' in endpoint.headers
        ? { 304: { description: 'The caller has it already', headers } }
        : {}),
      ...errorResponses(endpoint),
    },
  };
}

const signedText = z.string();

const byUser = [['bearer'], ['cookie']] as const;
const credentialsOf = {
  anyone: [],
  optional: [...byUser, []],
  bearer: byUser,
  browser: byUser,
  recent: byUser,
  service: [['serviceKey']],
} satisfies Record<Endpoint['access'], Operation['security']>;

const accessInWords = {
  anyone: 'Anyone may call this.',
  optional:
    'Anyone may call this. An access token, or the session cookie of a page, counts where it is sent.',
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
  optional: ['invalid_token', 'origin_not_allowed', ...errorsOfUser],
  bearer: ['invalid_token', 'origin_not_allowed', ...errorsOfUser],
  browser: ['invalid_token', 'insufficient_user_authentication', 'origin_not_allowed', ...errorsOfUser],
  recent: ['invalid_token', 'insufficient_user_authentication', 'origin_not_allowed', ...errorsOfUser],
  service: ['invalid_client'],
} satisfies Record<Endpoint['access'], ErrorCode[]>;

/** What any endpoint may answer, whatever it does. */
const errorsOfAll: ErrorCode[] = ['server_error', 'temporarily_unavailable'];
const errorsOfBodies: ErrorCode[] = ['invalid_request', 'payload_too_large', 'unsupported_media_type'];

/** By status: the codes that this endpoint may answer with it. */
function errorResponses(endpoint: Endpoint): Record<number, Answer> {
  const codes = new Set<ErrorCode>([
    ...endpoint.errors,
    ...accessErrors[endpoint.access],
    ...(endpoint.body ? errorsOfBodies : []),
    ...errorsOfAll,
  ]);
  const byStatus = Map.groupBy(codes, (code) => errorStatus[code]);
  return Object.fromEntries([...byStatus].map(([status, found]) => [status, errorAnswer(found)]));
}

const pathParameter = z.string();
const userParameter = z.string().meta({
  pattern: '^usr_[A-Za-z0-9_-]{22}$',
  description:
    "A user's id. With a credential of anybody else the answer is precondition_failed, and nothing is done.",
});

function parametersOf({ path, query, headers = {}, access }: Endpoint): Parameter[] {
  const isOfUser = access !== 'anyone' && access !== 'service';
  const inHeader = (name: string, schema: z.ZodType) =>
    ({ name, in: 'header', required: false, schema }) as const;
  return [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(
      ([, name]) => ({ name: name!, in: 'path', required: true, schema: pathParameter }) as const,
    ),
    ...Object.entries(query?.shape ?? {}).map(
      ([name, schema]) =>
        ({ name, in: 'query', required: !schema.safeParse(undefined).success, schema }) as const,
    ),
    ...Object.entries(headers).map(([name, description]) =>
      inHeader(
        name,
        z.string().meta({ description, ...(name === 'Idempotency-Key' ? idempotencyKeyRules : {}) }),
      ),
    ),
    ...(isOfUser ? [inHeader(userHeader, userParameter)] : []),
  ];
}
