import type { EndpointGroup } from '@latchkey/contract/endpoint-groups';
import { endpoints } from '@latchkey/contract/endpoints';
import type { Schema } from '../openapi.ts';
import type { DescribedError, Operation, SecurityRequirement } from '../operations.ts';

export type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

interface DescribedOperation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content; readonly required?: boolean };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

/** The part of an OpenAPI document that the reference shows. */
export interface ReferenceDocument {
  readonly info: { readonly title: string; readonly version: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** An operation as the reference shows it: its words, and its schemas as the API document has them. */
export interface ReferenceOperation {
  readonly id: string;
  readonly title: string;
  readonly group: EndpointGroup;
  /** In capitals. */
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly access: string | undefined;
  readonly notes: string | undefined;
  readonly security: readonly SecurityRequirement[];
  readonly parameters: readonly Parameter[];
  readonly body: { readonly content: Content; readonly required: boolean } | undefined;
  /** The successful responses. */
  readonly results: readonly Result[];
  readonly errors: readonly ErrorOfOperation[];
}

interface Result {
  readonly status: string;
  readonly reason: string;
  readonly content: Content;
}

interface ErrorOfOperation extends DescribedError {
  readonly status: string;
}

export const jsonType = 'application/json';
export const formType = 'application/x-www-form-urlencoded';

/** What the page is made from. */
export interface Reference {
  readonly title: string;
  readonly version: string;
  /** The base URL. */
  readonly server: string;
  readonly operations: readonly ReferenceOperation[];
  readonly resolve: Resolve;
}

/** Follows a reference to a shared schema. What stands beside the reference takes precedence. */
export type Resolve = (schema: Schema) => Schema;

export function referenceOf(document: ReferenceDocument, operations: readonly Operation[]): Reference {
  const { schemas } = document.components;
  return {
    title: document.info.title,
    version: document.info.version,
    server: document.servers[0]?.url ?? '',
    operations: operations.toSorted(byEndpoint).map((operation) => withSchemas(document, operation)),
    resolve: ({ $ref, ...own }) =>
      $ref === undefined ? own : { ...schemas[$ref.split('/').at(-1)!], ...own },
  };
}

const endpointOrder = Object.keys(endpoints);

/** In the order of the contract, then what is not an endpoint. */
const byEndpoint = (a: Operation, b: Operation): number => rankOf(a) - rankOf(b);

function rankOf({ id }: Operation): number {
  const rank = endpointOrder.indexOf(id);
  return rank === -1 ? endpointOrder.length : rank;
}

function withSchemas(document: ReferenceDocument, operation: Operation): ReferenceOperation {
  const { id, title, group, method, path, summary, access, notes, security } = operation;
  const { parameters = [], requestBody, responses } = document.paths[path]![method]!;
  return {
    id,
    title,
    group,
    method: method.toUpperCase(),
    path,
    summary,
    access,
    notes,
    security,
    parameters,
    body: requestBody && { content: requestBody.content, required: requestBody.required ?? false },
    results: Object.entries(responses)
      .filter(([status]) => Number(status) < 400)
      .map(([status, { description, content = {} }]) => ({ status, reason: description, content })),
    errors: Object.entries(operation.responses).flatMap(([status, { errors = [] }]) =>
      errors.map((error) => ({ ...error, status })),
    ),
  };
}
