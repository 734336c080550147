import { type Endpoint, userHeader } from '@latchkey/contract/endpoint';
import { type ErrorCode, errorMeanings, errorStatus } from '@latchkey/contract/errors';
import { examples } from '@latchkey/contract/examples';
import { fieldLimits } from '@latchkey/contract/field-limits';
import { everything, onlyByName } from '@latchkey/contract/scope-names';
import { z } from 'zod';

/** An operation of the API in OpenAPI terms, with the schemas that validate it or the same as JSON Schema. */
export interface Operation<Schema = z.ZodType>
  extends Pick<Endpoint, 'id' | 'method' | 'path' | 'title' | 'group' | 'summary' | 'notes'> {
  /** The credentials and rights that it needs, in full sentences. */
  readonly access?: string;
  /** The alternatives, each with its schemes and the scopes that they need. Empty if anyone may call. */
  readonly security: readonly SecurityRequirement[];
  readonly parameters?: readonly Parameter<Schema>[];
  readonly body?: { readonly required: boolean; readonly content: Content<Schema> } | undefined;
  readonly responses: Readonly<Record<number, ResponseDescription<Schema>>>;
}

export type SecurityRequirement = Partial<Record<SecurityScheme, readonly string[]>>;
export type SecurityScheme = 'bearer' | 'cookie' | 'serviceKey' | 'metricsToken';

export interface Parameter<Schema = z.ZodType> {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: Schema;
}

export type Content<Schema = z.ZodType> = Readonly<Record<string, Schema>>;

/** The response with one status. Its body, if any, is described by either `content` or `errors`. */
export interface ResponseDescription<Schema = z.ZodType> {
  readonly description: string;
  /** Besides those of every response. */
  readonly headers?: readonly Header[];
  readonly content?: Content<Schema> | undefined;
  /** The error codes that have this status, with what they mean for this operation. */
  readonly errors?: readonly DescribedError[];
}

export interface DescribedError {
  readonly code: ErrorCode;
  readonly meaning: string;
}

export interface Header {
  readonly name: string;
  /** Whether every response with this status has it. */
  readonly required: boolean;
  readonly description: string;
  readonly pattern?: string;
  readonly example?: string;
}

const header = (name: string, description: string, more: Partial<Header> = {}): Header => ({
  name,
  required: true,
  description,
  ...more,
});

export const requestId = header(
  'X-Request-Id',
  'The id from the request, if that is 1-128 characters of [A-Za-z0-9._-], otherwise a new one',
  { pattern: '^[A-Za-z0-9._-]{1,128}$' },
);
export const cacheControl = header(
  'Cache-Control',
  'no-store, except for the few documents that may be cached',
);
export const etag = header('ETag', 'Identifies this version, for If-Match and If-None-Match', {
  pattern: '^(W/)?"[^"]*"$',
});
export const location = header('Location', 'The page, with the parameters');
const setCookie = header(
  'Set-Cookie',
  'Starts, renews or ends the session of a browser. Never readable by scripts',
  { required: false },
);
const challenge = header(
  'WWW-Authenticate',
  'The credential that is required, and what is wrong with the one that was sent',
);
const preferenceApplied = header('Preference-Applied', 'The preference of the request that was honoured', {
  required: false,
  pattern: '^wait=[0-9]+$',
  example: 'wait=25',
});
export const allow = header('Allow', 'The methods of this path');
const retryAfter = header('Retry-After', 'How many seconds to wait before the next attempt', {
  pattern: '^[0-9]+$',
  example: '42',
});
/** @see draft-ietf-httpapi-ratelimit-headers */
const rateLimitHeaders: readonly Header[] = [
  header('RateLimit', 'What remains of each rate limit (r), and the seconds until it resets (t)', {
    pattern: '^"[a-z_]+";r=[0-9]+;t=[0-9]+(, "[a-z_]+";r=[0-9]+;t=[0-9]+)*$',
    example: '"refreshes";r=0;t=42',
  }),
  header('RateLimit-Policy', 'Each rate limit: how many requests (q) in how many seconds (w)', {
    pattern: '^"[a-z_]+";q=[0-9]+;w=[0-9]+(, "[a-z_]+";q=[0-9]+;w=[0-9]+)*$',
    example: '"refreshes";q=60;w=60',
  }),
];

const optional = (header: Header): Header => ({ ...header, required: false });

const headersOfErrors: Partial<Record<ErrorCode, readonly Header[]>> = {
  invalid_token: [challenge],
  insufficient_user_authentication: [challenge],
  // Not on every 403: other errors have that status too.
  insufficient_scope: [optional(challenge)],
  invalid_client: [challenge],
  method_not_allowed: [allow],
  rate_limited: [retryAfter, ...rateLimitHeaders],
  temporarily_unavailable: [retryAfter],
};

/** Describes the response to errors that share a status. */
export const errorResponse = (
  errors: readonly ErrorCode[],
  description = errors.join(', '),
  meanings: Endpoint['errors'] = {},
): Omit<ResponseDescription, 'content'> => ({
  description,
  errors: errors.map((code) => {
    const meaning = meanings[code] ?? true;
    return { code, meaning: meaning === true ? errorMeanings[code] : meaning };
  }),
  headers: [...new Set(errors.flatMap((code) => headersOfErrors[code] ?? []))],
});

/** The pattern of a path as the router takes it: `:name` for `{name}`. */
export const patternOf = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

const reasonPhrases = { 200: 'OK', 201: 'Created', 202: 'Accepted', 204: 'No Content' } satisfies Record<
  Endpoint['status'],
  string
>;

/** Whether an endpoint takes a user's credential, required or optional. */
export const takesUser = ({ access }: Endpoint): boolean => access !== 'anyone' && access !== 'service';

/** The session of a browser has every scope but those that are only held by name. */
const takesCookie = ({ scopes }: Endpoint): boolean => !scopes?.every((scope) => onlyByName.includes(scope));

export function describeEndpoint(endpoint: Endpoint): Operation {
  const { access, rights, form, takesServiceKey } = endpoint;
  const formNeedsNoUser = takesUser(endpoint) && form !== undefined;
  return {
    ...endpoint,
    access: [
      takesCookie(endpoint) ? accessInWords[access] : 'Needs an access token.',
      ...(takesUser(endpoint) ? [scopesInWords(endpoint)] : []),
      ...(rights ? [`The service needs the right ${rights.join(' or ')}.`] : []),
      ...(takesServiceKey ? ['Some requests need a service key, by HTTP Basic authentication.'] : []),
      ...(formNeedsNoUser ? ['As a form, it needs only the token in the body.'] : []),
    ].join(' '),
    security: formNeedsNoUser ? [...securityOf(endpoint), {}] : securityOf(endpoint),
    parameters: parametersOf(endpoint),
    body: bodyOf(endpoint),
    responses: { ...successResponses(endpoint), ...errorResponses(endpoint) },
  };
}

function bodyOf({ method, body, bodyOptional, form }: Endpoint): Operation['body'] {
  if (!body) return undefined;
  const content = {
    'application/json': body,
    ...(method === 'patch' ? { 'application/merge-patch+json': body } : {}),
    ...(form ? { 'application/x-www-form-urlencoded': form } : {}),
  };
  return { required: !bodyOptional, content };
}

const signedText = z.string();

function successResponses(endpoint: Endpoint): Operation['responses'] {
  const { status, createdStatus, formStatus, response, formResponse, signedAs, query } = endpoint;
  const setsCookie =
    takesUser(endpoint) || endpoint.takesCredential || (query !== undefined && 'session' in query.shape);
  const headers = [
    ...(endpoint.etag ? [etag] : []),
    ...(setsCookie ? [setCookie] : []),
    ...('rate_limited' in endpoint.errors ? rateLimitHeaders.map(optional) : []),
    ...preferenceHeadersOf(endpoint),
  ];
  const content = response && {
    'application/json': formResponse ?? response,
    ...(signedAs ? { [signedAs]: signedText } : {}),
  };
  const success = (of: Endpoint['status']) => ({
    [of]: { description: reasonPhrases[of], headers, content },
  });
  return {
    ...success(status),
    ...(createdStatus ? success(createdStatus) : {}),
    ...(endpoint.emptyStatus ? { [endpoint.emptyStatus]: { description: reasonPhrases[204], headers } } : {}),
    ...(formStatus ? { [formStatus]: { description: `${reasonPhrases[formStatus]}, for a form` } } : {}),
    ...(endpoint.method === 'get' && endpoint.headers && 'If-None-Match' in endpoint.headers
      ? { 304: { description: 'Not Modified', headers } }
      : {}),
  };
}

const preferenceHeadersOf = ({ headers }: Endpoint): readonly Header[] =>
  headers && 'Prefer' in headers ? [preferenceApplied] : [];

/** One scope or right suffices, so each is an alternative. The session of a browser has all scopes. */
function securityOf(endpoint: Endpoint): readonly SecurityRequirement[] {
  const { access, scopes = [everything], rights, takesServiceKey, takesCredential } = endpoint;
  if (access === 'service') return rights?.map((right) => ({ serviceKey: [right] })) ?? [{ serviceKey: [] }];
  if (access === 'anyone') {
    const someNeed = [
      ...(takesServiceKey ? [{ serviceKey: [] }] : []),
      ...(takesCredential ? [{ cookie: [] }] : []),
    ];
    return someNeed.length > 0 ? [{}, ...someNeed] : [];
  }
  const byUser = [
    ...scopes.map((scope) => ({ bearer: [scope] })),
    ...(takesCookie(endpoint) ? [{ cookie: [everything] }] : []),
  ];
  return access === 'optional' ? [...byUser, {}] : byUser;
}

const accessInWords = {
  anyone: 'Needs no credential.',
  optional: 'An access token or session cookie is optional.',
  bearer: 'Needs an access token or session cookie.',
  browser: 'Needs the access token or cookie of a browser session.',
  recent: 'Needs the access token or cookie of a browser session with a recent sign-in.',
  service: 'Needs a service key, by HTTP Basic authentication.',
} satisfies Record<Endpoint['access'], string>;

const scopesInWords = ({ scopes, endsOwnSession }: Endpoint): string => {
  const exception = endsOwnSession ? ', except to end only its own session' : '';
  return `A token needs the scope ${scopes?.join(' or ') ?? everything}${exception}.`;
};

/** The errors of a credential in place of a token in the body. An invalid one is an error of the body. */
const credentialErrors: ErrorCode[] = ['origin_not_allowed', 'invalid_request', 'precondition_failed'];

/** The errors of a user's credential, and of the `Latchkey-User` header beside it. */
const userErrors: ErrorCode[] = ['invalid_token', 'insufficient_scope', ...credentialErrors];

/** The errors of identifying the caller. */
const accessErrors = {
  anyone: [],
  optional: userErrors,
  bearer: userErrors,
  browser: ['insufficient_user_authentication', ...userErrors],
  recent: ['insufficient_user_authentication', ...userErrors],
  service: ['invalid_client'],
} satisfies Record<Endpoint['access'], ErrorCode[]>;

const bodyErrors: ErrorCode[] = ['invalid_request', 'payload_too_large', 'unsupported_media_type'];
/** Any endpoint can fail this way. */
const commonErrors: ErrorCode[] = ['server_error', 'temporarily_unavailable'];

function errorResponses(endpoint: Endpoint): Operation['responses'] {
  const codes = new Set<ErrorCode>([
    ...(endpoint.body ? bodyErrors : []),
    ...(Object.keys(endpoint.errors) as ErrorCode[]),
    ...accessErrors[endpoint.access],
    ...(endpoint.takesCredential ? credentialErrors : []),
    ...(endpoint.rights ? (['unauthorized_client'] as const) : []),
    ...commonErrors,
  ]);
  const byStatus = Map.groupBy(codes, (code): number => errorStatus[code]);
  // What proves a client came in the form. @see RFC 6749 section 5.2
  const keyInForm: ErrorCode[] =
    endpoint.form && 'invalid_client' in endpoint.errors ? ['invalid_client'] : [];
  const preferenceHeaders = preferenceHeadersOf(endpoint);
  return Object.fromEntries(
    [...byStatus].map(([status, found]) => {
      const { headers = [] } = errorResponse(found);
      const described = errorResponse(
        [...found, ...(status === 400 ? keyInForm : [])],
        undefined,
        endpoint.errors,
      );
      return [status, { ...described, headers: [...headers, ...preferenceHeaders] }];
    }),
  );
}

const userParameter = z.string().meta({
  examples: [examples.userId],
  pattern: '^usr_[A-Za-z0-9_-]{22}$',
  description:
    "A user id. If the credential is another user's, the response is precondition_failed and nothing is done.",
});

/** The rules and the example of a request header, besides its description. */
const headerRules: Readonly<Record<string, object>> = {
  'Accept-Language': { examples: ['de-CH, en;q=0.8'] },
  'Idempotency-Key': {
    minLength: 1,
    maxLength: fieldLimits.idempotencyKey,
    pattern: '^[ -~]+$',
    examples: ['7f0c2b9e-41d8-4a67-b3f5-0e92c6d81a54'],
  },
  'If-Match': { examples: ['"5f3a9c"'] },
  'If-None-Match': { examples: ['"5f3a9c"'] },
  Prefer: { examples: ['wait=25'] },
};

function parametersOf(endpoint: Endpoint): Parameter[] {
  const { path, params, query, headers = {} } = endpoint;
  const inHeader = (name: string, schema: z.ZodType) =>
    ({ name, in: 'header', required: false, schema }) as const;
  return [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(
      ([, name]) => ({ name: name!, in: 'path', required: true, schema: params![name!]! }) as const,
    ),
    ...Object.entries(query?.shape ?? {}).map(
      ([name, schema]) =>
        ({ name, in: 'query', required: !schema.safeParse(undefined).success, schema }) as const,
    ),
    ...Object.entries(headers).map(([name, description]) =>
      inHeader(name, z.string().meta({ description, ...headerRules[name] })),
    ),
    ...(takesUser(endpoint) || endpoint.takesCredential ? [inHeader(userHeader, userParameter)] : []),
  ];
}
