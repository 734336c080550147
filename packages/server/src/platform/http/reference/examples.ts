import { type DescribedApi, type DocumentOptions, mapValues, type Schema } from '../openapi.ts';
import type { Operation } from '../operations.ts';
import { example } from './markup.ts';

export const jsonType = 'application/json';

export type ReferenceOperation = Operation<Schema>;

export interface Reference extends DocumentOptions {
  readonly operations: readonly ReferenceOperation[];
}

/** Puts each shared schema in the place of the references to it. Members next to the reference take precedence. */
export function referenceOf({ operations, schemas }: DescribedApi, options: DocumentOptions): Reference {
  const inline = <Value>(value: Value): Value => {
    if (Array.isArray(value)) return value.map(inline) as Value;
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, ...own } = value as Schema;
    const shared = $ref === undefined ? {} : inline(schemas[$ref.split('/').at(-1)!]!);
    return { ...shared, ...mapValues(own, inline) } as Value;
  };
  return { ...options, operations: inline(operations) };
}

/** The request with curl: with the first example of a JSON body, then with each of a form with other fields. */
export function requestExamples(operation: ReferenceOperation, server: string): string {
  const { method, path, body, parameters = [], security } = operation;
  const verb = method.toUpperCase();
  const filledPath = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const { schema } = parameters.find((parameter) => parameter.name === name)!;
    return encodeURIComponent(String(exampleOf(schema)));
  });
  const curl = (title: string, options: readonly string[]): string => {
    const start = `curl ${method === 'get' ? '' : `-X ${verb} `}'${server}${filledPath}'`;
    return example(title, [start, ...options].join(' \\\n  '));
  };
  const { [jsonType]: json, 'application/x-www-form-urlencoded': form } = body?.content ?? {};
  const forms = JSON.stringify(form) === JSON.stringify(json) ? [] : exampleBodies(form);
  return [
    curl(`${verb} ${path}`, [
      ...(security[0]?.bearer ? ['-H "Authorization: Bearer $ACCESS_TOKEN"'] : []),
      ...(security[0]?.serviceKey ? [serviceCredential] : []),
      ...jsonOptions(exampleBodies(json)[0]),
    ]),
    ...forms.map((value) =>
      curl(
        `Form: ${String(value['grant_type'] ?? path)
          .split(':')
          .at(-1)}`,
        [
          ...(value['grant_type'] === 'client_credentials' ? [serviceCredential] : []),
          ...Object.entries(value).map(([name, text]) => `--data-urlencode '${name}=${text}'`),
        ],
      ),
    ),
  ].join('');
}

const serviceCredential = '-u "$SERVICE_KEY"';

function jsonOptions(value: Body = {}): readonly string[] {
  if (Object.keys(value).length === 0) return [];
  const json = JSON.stringify(value, null, 2).replaceAll('\n', '\n  ').replaceAll("'", "'\\''");
  return [`-H 'Content-Type: application/json'`, `-d '${json}'`];
}

type Body = Readonly<Record<string, unknown>>;

/** The examples of a body: its own, or one for each of its alternatives. */
export const exampleBodies = (schema: Schema | undefined): readonly Body[] =>
  (schema?.examples ?? (schema?.anyOf ?? (schema ? [schema] : [])).map(exampleOf)) as Body[];

/** The schema's own example, or one made of the examples of its required members. */
function exampleOf(schema: Schema): unknown {
  const { examples, anyOf, items, properties = {}, required = [] } = schema;
  if (examples) return examples[0];
  if (schema.const !== undefined) return schema.const;
  if (anyOf) return exampleOf(anyOf[0]!);
  if (items) return [exampleOf(items)];
  return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name]!)]));
}
