import type { Schema } from '../openapi.ts';
import { formType, jsonType, type Reference, type ReferenceOperation } from './document.ts';
import { type BodyExample, bodyExamples, type ExampleRequest } from './examples.ts';

/** The example request with curl. */
export function curlSample({ method, server, path, params, credential, body }: ExampleRequest): string {
  const url =
    server + path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}'${url}'`];
  if (credential === 'access-token') lines.push('-H "Authorization: Bearer $ACCESS_TOKEN"');
  if (credential === 'service-key') lines.push(serviceCredential);
  if (body) {
    const json = JSON.stringify(body, null, 2).replaceAll('\n', '\n  ').replaceAll("'", "'\\''");
    lines.push(`-H 'Content-Type: application/json'`, `-d '${json}'`);
  }
  return lines.join(nextLine);
}

const serviceCredential = '-u "$SERVICE_KEY"';
const nextLine = ' \\\n  ';

/** The example requests with a form, for an operation whose form is not the same as its JSON. */
export function formSamples(
  { method, path, body }: ReferenceOperation,
  { server, resolve }: Reference,
): readonly BodyExample[] {
  const schema = body?.content[formType];
  if (schema === undefined || isSame(schema, body?.content[jsonType])) return [];
  return bodyExamples(schema, resolve).map(({ title, value }) => {
    const fields = Object.entries(value as Record<string, string>);
    const credential = fields.some(([, text]) => text === 'client_credentials') ? [serviceCredential] : [];
    const data = fields.map(([name, text]) => `--data-urlencode '${name}=${text}'`);
    const lines = [`curl -X ${method.toUpperCase()} '${server}${path}'`, ...credential, ...data];
    return { title, value: lines.join(nextLine) };
  });
}

export const isSame = (a: Schema | undefined, b: Schema | undefined): boolean =>
  a !== undefined && JSON.stringify(a) === JSON.stringify(b);
