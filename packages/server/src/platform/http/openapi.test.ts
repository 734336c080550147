// What the API document and the reference say. `tests/support/conformance.ts` compares each request and response of the tests with
// the document.

import { beforeAll, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { errorMeanings } from '@latchkey/contract/errors';
import { ownScopes } from '@latchkey/contract/scopes';
import { Ajv2020 } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { type Answer, openApp } from '#support/app.ts';
import { shared } from '#support/shared.ts';
import type { Schema } from './openapi.ts';

const documents = [
  '/.well-known/oauth-authorization-server',
  '/.well-known/jwks.json',
  '/.well-known/passkey-endpoints',
  '/.well-known/webauthn',
  '/openapi.json',
  '/docs',
  '/healthz',
  '/readyz',
  '/metrics',
];

type Json = Answer['body'];

interface Field {
  readonly name: string;
  readonly place: string;
  readonly schema: Schema;
}

const all: readonly Endpoint[] = Object.values(endpoints);
const app = shared(() => openApp('sqlite'));
let document: Json;
let page: string;
let operations: { method: string; operation: Json }[];
let fields: Field[];
beforeAll(async () => {
  document = (await app.ask('GET', 'openapi.json')).body;
  page = (await app.ask('GET', 'docs')).text;
  operations = Object.values<Json>(document.paths).flatMap((byMethod) =>
    Object.entries(byMethod).map(([method, operation]) => ({ method, operation })),
  );
  fields = [...fieldsOfDocument()];
});

const auth = '/api/v1/auth';
const bodyOf = (path: string, method: string): Schema =>
  document.paths[auth + path][method].requestBody.content['application/json'].schema;

/** Every object in a part of the document, at any depth. */
function* objectsIn(part: unknown): Generator<Record<string, unknown>> {
  if (typeof part !== 'object' || part === null) return;
  if (!Array.isArray(part)) yield part as Record<string, unknown>;
  for (const value of Object.values(part)) yield* objectsIn(value);
}

function* fieldsOfDocument(): Generator<Field> {
  for (const [name, schema] of Object.entries<Schema>(document.components.schemas))
    yield* membersOf(schema, name);
  for (const { operation } of operations) {
    const { operationId, parameters = [], requestBody, responses } = operation;
    for (const { name, schema } of parameters) yield { name, place: `${operationId} ${name}`, schema };
    for (const { content = {} } of [requestBody ?? {}, ...Object.values<Json>(responses)])
      for (const { schema } of Object.values<Json>(content))
        if (!schema.allOf) yield* membersOf(schema, operationId);
  }
}

/** The members of an object at any depth, without those that no value is valid for. */
function* membersOf(of: Schema, place: string): Generator<Field> {
  const { properties = {}, anyOf = [], items, additionalProperties } = resolved(of);
  for (const [name, schema] of Object.entries(properties)) {
    if (schema.not) continue;
    yield { name, place: `${place}.${name}`, schema };
    yield* membersOf(schema, `${place}.${name}`);
  }
  for (const inner of [...anyOf, items, additionalProperties]) if (inner) yield* membersOf(inner, place);
}

/** A reference with its target. Members beside it take precedence. */
const resolved = (schema: Schema): Schema =>
  schema.$ref ? { ...document.components.schemas[schema.$ref.split('/').at(-1)!], ...schema } : schema;

/** A value that the field shows, or can be shown by its own members. */
function hasExample(schema: Schema): boolean {
  const { examples, const: constant, properties, items, anyOf } = resolved(schema);
  if (examples !== undefined || constant !== undefined || properties !== undefined) return true;
  return (items !== undefined && hasExample(items)) || (anyOf?.some(hasExample) ?? false);
}

test('every parameter and every member of a body has a description, and an example unless it is refused', () => {
  expect(fields.length).toBeGreaterThan(300);
  const placesOf = (some: readonly Field[]) => some.map(({ place }) => place);
  expect(placesOf(fields.filter(({ schema }) => !resolved(schema).description))).toEqual([]);
  expect(placesOf(fields.filter(({ schema }) => !hasExample(schema)))).toEqual([]);
  const empty = fields.filter(({ schema }) => resolved(schema).examples?.length === 0);
  expect(empty.length).toBeGreaterThan(0);
  expect(placesOf(empty.filter(({ schema }) => schema.description !== 'Not supported: refused.'))).toEqual(
    [],
  );
});

/** Validates values against parts of the document. */
function documentAjv(): (schema: Schema) => (value: unknown) => boolean {
  const ajv = new Ajv2020({ strict: true, strictTypes: false });
  addFormats(ajv, ['date-time', 'uri']);
  ajv.addSchema({ $id: 'document', components: document.components }).addVocabulary(['components']);
  return (schema) =>
    ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"document#/components')));
}

test('every example is valid, also each response in the reference, and every reference to a schema leads to one', () => {
  const validatorOf = documentAjv();
  const models = Object.entries<Schema>(document.components.schemas).map(([place, schema]) => ({
    place,
    schema,
  }));
  for (const { place, schema } of [...fields, ...models]) {
    const isValid = validatorOf(schema);
    for (const example of schema.examples ?? [])
      expect([place, example, isValid(example)]).toEqual([place, example, true]);
  }
  for (const { id, path, method, status, response } of all) {
    const examples = examplesOf(id, 'Response');
    expect([id, examples.length > 0]).toEqual([id, true]);
    if (!response) continue;
    const isValid = validatorOf(
      document.paths[path][method].responses[status].content['application/json'].schema,
    );
    for (const example of examples)
      expect([id, example, isValid(JSON.parse(example))]).toEqual([id, example, true]);
  }
});

test('regular expressions work alike in every language', () => {
  const patterns = [...objectsIn(document)].map(({ pattern }) => pattern);
  const texts = patterns.filter((pattern) => typeof pattern === 'string');
  expect(texts.length).toBeGreaterThan(5);
  for (const pattern of texts) {
    expect(pattern).toMatch(/^\^.*\$$/);
    // No property classes, lookaround or flags: they differ in Python and Go, or are missing.
    expect(pattern).not.toMatch(/\\[pPuxkb]|\(\?/);
  }
});

// What it says of credentials, bodies and statuses is compared with every response of the tests.
test('every endpoint is in the document, with its errors, the user that it expects, and the scopes or rights that it needs', () => {
  for (const {
    id,
    path,
    method,
    access,
    scopes = ['*'],
    rights = [],
    takesCredential = false,
    errors,
  } of all) {
    const { operationId, parameters = [], responses, security, description } = document.paths[path][method];
    const takesUser = access !== 'anyone' && access !== 'service';
    const hasUserHeader = parameters.some(({ name }: Json) => name === 'Latchkey-User');
    expect([operationId, hasUserHeader]).toEqual([id, takesUser || takesCredential]);
    const expected = Object.keys(errors);
    if (takesUser) expected.push('invalid_request', 'precondition_failed');
    const declared = Object.values<Json>(responses).flatMap((answer) => answer.description.split(', '));
    expect([id, declared]).toEqual([id, expect.arrayContaining(expected)]);
    const named = security.flatMap(({ bearer = [], serviceKey = [] }) => [...bearer, ...serviceKey]);
    const needed = access === 'anyone' ? [] : access === 'service' ? rights : scopes;
    expect([id, named]).toEqual([id, [...needed]]);
    if (!takesUser) continue;
    expect(description).toContain(`A token needs the scope ${scopes.join(' or ')}`);
    // No session of a browser has these scopes.
    const takesCookie = security.some(({ cookie }: Json) => cookie) && /cookie/.test(description);
    expect([id, takesCookie]).toEqual([id, !['openid', 'identity'].includes(scopes[0]!)]);
  }
  for (const path of documents) expect(document.paths[path].get.summary).toBeString();
});

test('no value of a read-only member is valid', () => {
  const { properties } = bodyOf('/me', 'patch');
  for (const name of ['id', 'email', 'email_verified', 'created_at', 'updated_at'])
    expect(properties?.[name]).toEqual({ readOnly: true, not: {} });
});

/** The HTML of the section of one operation. */
function htmlOf(id: string): string {
  const found = [...page.matchAll(new RegExp(`<section id="${id}"[^>]*>([\\s\\S]*?)</section>`, 'g'))];
  expect([id, found.length]).toEqual([id, 1]);
  return found[0]![1]!;
}

const textOf = (html: string): string =>
  html
    .replace(/<wbr>|<\/?span[^>]*>|<\/?code>/g, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));

const sectionOf = (id: string): string => textOf(htmlOf(id));

/** The code of the examples under a heading, in order. */
const examplesOf = (id: string, heading: string): string[] => {
  const [, part = ''] =
    new RegExp(`<h4>${heading}</h4>([\\s\\S]*?)(?=<h4>|</div>\\s*$)`).exec(
      htmlOf(id).split('<div class="examples">')[1]!,
    ) ?? [];
  return [...part.matchAll(/<pre[^>]*><code>([\s\S]*?)<\/code><\/pre>/g)].map(([, code = '']) =>
    textOf(code),
  );
};

test('the overview explains every error code and every scope of the service itself', () => {
  const overview = textOf(page);
  for (const explained of [errorMeanings, ownScopes])
    for (const [name, sentence] of Object.entries(explained)) {
      expect(overview).toContain(name);
      expect(overview).toContain(sentence.replaceAll('`', ''));
    }
});

/** What the errors of a response mean. */
const meaningsOf = ({ content }: Json): string[] =>
  content['application/json'].schema.allOf[1].properties.error.description
    .replaceAll(/^`\w+`: |`/gm, '')
    .split('\n');

test('every operation of the API document is in the reference, with its description, fields, errors and examples', () => {
  for (const [path, operations] of Object.entries<Json>(document.paths)) {
    for (const [method, operation] of Object.entries<Json>(operations)) {
      if (method === 'head') continue;
      const { operationId, summary, description = '', parameters = [], requestBody, responses } = operation;
      const answers = Object.entries<Json>(responses);
      const errors = answers.filter(([status]) => Number(status) >= 400).map(([, answer]) => answer);
      const members = [requestBody, ...answers.map(([, answer]) => answer)]
        .filter((one) => !errors.includes(one))
        .flatMap((one) => Object.values<Json>(one?.content ?? {}))
        .flatMap(({ schema }) => [...membersOf(schema, operationId)]);
      const texts = [
        path,
        summary,
        ...description.replaceAll('`', '').split(/(?<=\.) /),
        `curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}'`,
        ...[...parameters, ...members].map(({ name }) => name),
        ...members.map(({ schema }) => resolved(schema).description?.replaceAll('`', '') ?? ''),
        ...errors.flatMap(({ description }) => description.split(', ')),
        ...errors.flatMap(meaningsOf),
      ];
      const section = sectionOf(operationId);
      expect([operationId, texts.filter((text) => !section.includes(text))]).toEqual([operationId, []]);
    }
  }
});

test('every example call in the reference reaches its endpoint with a valid body', async () => {
  for (const { id, path, method, access, body } of all) {
    const [call = ''] = examplesOf(id, 'Request');
    const [, url = ''] = /'(http[^']+)'/.exec(call)!;
    expect(new URL(url).pathname).toMatch(new RegExp(`^${path.replace(/{\w+}/g, '[\\w-]+')}$`));
    expect([id, call.includes('Authorization: Bearer $ACCESS_TOKEN')]).toEqual([
      id,
      !['anyone', 'service'].includes(access),
    ]);
    expect([id, call.includes('-u "$SERVICE_KEY"')]).toEqual([id, access === 'service']);
    const [, sent] = /-d '([^']+)'/.exec(call) ?? [];
    // Authorization requests need a registered client.
    if (!sent || access === 'service' || /^(verify|approve|deny)Authorization$/.test(id)) continue;
    expect([id, body !== undefined]).toEqual([id, true]);
    const { access_token } = await app.login();
    const answer = await app.ask(method.toUpperCase(), new URL(url).pathname.slice('/api/v1/auth'.length), {
      json: JSON.parse(sent),
      token: access_token,
    });
    expect([id, answer.body?.error]).not.toEqual([id, 'invalid_request']);
  }
});

test('every link within the reference leads somewhere, and every id is unique', () => {
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  for (const [, target] of page.matchAll(/ href="#([^"]+)"/g)) expect(ids).toContain(target);
  for (const { id } of all) expect(page).toContain(`<li><a href="#${id}">`);
});

test('the reference loads only stylesheets and a script of this service, has the headers of every page and a bounded size', async () => {
  const [login, answer] = [await app.ask('GET', 'login'), await app.ask('GET', 'docs')];
  for (const name of ['Content-Security-Policy', 'X-Frame-Options', 'Referrer-Policy', 'Cache-Control'])
    expect([name, answer.headers.get(name)]).toEqual([name, login.headers.get(name)]);
  expect(page).not.toMatch(/ style=|\son\w+=/);
  expect(page.match(/<script/g)).toHaveLength(1);
  expect([...page.matchAll(/(?:src|<link [^>]*href)="([^"]+)"/g)].map(([, url]) => url)).toEqual([
    expect.stringMatching(/^data:image\/svg\+xml,/),
    expect.stringMatching(/^\/assets\/style-\w+\.css$/),
    expect.stringMatching(/^\/assets\/reference-\w+\.css$/),
    expect.stringMatching(/^\/assets\/reference-\w+\.js$/),
  ]);
  expect(gzipSync(page).length).toBeLessThan(100_000);
  const [script = ''] = /\/assets\/[^"]+\.js/.exec(page)!;
  expect(gzipSync((await app.ask('GET', script.slice(1))).text).length).toBeLessThan(15_000);
});
