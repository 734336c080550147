import type { DescribedApi, DocumentOptions, Schema } from '../openapi.ts';
import type { Operation } from '../operations.ts';
import { example } from './markup.ts';

export const jsonType = 'application/json';

export type ReferenceOperation = Operation<Schema>;

export interface Reference extends DescribedApi, DocumentOptions {
  readonly resolve: Resolve;
}

/** Follows a reference to a shared schema. Members next to the reference take precedence. */
export type Resolve = (schema: Schema) => Schema;

export const referenceOf = (api: DescribedApi, options: DocumentOptions): Reference => ({
  ...api,
  ...options,
  resolve: ({ $ref, ...own }) =>
    $ref === undefined ? own : { ...api.schemas[$ref.split('/').at(-1)!], ...own },
});

/** The request with curl: with the first example of a JSON body, then with each of a form with other fields. */
export function requestExamples(operation: ReferenceOperation, server: string, resolve: Resolve): string {
  const { method, path, body, parameters = [], security } = operation;
  const verb = method.toUpperCase();
  const filledPath = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const { schema } = parameters.find((parameter) => parameter.name === name)!;
    return encodeURIComponent(String(exampleOf(schema, resolve)));
  });
  const curl = (title: string, options: readonly string[]): string => {
    const start = `curl ${method === 'get' ? '' : `-X ${verb} `}'${server}${filledPath}'`;
    return example(title, [start, ...options].join(' \\\n  '));
  };
  const { [jsonType]: json, 'application/x-www-form-urlencoded': form } = body?.content ?? {};
  const forms = JSON.stringify(form) === JSON.stringify(json) ? [] : exampleBodies(form, resolve);
  return [
    curl(`${verb} ${path}`, [
      ...(security[0]?.bearer ? ['-H "Authorization: Bearer $ACCESS_TOKEN"'] : []),
      ...(security[0]?.serviceKey ? [serviceCredential] : []),
      ...jsonOptions(exampleBodies(json, resolve)[0]),
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
export function exampleBodies(schema: Schema | undefined, resolve: Resolve): readonly Body[] {
  const own = schema && resolve(schema);
  return (own?.examples ??
    (own?.anyOf ?? (own ? [own] : [])).map((one) => exampleOf(one, resolve))) as Body[];
}

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
