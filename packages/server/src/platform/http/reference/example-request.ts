import { jsonType, type Reference, type ReferenceOperation } from './document.ts';
import { bodyExamples, exampleOf } from './example-values.ts';

/** An example request, in parts. */
export interface ExampleRequest {
  readonly method: string;
  readonly server: string;
  readonly path: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly credential: 'access-token' | 'service-key' | undefined;
  readonly body: object | undefined;
}

/** The members of an example body come from its first alternative. */
export function exampleRequest(
  operation: ReferenceOperation,
  { server, resolve }: Reference,
): ExampleRequest {
  const { method, path, body, parameters, security } = operation;
  const schema = body?.content[jsonType]?.schema;
  const example = schema && bodyExamples(schema, resolve)[0]?.value;
  const schemes = Object.keys(security[0] ?? {});
  const hasBody = typeof example === 'object' && example !== null && Object.keys(example).length > 0;
  return {
    method,
    server,
    path,
    params: Object.fromEntries(
      parameters
        .filter((parameter) => parameter.in === 'path')
        .map(({ name, schema: of }) => [name, exampleOf(of, resolve)]),
    ),
    credential: schemes.includes('bearer')
      ? 'access-token'
      : schemes.includes('serviceKey')
        ? 'service-key'
        : undefined,
    body: hasBody ? example : undefined,
  };
}
