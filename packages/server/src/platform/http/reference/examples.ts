import type { Schema } from '../openapi.ts';
import { jsonType, type Reference, type ReferenceOperation, type Resolve } from './document.ts';

/** An example request, in parts. */
export type ExampleRequest = ReturnType<typeof exampleRequest>;

/** The members of an example body come from its first alternative. */
export function exampleRequest(operation: ReferenceOperation, { server, resolve }: Reference) {
  const { method, path, body, parameters = [], security } = operation;
  const schema = body?.content[jsonType];
  const example = schema && bodyExamples(schema, resolve)[0]?.value;
  const { bearer, serviceKey } = security[0] ?? {};
  const hasBody = typeof example === 'object' && example !== null && Object.keys(example).length > 0;
  const inPath = parameters.filter((parameter) => parameter.in === 'path');
  return {
    method: method.toUpperCase(),
    server,
    path,
    params: Object.fromEntries(inPath.map(({ name, schema: of }) => [name, exampleOf(of, resolve)])),
    credential: bearer ? ('access-token' as const) : serviceKey && ('service-key' as const),
    body: hasBody ? example : undefined,
  };
}

/** An example of a body, with the name of the alternative that it belongs to, if there are several. */
export interface BodyExample {
  readonly title: string | undefined;
  readonly value: unknown;
}

/** One example for each alternative of a body, or each of its own examples. */
export function bodyExamples(schema: Schema, resolve: Resolve): readonly BodyExample[] {
  const own = resolve(schema);
  if (own.examples) return own.examples.map((value) => ({ title: grantOf(value), value }));
  const alternatives = own.anyOf?.map(resolve) ?? [own];
  return alternatives.map((one) => ({ title: one.title, value: exampleOf(one, resolve) }));
}

/** What tells the examples of the token endpoint apart: the last part of the grant type. */
const grantOf = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null && 'grant_type' in value
    ? String(value.grant_type).split(':').at(-1)
    : undefined;

/** The schema's own example, or one made of the examples of its required members. */
function exampleOf(schema: Schema, resolve: Resolve): unknown {
  const own = resolve(schema);
  if (own.examples) return own.examples[0];
  if (own.const !== undefined) return own.const;
  if (own.anyOf) return exampleOf(own.anyOf[0]!, resolve);
  if (own.items) return [exampleOf(own.items, resolve)];
  const members = Object.entries(own.properties ?? {}).filter(([name]) => own.required?.includes(name));
  return Object.fromEntries(members.map(([name, member]) => [name, exampleOf(member, resolve)]));
}
