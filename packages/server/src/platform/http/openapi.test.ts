// What the API document says. `tests/support/conformance.ts` compares each request and response of the tests with it.

import { beforeAll, expect, test } from 'bun:test';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { Ajv2020 } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { type Answer, openApp } from '#support/app.ts';
import { shared } from '#support/shared.ts';
import type { Schema } from './openapi.ts';

type Json = Answer['body'];

interface Field {
  readonly place: string;
  readonly schema: Schema;
}

const app = shared(() => openApp('sqlite'));
let document: Json;
let operations: { method: string; operation: Json }[];
let fields: Field[];
beforeAll(async () => {
  document = (await app.ask('GET', 'openapi.json')).body;
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
    for (const { name, schema } of parameters) yield { place: `${operationId} ${name}`, schema };
    for (const { content = {} } of [requestBody ?? {}, ...Object.values<Json>(responses)])
      for (const { schema } of Object.values<Json>(content))
        if (!schema.allOf) yield* membersOf(schema, operationId);
  }
}

/** The members of an object at any depth, without those that no value is valid for. */
function* membersOf(schema: Schema, place: string): Generator<Field> {
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    if (member.not) continue;
    yield { place: `${place}.${name}`, schema: member };
    yield* membersOf(member, `${place}.${name}`);
  }
  for (const inner of [...(schema.anyOf ?? []), schema.items, schema.additionalProperties])
    if (inner) yield* membersOf(inner, place);
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

test('every example is valid', () => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false });
  addFormats(ajv, ['date-time', 'uri']);
  ajv.addSchema({ $id: 'document', components: document.components }).addVocabulary(['components']);
  const models = Object.entries<Schema>(document.components.schemas);
  for (const { place, schema } of [...fields, ...models.map(([place, schema]) => ({ place, schema }))]) {
    const text = JSON.stringify(schema).replaceAll('"#/components', '"document#/components');
    const validate = ajv.compile(JSON.parse(text));
    for (const example of schema.examples ?? [])
      expect([place, example, validate(example)]).toEqual([place, example, true]);
  }
});

test('every operation belongs to one group, and each group says what it is for', () => {
  const used = operations.map(({ operation }) => operation.tags);
  for (const tags of used) expect(tags).toHaveLength(1);
  expect(new Set(used.flat())).toEqual(new Set(document.tags.map(({ name }: Json) => name)));
  for (const { description } of document.tags) expect(description).toEndWith('.');
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

test.each(['/magic_link', '/me/email'])('the pattern of %s accepts every email address', (path) => {
  const pattern = new RegExp(bodyOf(path, 'post').properties!['email']!.pattern!);
  const longest = `${'a'.repeat(64)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`;
  for (const address of ['ada@example.com', 'ädä+x@xn--bcher-kva.example', 'a@b', longest])
    expect(address).toMatch(pattern);
  for (const wrong of ['ada', '@example.com', 'ada@', 'a da@example.com']) expect(wrong).not.toMatch(pattern);
});

test('each operation names the scopes of which a token needs one, or the rights of services', () => {
  for (const endpoint of Object.values<Endpoint>(endpoints)) {
    const { path, method, access, scopes = ['*'], rights = [] } = endpoint;
    const { security, description } = document.paths[path][method];
    const named = security.flatMap(({ bearer = [], serviceKey = [] }) => [...bearer, ...serviceKey]);
    const needed = access === 'anyone' ? [] : access === 'service' ? rights : scopes;
    expect([path, named]).toEqual([path, [...needed]]);
    if (access !== 'anyone' && access !== 'service')
      expect(description).toContain(`A token needs the scope ${scopes.join(' or ')}`);
  }
  const { description } = document.paths[`${auth}/logout`].delete;
  expect(description).toContain('except to end only its own session');
});

test('every PATCH declares the merge-patch media type, and the service accepts it', async () => {
  const types = ['application/json', 'application/merge-patch+json'];
  const patches = operations.filter(({ method }) => method === 'patch');
  expect(patches.length).toBeGreaterThan(1);
  for (const { operation } of patches) expect(Object.keys(operation.requestBody.content)).toEqual(types);
  const { access_token: token } = await app.login();
  const headers = { 'Content-Type': types[1]! };
  const answer = await app.ask('PATCH', '/me', { json: { name: 'Ada L.' }, token, headers });
  expect([answer.status, answer.body.name]).toEqual([200, 'Ada L.']);
});

test('the limit of every list is an integer from 1 to 100, by default 50', () => {
  const limits = operations
    .filter(({ method }) => method === 'get')
    .flatMap(({ operation }) => operation.parameters ?? [])
    .filter(({ name }) => name === 'limit');
  expect(limits.length).toBeGreaterThan(6);
  const schema = { type: 'integer', minimum: 1, maximum: 100, default: 50 };
  for (const limit of limits) expect(limit).toMatchObject({ in: 'query', required: false, schema });
});

test('every error status has the error object, with the codes of that operation only', () => {
  for (const { method, operation } of operations) {
    for (const [status, answer] of Object.entries<Json>(operation.responses)) {
      if (Number(status) < 400 || method === 'head') continue;
      const [all, codes] = answer.content['application/json'].schema.allOf;
      expect(all).toEqual({ $ref: '#/components/schemas/Error' });
      expect(codes.properties.error.enum.join(', ')).toBe(answer.description);
    }
  }
});

test('there is a HEAD for every GET, with the same responses and no body', () => {
  for (const { get, head } of Object.values<Json>(document.paths)) {
    expect(head === undefined).toBe(get === undefined);
    if (!get) continue;
    expect(Object.keys(head.responses)).toEqual(Object.keys(get.responses));
    expect(JSON.stringify(head.responses)).not.toContain('"content"');
  }
});

test('no value of a read-only member is valid', () => {
  const { properties } = bodyOf('/me', 'patch');
  for (const name of ['id', 'email', 'email_verified', 'created_at', 'updated_at'])
    expect(properties?.[name]).toEqual({ readOnly: true, not: {} });
});

test('there are no dangling references', () => {
  const references = [...objectsIn(document)].map(({ $ref }) => $ref as string | undefined);
  const distinct = new Set(references.filter((one) => one !== undefined));
  expect(distinct.size).toBeGreaterThan(20);
  for (const reference of distinct) {
    const [, ...path] = reference.split('/');
    const found = path.reduce((part, name) => part?.[name], document);
    expect([reference, found !== undefined]).toEqual([reference, true]);
  }
});

test.each(['openapi.json', 'docs'])(
  '/%s is generated once, known by its entity tag, and compressed',
  async (path) => {
    const { headers, text } = await app.ask('GET', path);
    const tag = headers.get('ETag')!;
    expect(tag).toMatch(/^"[\w-]{22}-identity"$/);
    const known = await app.ask('GET', path, { headers: { 'If-None-Match': `W/${tag}` } });
    expect([known.status, known.text]).toEqual([304, '']);
    const accepted = { headers: { 'Accept-Encoding': 'br' } };
    const url = `${app.ctx.config.baseUrl}/${path}`;
    const compressed = await app.app.fetch(new Request(url, accepted), { peer: undefined });
    expect(compressed.headers.get('Content-Encoding')).toBe('br');
    expect(Number(compressed.headers.get('Content-Length'))).toBeLessThan(text.length / 4);
  },
);
