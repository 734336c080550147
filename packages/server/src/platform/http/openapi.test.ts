import { beforeAll, describe, expect, test } from 'bun:test';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { openApp } from '../../../../../tests/support/app.ts';
import { shared } from '../../../../../tests/support/shared.ts';

const app = shared(() => openApp('sqlite'));
// biome-ignore lint/suspicious/noExplicitAny: a test looks into any document
let document: any;
// biome-ignore lint/suspicious/noExplicitAny: a test looks into any document
let operations: { method: string; path: string; operation: any }[];
beforeAll(async () => {
  document = (await app.ask('GET', 'openapi.json')).body;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any document
  operations = Object.entries<any>(document.paths).flatMap(([path, byMethod]) =>
    Object.entries(byMethod).map(([method, operation]) => ({ method, path, operation })),
  );
});

const auth = '/api/v1/auth';
const bodyOf = (path: string, method: string) => document.paths[auth + path][method].requestBody.content;

/** Every schema in a part of the document, at any depth. */
function* schemasIn(part: unknown): Generator<Record<string, unknown>> {
  if (typeof part !== 'object' || part === null) return;
  if (!Array.isArray(part)) yield part as Record<string, unknown>;
  for (const value of Object.values(part)) yield* schemasIn(value);
}

describe('the OpenAPI document', () => {
  test('uses only regular expressions that work alike in every language', () => {
    const patterns = [...schemasIn(document)]
      .map(({ pattern }) => pattern)
      .filter((pattern) => typeof pattern === 'string');
    expect(patterns.length).toBeGreaterThan(5);
    for (const pattern of patterns) {
      expect(pattern).toMatch(/^\^.*\$$/);
      // No property classes, lookaround or flags: they differ in Python and Go, or are missing.
      expect(pattern).not.toMatch(/\\[pPuxkb]|\(\?/);
    }
  });

  test.each(['/magic_link', '/me/email'])('accepts every email address that %s accepts', (path) => {
    const { pattern } = bodyOf(path, 'post')['application/json'].schema.properties.email;
    const longest = `${'a'.repeat(64)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`;
    for (const address of ['ada@example.com', 'ädä+x@xn--bcher-kva.example', 'a@b', longest])
      expect(address).toMatch(new RegExp(pattern));
    for (const wrong of ['ada', '@example.com', 'ada@', 'a da@example.com'])
      expect(wrong).not.toMatch(new RegExp(pattern));
  });

  test('says that a form to revoke needs no bearer token and returns 200, and JSON returns 204', async () => {
    const { security, responses } = document.paths[`${auth}/revoke`].post;
    expect(security).toEqual([{ bearer: ['*'] }, { cookie: ['*'] }, {}]);
    expect([responses[200].content, responses[204].content]).toEqual([undefined, undefined]);
    const answer = await app.ask('POST', '/revoke', { form: { token: 'anything' } });
    expect([answer.status, answer.text]).toEqual([200, '']);
  });

  test('names the scopes of each operation, of which a token needs one, and the rights of services', () => {
    for (const endpoint of Object.values<Endpoint>(endpoints)) {
      const { path, method, access, scopes = ['*'], rights } = endpoint;
      const { security, description } = document.paths[path][method];
      const named = security.flatMap(({ bearer = [], serviceKey = [] }) => [...bearer, ...serviceKey]);
      if (access === 'anyone') expect([path, named]).toEqual([path, []]);
      else if (access === 'service') expect([path, named]).toEqual([path, [...(rights ?? [])]]);
      else {
        expect([path, named]).toEqual([path, [...scopes]]);
        expect(description).toContain(`A token needs the scope ${scopes.join(' or ')}`);
      }
    }
    const { description } = document.paths[`${auth}/logout`].delete;
    expect(description).toContain('except to end only its own session');
  });

  test('declares the merge-patch media type for every PATCH, and the service accepts it', async () => {
    const patches = operations.filter(({ method }) => method === 'patch');
    expect(patches.length).toBeGreaterThan(1);
    for (const { operation } of patches)
      expect(Object.keys(operation.requestBody.content)).toEqual([
        'application/json',
        'application/merge-patch+json',
      ]);
    const { access_token: token } = await app.login();
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    const answer = await app.ask('PATCH', '/me', { json: { name: 'Ada L.' }, token, headers });
    expect([answer.status, answer.body.name]).toEqual([200, 'Ada L.']);
  });

  const lists = ['/sessions', '/events', '/organizations'];

  test.each(lists)('declares the limit of %s as an integer from 1 to 100, by default 50', (path) => {
    const [limit] = document.paths[auth + path].get.parameters;
    expect(limit).toMatchObject({
      name: 'limit',
      in: 'query',
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
    });
  });

  test('declares the error object for every error status, with the codes of that operation only', () => {
    for (const { method, operation } of operations) {
      // biome-ignore lint/suspicious/noExplicitAny: a test looks into any document
      for (const [status, answer] of Object.entries<any>(operation.responses)) {
        if (Number(status) < 400 || method === 'head') continue;
        const [all, codes] = answer.content['application/json'].schema.allOf;
        expect(all).toEqual({ $ref: '#/components/schemas/Error' });
        expect(codes.properties.error.enum.join(', ')).toBe(answer.description);
      }
    }
  });

  test('declares the headers that clients act on', () => {
    for (const { operation } of operations) {
      // biome-ignore lint/suspicious/noExplicitAny: a test looks into any document
      for (const [status, { headers }] of Object.entries<any>(operation.responses)) {
        const expected = ['X-Request-Id', 'Cache-Control'];
        if (status === '401') expected.push('WWW-Authenticate');
        if (status === '429') expected.push('Retry-After', 'RateLimit', 'RateLimit-Policy');
        if (status === '503') expected.push('Retry-After');
        expect(Object.keys(headers)).toEqual(expect.arrayContaining(expected));
      }
    }
    const { get, patch } = document.paths[`${auth}/me`];
    for (const answer of [get.responses[200], get.responses[304], patch.responses[200]])
      expect(answer.headers.ETag).toEqual({ $ref: '#/components/headers/ETag' });
    for (const path of ['/magic_link/verify', '/passkey/login', '/revoke', '/sessions'])
      for (const { responses } of Object.values<{ responses: object }>(document.paths[auth + path]))
        expect(JSON.stringify(responses)).toContain('"Set-Cookie"');
  });

  test('has a HEAD for every GET, with the same responses and no body', () => {
    for (const { get, head } of Object.values<Record<string, { responses: object }>>(document.paths)) {
      expect(head === undefined).toBe(get === undefined);
      if (!get) continue;
      expect(Object.keys(head!.responses)).toEqual(Object.keys(get.responses));
      expect(JSON.stringify(head!.responses)).not.toContain('"content"');
    }
  });

  test('declares that no value of a read-only member is valid', () => {
    const { properties } = bodyOf('/me', 'patch')['application/json'].schema;
    for (const name of ['id', 'email', 'email_verified', 'created_at', 'updated_at'])
      expect(properties[name]).toEqual({ readOnly: true, not: {} });
  });

  test('has no dangling references', () => {
    const references = [...schemasIn(document)].map(({ $ref }) => $ref).filter((one) => one !== undefined);
    expect(references.length).toBeGreaterThan(50);
    for (const reference of new Set(references as string[])) {
      const [, ...path] = reference.split('/');
      const found = path.reduce((part, name) => part?.[name], document);
      expect([reference, found !== undefined]).toEqual([reference, true]);
    }
  });
});

describe.each(['openapi.json', 'docs'])('/%s', (path) => {
  test('is generated once: its ETag does not change, and If-None-Match gets 304 without a body', async () => {
    const first = await app.ask('GET', path);
    const tag = first.headers.get('ETag')!;
    expect(tag).toMatch(/^"[\w-]{22}-identity"$/);
    expect((await app.ask('GET', path)).headers.get('ETag')).toBe(tag);
    const again = await app.ask('GET', path, { headers: { 'If-None-Match': `W/${tag}` } });
    expect([again.status, again.text, again.headers.get('ETag')]).toEqual([304, '', tag]);
    const other = await app.ask('GET', path, { headers: { 'If-None-Match': '"other"' } });
    expect([other.status, other.text]).toEqual([200, first.text]);
  });

  test('is compressed for clients that accept that', async () => {
    const plain = await app.ask('GET', path);
    const request = new Request(`${app.ctx.config.baseUrl}/${path}`, {
      headers: { 'Accept-Encoding': 'br' },
    });
    const { headers } = await app.app.fetch(request, { peer: undefined });
    expect(headers.get('Content-Encoding')).toBe('br');
    expect(Number(headers.get('Content-Length'))).toBeLessThan(plain.text.length / 4);
  });
});
