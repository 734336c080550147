import type { Schema } from '../openapi.ts';
import { formType, jsonType, type Reference, type ReferenceOperation } from './document.ts';
import { type BodyExample, bodyExamples, type ExampleRequest, exampleRequest } from './examples.ts';
import { sdkSample } from './sdk-samples.ts';

/** An example request in one way of sending it. */
interface Sample {
  readonly language: 'curl' | 'SDK';
  readonly code: string;
}

/** The example requests of an operation. The SDK has a function for every endpoint, and none for other documents. */
export function samplesOf(operation: ReferenceOperation, reference: Reference): readonly Sample[] {
  const request = exampleRequest(operation, reference);
  const sdk = sdkSample(operation.id, request);
  return [
    { language: 'curl', code: curl(request) },
    ...(sdk === undefined ? [] : [{ language: 'SDK', code: sdk } as const]),
  ];
}

const urlOf = ({ server, path, params }: ExampleRequest): string =>
  server + path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));

function curl(request: ExampleRequest): string {
  const { method, body } = request;
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${urlOf(request)}'`,
    ...curlCredential(request),
    ...(body
      ? [
          `-H 'Content-Type: application/json'`,
          `-d '${quotedForShell(JSON.stringify(body, null, 2).replaceAll('\n', '\n  '))}'`,
        ]
      : []),
  ];
  return lines.join(' \\\n  ');
}

function curlCredential({ credential }: ExampleRequest): string[] {
  if (credential === undefined) return [];
  return credential === 'access-token' ? ['-H "Authorization: Bearer $ACCESS_TOKEN"'] : ['-u "$SERVICE_KEY"'];
}

const quotedForShell = (text: string): string => text.replaceAll("'", "'\\''");

/** The example requests with a form, for an operation whose form is not the same as its JSON. */
export function formSamples(
  { method, path, body }: ReferenceOperation,
  { server, resolve }: Reference,
): readonly BodyExample[] {
  const schema = body?.content[formType];
  if (schema === undefined || isSame(schema, body?.content[jsonType])) return [];
  return bodyExamples(schema, resolve).map(({ title, value }) => {
    const fields = Object.entries(value as Record<string, string>);
    const credential = fields.some(([, text]) => text === 'client_credentials') ? ['-u "$SERVICE_KEY"'] : [];
    const data = fields.map(([name, text]) => `--data-urlencode '${name}=${text}'`);
    return {
      title,
      value: [`curl -X ${method.toUpperCase()} '${server}${path}'`, ...credential, ...data].join(' \\\n  '),
    };
  });
}

export const isSame = (a: Schema | undefined, b: Schema | undefined): boolean =>
  a !== undefined && JSON.stringify(a) === JSON.stringify(b);
