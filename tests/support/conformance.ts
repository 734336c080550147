// Checks every request and response of the tests against the OpenAPI document of the service.

import type { ValidateFunction } from 'ajv/dist/2020';
import { Ajv2020 } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import type { openApiDocument } from '../../packages/server/src/platform/http/openapi.ts';

export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  /** Null: no body. Undefined: a stream or binary body, which is not checked. */
  readonly body: string | null | undefined;
}

export interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export type Document = ReturnType<typeof openApiDocument>;
type Operation = Document['paths'][string][string];
type Parameter = NonNullable<Operation['parameters']>[number];
type Answer = Operation['responses'][string];

/** Headers of the transport, of CORS and of browser policy, which are not specific to an operation. */
const commonHeaders =
  /^(content-(type|length|encoding|security-policy)|date|connection|transfer-encoding|vary|x-content-type-options|x-frame-options|referrer-policy|permissions-policy|cross-origin-(opener|resource)-policy|strict-transport-security|access-control-.*)$/;

const mediaType = (headers: Headers): string =>
  headers.get('Content-Type')?.split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** Makes undeclared members of a response an error, although clients ignore them. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  const isOpen = 'properties' in inner && !('$ref' in inner) && !('additionalProperties' in inner);
  return isOpen && inner['type'] === 'object' ? { ...inner, additionalProperties: false } : inner;
};

type Side = 'requests' | 'answers';

export class Conformance {
  readonly #document: Document;
  readonly #ajv = new Ajv2020({ strict: true, strictTypes: false });
  readonly #validators = new Map<object, ValidateFunction>();
  readonly #paths: readonly { readonly pattern: RegExp; readonly template: string }[];

  constructor(document: Document) {
    this.#document = document;
    addFormats(this.#ajv, ['date-time', 'uri']);
    for (const side of ['requests', 'answers'] as const)
      this.#ajv.addSchema({ $id: side, $defs: this.#on(side, document.components.schemas) as object });
    // A path without parameters takes precedence.
    this.#paths = Object.keys(document.paths)
      .sort((a, b) => Number(a.includes('{')) - Number(b.includes('{')))
      .map((template) => ({
        template,
        pattern: new RegExp(`^${template.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
      }));
  }

  /** The deviations of this request and its response from the document. */
  complaints(sent: Sent, received: Received): string[] {
    const { pathname } = new URL(sent.url);
    const template = this.#paths.find(({ pattern }) => pattern.test(pathname))?.template;
    const operation = template ? this.#document.paths[template]![sent.method.toLowerCase()] : undefined;
    const complaints = operation
      ? [...this.#ofRequest(operation, sent, received), ...this.#ofAnswer(operation, sent, received)]
      : this.#ofNoOperation(template !== undefined, pathname, sent, received);
    const name = operation?.operationId ?? pathname;
    return complaints.map((complaint) => `${sent.method} ${name} ${received.status}: ${complaint}`);
  }

  #ofNoOperation(isKnownPath: boolean, pathname: string, sent: Sent, received: Received): string[] {
    const { NotFound, MethodNotAllowed } = this.#document.components.responses;
    // Pages are not part of the API, and preflights belong to CORS.
    if (!isKnownPath && !pathname.startsWith('/api/')) return [];
    if (sent.method === 'OPTIONS' && received.status === 204) return [];
    if (received.status >= 500) return [];
    const expected = isKnownPath ? 405 : 404;
    if (received.status !== expected) return [`must be ${expected}`];
    return this.#ofDescribed(isKnownPath ? MethodNotAllowed : NotFound, sent, received);
  }

  /** Checks only requests that succeeded: tests also send invalid ones, which must be refused. */
  #ofRequest(operation: Operation, sent: Sent, received: Received): string[] {
    if (received.status >= 300) return [];
    return [
      ...this.#ofSecurity(operation, sent),
      ...(operation.parameters ?? []).flatMap((parameter) => this.#ofParameter(parameter, sent)),
      ...this.#ofRequestBody(operation, sent),
    ];
  }

  #ofSecurity({ security }: Operation, { headers }: Sent): string[] {
    const authorization = headers.get('Authorization') ?? '';
    const isThere: Readonly<Record<string, boolean>> = {
      bearer: /^bearer /i.test(authorization),
      metricsToken: /^bearer /i.test(authorization),
      serviceKey: /^basic /i.test(authorization),
      cookie: /latchkey_session=/.test(headers.get('Cookie') ?? ''),
    };
    const isMet =
      security.length === 0 ||
      security.some((schemes) => Object.keys(schemes).every((name) => isThere[name]));
    return isMet ? [] : ['accepted without a credential that the document requires'];
  }

  #ofParameter({ name, in: place, required, schema }: Parameter, { url, headers }: Sent): string[] {
    if (place === 'path') return [];
    const value = place === 'query' ? new URL(url).searchParams.get(name) : headers.get(name);
    if (value === null) return required ? [`${name} is missing`] : [];
    const typed = schema.type === 'integer' && /^-?\d+$/.test(value) ? Number(value) : value;
    return this.#ofValue('requests', schema, typed, name);
  }

  #ofRequestBody({ requestBody }: Operation, { headers, body }: Sent): string[] {
    if (!requestBody || body === undefined) return [];
    if (body === null || body === '') return requestBody.required ? ['accepted without the body'] : [];
    const type = mediaType(headers);
    const described = requestBody.content[type];
    if (!described) return [`accepted with a body of the undeclared type ${type}`];
    const value = type.endsWith('json')
      ? JSON.parse(body)
      : Object.fromEntries([...new URLSearchParams(body)].filter(([, text]) => text !== ''));
    return this.#ofValue('requests', described.schema, value, 'the request body');
  }

  #ofAnswer(operation: Operation, sent: Sent, received: Received): string[] {
    const answer = operation.responses[received.status];
    return answer ? this.#ofDescribed(answer, sent, received) : ['an undeclared status'];
  }

  #ofDescribed(answer: Answer, sent: Sent, { headers, text }: Received): string[] {
    const declared = Object.entries(answer.headers).map(([name, { $ref }]) => ({
      name: name.toLowerCase(),
      ...this.#document.components.headers[$ref.split('/').at(-1)!]!,
    }));
    const undeclared = [...headers.keys()].filter(
      (name) => !commonHeaders.test(name) && !declared.some((header) => header.name === name),
    );
    return [
      ...undeclared.map((name) => `the undeclared header ${name}`),
      ...declared.flatMap(({ name, required, schema }) => {
        const value = headers.get(name);
        if (value === null) return required ? [`no ${name}`] : [];
        return this.#ofValue('answers', schema, value, name);
      }),
      ...(sent.method === 'HEAD' ? [] : this.#ofAnswerBody(answer, headers, text)),
    ];
  }

  #ofAnswerBody({ content }: Answer, headers: Headers, text: string): string[] {
    if (!content) return text === '' ? [] : ['an undeclared body'];
    const type = mediaType(headers);
    const described = content[type];
    if (!described) return [`the undeclared type ${type}`];
    const value = type === 'application/json' ? JSON.parse(text) : text;
    return this.#ofValue('answers', described.schema, value, 'the body');
  }

  #ofValue(side: Side, schema: object, value: unknown, what: string): string[] {
    let validate = this.#validators.get(schema);
    if (!validate) {
      validate = this.#ajv.compile(this.#on(side, schema) as object);
      this.#validators.set(schema, validate);
    }
    return validate(value) ? [] : [`${what}${this.#ajv.errorsText(validate.errors, { dataVar: '' })}`];
  }

  #on(side: Side, schema: object): unknown {
    const text = JSON.stringify(schema).replaceAll('"#/components/schemas/', `"${side}#/$defs/`);
    return side === 'answers' ? closed(JSON.parse(text)) : JSON.parse(text);
  }
}

let conformance: Conformance | undefined;

/**
 * How a request and its response deviate from the document. `read` is called until it returns the document; while it finds
 * none, because the service has ended, nothing is checked.
 */
export async function deviations(
  read: () => Promise<Document | undefined>,
  url: string,
  { method = 'GET', headers, body = null }: RequestInit,
  response: Response,
): Promise<string[]> {
  if (!conformance) {
    const document = await read();
    if (!document) return [];
    conformance ??= new Conformance(document);
  }
  const known = body === null || typeof body === 'string' ? body : undefined;
  const text = await response.clone().text();
  return conformance.complaints(
    { method, url, headers: new Headers(headers), body: known },
    { status: response.status, headers: response.headers, text },
  );
}

/** @throws {Error} if there are deviations */
export function requireNone(deviations: readonly string[]): void {
  if (deviations.length > 0) throw new Error(`not as the OpenAPI document says: ${deviations.join('; ')}`);
}
