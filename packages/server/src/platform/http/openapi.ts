import type { Endpoint } from '@latchkey/contract/endpoints';
import { type ErrorCode, errorBody } from '@latchkey/contract/errors';
import { z } from 'zod';

/** One operation of the interface, in the terms of OpenAPI, with the schemas that check it. */
export interface Operation {
  readonly id: string;
  readonly method: Endpoint['method'];
  /** Parameters in braces. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** The alternatives, each by the names of its schemes. None at all: anyone may call. */
  readonly security: readonly (readonly SecurityScheme[])[];
  readonly parameters?: readonly Parameter[];
  readonly body?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<number, Answer>>;
}

export type SecurityScheme = 'bearer' | 'cookie' | 'serviceKey' | 'metricsToken';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: z.ZodType;
}

type Content = Readonly<Record<string, z.ZodType>>;

/** One status of an operation. What it says of the body is either `content`, `errors` or nothing. */
export interface Answer {
  readonly description: string;
  /** Beyond those of every answer. */
  readonly headers?: readonly Header[];
  readonly content?: Content;
  /** The error codes that come with this status. */
  readonly errors?: readonly ErrorCode[];
}

export interface Header {
  readonly name: string;
  readonly required: boolean;
  readonly description: string;
  readonly pattern?: string;
  readonly example?: string;
}

const requestId: Header = {
  name: 'X-Request-Id',
  required: true,
  description: "The caller's, if it is 1-128 characters of [A-Za-z0-9._-], else a new one",
  pattern: '^[A-Za-z0-9._-]{1,128}$',
};
const cacheControl: Header = {
  name: 'Cache-Control',
  required: true,
  description: 'no-store, except for the few documents that may be cached',
};
export const etag: Header = {
  name: 'ETag',
  required: true,
  description: 'Names this state, for If-Match and If-None-Match',
  pattern: '^(W/)?"[^"]*"$',
};
export const setCookie: Header = {
  name: 'Set-Cookie',
  required: false,
  description: 'Starts, renews or ends the session of a browser. Never readable by scripts',
};
const challenge: Header = {
  name: 'WWW-Authenticate',
  required: true,
  description: 'The credential that is missing, and what is wrong with the one that was sent',
};
const allow: Header = {
  name: 'Allow',
  required: true,
  description: 'The methods that this path takes',
};
const retryAfter: Header = {
  name: 'Retry-After',
  required: true,
  description: 'Whole seconds to wait before the next try',
  pattern: '^[0-9]+$',
  example: '42',
};
/** @see draft-ietf-httpapi-ratelimit-headers */
export const rateLimitHeaders: readonly Header[] = [
  {
    name: 'RateLimit',
    required: true,
    description: 'What remains of each limit (r), and the seconds until it resets (t)',
    pattern: '^"[a-z_]+";r=[0-9]+;t=[0-9]+(, "[a-z_]+";r=[0-9]+;t=[0-9]+)*$',
    example: '"refreshes";r=0;t=42',
  },
  {
    name: 'RateLimit-Policy',
    required: true,
    description: 'Each limit: how many requests (q) in how many seconds (w)',
    pattern: '^"[a-z_]+";q=[0-9]+;w=[0-9]+(, "[a-z_]+";q=[0-9]+;w=[0-9]+)*$',
    example: '"refreshes";q=60;w=60',
  },
];

/** The same header where it does not always come. */
export const sometimes = (header: Header): Header => ({ ...header, required: false });

/** Headers that come with every answer of one of these codes. */
const headersOfErrors: Partial<Record<ErrorCode, readonly Header[]>> = {
  invalid_token: [challenge],
  insufficient_user_authentication: [challenge],
  invalid_client: [challenge],
  method_not_allowed: [allow],
  rate_limited: [retryAfter, ...rateLimitHeaders],
  temporarily_unavailable: [retryAfter],
};

/** An answer of one status that is an error. */
export const errorAnswer = (errors: readonly ErrorCode[], description = errors.join(', ')): Answer => ({
  description,
  errors,
  headers: [...new Set(errors.flatMap((code) => headersOfErrors[code] ?? []))],
});

export interface DocumentOptions {
  readonly version: string;
  readonly server: string;
  /** The name of the session cookie. */
  readonly cookie: string;
}

/** Of JSON Schema what the interface uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly maxLength?: number;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly const?: unknown;
  readonly not?: Schema;
}

/**
 * The OpenAPI document of these operations. Every GET has its HEAD: the same answers, without a body.
 * @see https://spec.openapis.org/oas/v3.1.0
 */
export function openApiDocument(operations: readonly Operation[], options: DocumentOptions) {
  const { schemaOf, components } = convert(operations);
  const bodies = (content: Content) => mapValues(content, (schema) => ({ schema: schemaOf(schema) }));
  const answer = ({ description, headers = [], content, errors }: Answer, hasBody: boolean) => ({
    description,
    headers: Object.fromEntries([requestId, cacheControl, ...headers].map(headerReference)),
    ...(hasBody && content ? { content: bodies(content) } : {}),
    ...(hasBody && errors ? { content: { 'application/json': { schema: errorSchema(errors) } } } : {}),
  });
  const describe = (operation: Operation, hasBody: boolean) => ({
    operationId: hasBody ? operation.id : `${operation.id}Head`,
    summary: operation.summary,
    ...(operation.description ? { description: operation.description } : {}),
    security: operation.security.map((schemes) => Object.fromEntries(schemes.map((name) => [name, []]))),
    ...(operation.parameters?.length
      ? {
          parameters: operation.parameters.map(({ schema, ...parameter }) => ({
            ...parameter,
            ...(schema.description ? { description: schema.description } : {}),
            schema: schemaOf(schema),
          })),
        }
      : {}),
    ...(operation.body
      ? { requestBody: { required: operation.body.required, content: bodies(operation.body.content) } }
      : {}),
    responses: mapValues(operation.responses, (one) => answer(one, hasBody)),
  });

  const paths: Record<string, Record<string, ReturnType<typeof describe>>> = {};
  for (const operation of operations) {
    paths[operation.path] ??= {};
    const path = paths[operation.path]!;
    path[operation.method] = describe(operation, true);
    if (operation.method === 'get') path['head'] = describe(operation, false);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Latchkey',
      version: options.version,
      description:
        'Logins for a coding-session platform: by device code for programs, by mail and passkey for people. An unknown path is 404, and a method that a path does not take is 405 with Allow; both answer with the error object.',
    },
    servers: [{ url: options.server }],
    paths,
    components: {
      schemas: components,
      headers: Object.fromEntries(headersOf(operations).map(headerComponent)),
      responses: {
        NotFound: answer(errorAnswer(['not_found'], 'No such path'), true),
        MethodNotAllowed: answer(errorAnswer(['method_not_allowed'], 'A known path, another method'), true),
      },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        cookie: { type: 'apiKey', in: 'cookie', name: options.cookie },
        serviceKey: {
          type: 'http',
          scheme: 'basic',
          description: 'The id and secret that `latchkey-server services create` printed.',
        },
        metricsToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'The token of LATCHKEY_METRICS_TOKEN.',
        },
      } satisfies Record<SecurityScheme, object>,
    },
  };
}

/** Where a header does not always come, that is another component. */
const componentOf = ({ name, required }: Header): string => (required ? name : `${name}-optional`);

const headerReference = (header: Header) =>
  [header.name, { $ref: `#/components/headers/${componentOf(header)}` }] as const;

const headerComponent = (header: Header) => {
  const { name: _, pattern, example, ...rest } = header;
  const schema = {
    type: 'string',
    ...(pattern ? { pattern } : {}),
    ...(example ? { examples: [example] } : {}),
  };
  return [componentOf(header), { ...rest, schema }] as const;
};

const headersOf = (operations: readonly Operation[]): Header[] => [
  requestId,
  cacheControl,
  allow,
  ...operations.flatMap(({ responses }) => Object.values(responses).flatMap(({ headers = [] }) => headers)),
];

const errorSchema = (codes: readonly ErrorCode[]): Schema => ({
  allOf: [{ $ref: '#/components/schemas/Error' }, { properties: { error: { enum: codes } } }],
});

/** Every schema of the operations as JSON Schema: what a request may be, and what an answer will be. */
function convert(operations: readonly Operation[]) {
  const requests = operations.flatMap(({ parameters = [], body }) => [
    ...parameters.map(({ schema }) => schema),
    ...Object.values(body?.content ?? {}),
  ]);
  const answers = operations.flatMap(({ responses }) =>
    Object.values(responses).flatMap(({ content = {} }) => Object.values(content)),
  );
  const components: Record<string, Schema> = {};
  const converted = new Map<z.ZodType, Schema>();
  const add = (schemas: readonly z.ZodType[], io: 'input' | 'output') => {
    const unique = [...new Set(schemas)];
    const { prefixItems = [], $defs = {} } = toJsonSchema(z.tuple(unique as [z.ZodType]), io);
    unique.forEach((schema, index) => {
      converted.set(schema, prefixItems[index]!);
    });
    Object.assign(components, $defs);
  };
  add(requests, 'input');
  add([...answers, errorBody], 'output');
  const schemaOf = (schema: z.ZodType): Schema => converted.get(schema)!;
  return { schemaOf, components };
}

function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): Tuple {
  const converted = z.toJSONSchema(schema, {
    io,
    override: ({ zodSchema, jsonSchema }) => {
      // Zod leaves it out where text becomes a number on the way in.
      if (zodSchema instanceof z.ZodDefault) jsonSchema.default = zodSchema.def.defaultValue;
      // Clients must take members that a later release adds.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      // Every name is a string, and every whole number here is far from the limits of JavaScript.
      delete jsonSchema.propertyNames;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return JSON.parse(JSON.stringify(converted).replaceAll('"#/$defs/', '"#/components/schemas/'));
}

interface Tuple {
  readonly prefixItems?: readonly Schema[];
  readonly $defs?: Readonly<Record<string, Schema>>;
}

const mapValues = <From, To>(object: Readonly<Record<string, From>>, map: (value: From) => To) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
