import { endpointGroups } from '@latchkey/contract/endpoint-groups';
import { errorBody } from '@latchkey/contract/errors';
import { z } from 'zod';
import {
  allow,
  type Content,
  cacheControl,
  type DescribedError,
  errorResponse,
  type Header,
  type Operation,
  type Parameter,
  type ResponseDescription,
  requestId,
  type SecurityScheme,
} from './operations.ts';

export interface DocumentOptions {
  readonly title: string;
  readonly version: string;
  readonly server: string;
  readonly cookie: string;
}

/** JSON Schema as Zod writes it. No schema of this API is a boolean or a tuple. */
export interface Schema extends z.core.JSONSchema.BaseSchema {
  additionalProperties?: Schema;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
}

/** Operations with their schemas as JSON Schema, and the schemas that they share. */
export interface DescribedApi {
  readonly operations: readonly Operation<Schema>[];
  readonly schemas: Readonly<Record<string, Schema>>;
}

/** The OpenAPI document. Every GET has a HEAD, without a body. @see https://spec.openapis.org/oas/v3.1.0 */
export function openApiDocument({ operations, schemas }: DescribedApi, options: DocumentOptions) {
  return {
    openapi: '3.1.0',
    info: {
      title: options.title,
      version: options.version,
      description:
        'Sign-in for a coding-session platform: device codes for programs, magic links and passkeys for people. An unknown path returns 404; an unsupported method returns 405 with the Allow header. Both return an error object.',
    },
    servers: [{ url: options.server }],
    tags: Object.values(endpointGroups).map(({ title, description }) => ({ name: title, description })),
    paths: describePaths(operations),
    components: {
      schemas,
      headers: Object.fromEntries(headersOf(operations).map(headerComponent)),
      responses: sharedResponses(),
      securitySchemes: securitySchemes(options.cookie),
    },
  };
}

function describePaths(operations: readonly Operation<Schema>[]) {
  const paths: Record<string, Record<string, ReturnType<typeof describeOperation>>> = {};
  for (const operation of operations) {
    paths[operation.path] ??= {};
    const path = paths[operation.path]!;
    path[operation.method] = describeOperation(operation, true);
    if (operation.method === 'get') path['head'] = describeOperation(operation, false);
  }
  return paths;
}

const describeParameter = ({ schema, ...parameter }: Parameter<Schema>) => ({
  ...parameter,
  description: schema.description,
  schema,
});

// What is undefined is left out of the document, which is JSON.
const describeOperation = (operation: Operation<Schema>, hasBody: boolean) => {
  const { id, group, summary, access = '', notes = '', security, parameters, body, responses } = operation;
  return {
    operationId: hasBody ? id : `${id}Head`,
    tags: [endpointGroups[group].title],
    summary,
    description: `${access} ${notes}`.trim() || undefined,
    security,
    parameters: parameters?.length ? parameters.map(describeParameter) : undefined,
    requestBody: body && { ...body, content: describeContent(body.content) },
    responses: mapValues(responses, (response) => describeResponse(response, hasBody)),
  };
};

function describeResponse(
  { description, headers = [], content, errors }: ResponseDescription<Schema>,
  hasBody: boolean,
) {
  const body = errors ? { 'application/json': errorSchema(errors) } : content;
  return {
    description,
    headers: Object.fromEntries([requestId, cacheControl, ...headers].map(headerReference)),
    content: hasBody && body ? describeContent(body) : undefined,
  };
}

const describeContent = (content: Content<Schema>) => mapValues(content, (schema) => ({ schema }));

const sharedResponses = () => ({
  NotFound: describeResponse(errorResponse(['not_found'], 'No such path'), true),
  MethodNotAllowed: describeResponse(
    errorResponse(['method_not_allowed'], 'The path exists, but not with this method'),
    true,
  ),
});

const securitySchemes = (cookie: string) =>
  ({
    bearer: { type: 'http', scheme: 'bearer' },
    cookie: { type: 'apiKey', in: 'cookie', name: cookie },
    serviceKey: {
      type: 'http',
      scheme: 'basic',
      description: 'The id and secret from `latchkey-server services create`.',
    },
    metricsToken: {
      type: 'http',
      scheme: 'bearer',
      description: 'The value of LATCHKEY_METRICS_TOKEN.',
    },
  }) satisfies Record<SecurityScheme, object>;

/** A header that is optional somewhere and required elsewhere needs two components. */
const componentOf = ({ name, required }: Header): string => (required ? name : `${name}-optional`);

const headerReference = (header: Header) =>
  [header.name, { $ref: `#/components/headers/${componentOf(header)}` }] as const;

const headerComponent = (header: Header) => {
  const { name: _, pattern, example, ...rest } = header;
  const schema = { type: 'string', pattern, examples: example && [example] };
  return [componentOf(header), { ...rest, schema }] as const;
};

const headersOf = (operations: readonly Operation<Schema>[]): Header[] => [
  requestId,
  cacheControl,
  allow,
  ...operations.flatMap(({ responses }) => Object.values(responses).flatMap(({ headers = [] }) => headers)),
];

const errorSchema = (errors: readonly DescribedError[]): Schema => ({
  allOf: [
    { $ref: '#/components/schemas/Error' },
    {
      properties: {
        error: {
          enum: errors.map(({ code }) => code),
          description: errors.map(({ code, meaning }) => `\`${code}\`: ${meaning}`).join('\n'),
        },
      },
    },
  ],
});

/** Converts every schema to JSON Schema: requests as input, responses as output. */
export function describeApi(operations: readonly Operation[]): DescribedApi {
  const requests = operations.flatMap(({ parameters = [], body }) => [
    ...parameters.map(({ schema }) => schema),
    ...Object.values(body?.content ?? {}),
  ]);
  const results = operations.flatMap(({ responses }) =>
    Object.values(responses).flatMap(({ content = {} }) => Object.values(content)),
  );
  const schemas: Record<string, Schema> = {};
  const converted = new Map<z.ZodType, Schema>();
  const add = (all: readonly z.ZodType[], io: 'input' | 'output') => {
    const unique = [...new Set(all)];
    const { prefixItems = [], $defs = {} } = toJsonSchema(z.tuple(unique as [z.ZodType]), io);
    unique.forEach((schema, index) => {
      converted.set(schema, prefixItems[index]!);
    });
    Object.assign(schemas, $defs);
  };
  add(requests, 'input');
  add([...results, errorBody], 'output');
  const inContent = (content: Content) => mapValues(content, (schema) => converted.get(schema)!);
  return {
    schemas,
    operations: operations.map(({ parameters = [], body, responses, ...operation }) => ({
      ...operation,
      parameters: parameters.map((parameter) => ({ ...parameter, schema: converted.get(parameter.schema)! })),
      body: body && { ...body, content: inContent(body.content) },
      responses: mapValues(responses, ({ content, ...response }) => ({
        ...response,
        content: content && inContent(content),
      })),
    })),
  };
}

function toJsonSchema(
  schema: z.ZodType,
  io: 'input' | 'output',
): { prefixItems?: Schema[]; $defs?: Record<string, Schema> } {
  const converted = z.toJSONSchema(schema, {
    io,
    override: ({ zodSchema, jsonSchema }) => {
      // Zod omits the default and the examples of an input that is converted from text to a number.
      if (zodSchema instanceof z.ZodDefault) jsonSchema.default = zodSchema.def.defaultValue;
      const examples = z.globalRegistry.get(zodSchema)?.['examples'];
      if (Array.isArray(examples)) jsonSchema.examples = examples;
      // Clients must accept members that a later release adds.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      // Every name is a string, and no integer of this API comes near the limits of JavaScript.
      delete jsonSchema.propertyNames;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return JSON.parse(JSON.stringify(converted).replaceAll('"#/$defs/', '"#/components/schemas/'));
}

export const mapValues = <From, To>(object: Readonly<Record<string, From>>, map: (value: From) => To) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
