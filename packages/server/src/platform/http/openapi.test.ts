import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openApp, type TestApp } from '../../../../../tests/support/app.ts';

let app: TestApp;
// biome-ignore lint/suspicious/noExplicitAny: a test looks into any document
let document: any;
// biome-ignore lint/suspicious/noExplicitAny: a test looks into any document
let operations: { method: string; path: string; operation: any }[];
beforeAll(async () => {
  app = await openApp('sqlite');
  document = (await app.ask('GET', 'openapi.json')).body;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any document
  operations = Object.entries<any>(document.paths).flatMap(([path, byMethod]) =>
    Object.entries(byMethod).map(([method, operation]) => ({ method, path, operation })),
  );
});
afterAll(() => app.close());

const auth = '/api/v1/auth';
const bodyOf = (path: string, method: string) => document.paths[auth + path][method].requestBody.content;

/** Every schema in a part of the document, however deep. */
function* schemasIn(part: unknown): Generator<Record<string, unknown>> {
  if (typeof part !== 'object' || part === null) return;
  if (!Array.isArray(part)) yield part as Record<string, unknown>;
  for (const value of Object.values(part)) yield* schemasIn(value);
}

describe('the OpenAPI document', () => {
  test('has only patterns that regular expressions of every language read alike', () => {
    const patterns = [...schemasIn(document)]
      .map(({ pattern }) => pattern)
      .filter((pattern) => typeof pattern === 'string');
    expect(patterns.length).toBeGreaterThan(5);
    for (const pattern of patterns) {
      expect(pattern).toMatch(/^\^.*\$$/);
      // No classes by property, no lookaround, no flags: Python and Go have others, or none.
      expect(pattern).not.toMatch(/\\[pPuxkb]|\(\?/);
    }
  });

  test.each(['/magic_link', '/me/email'])('lets every address through that %s takes', (path) => {
    const { pattern } = bodyOf(path, 'post')['application/json'].schema.properties.email;
    const longest = `${'a'.repeat(64)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`;
    for (const address of ['ada@example.com', 'ädä+x@xn--bcher-kva.example', 'a@b', longest])
      expect(address).toMatch(new RegExp(pattern));
    for (const wrong of ['ada', '@example.com', 'ada@', 'a da@example.com'])
      expect(wrong).not.toMatch(new RegExp(pattern));
  });

  test('says of revoke that a form needs no bearer and is answered 200, and all else is 204', async () => {
    const { security, responses } = document.paths[`${auth}/revoke`].post;
    expect(security).toEqual([{ bearer: [] }, { cookie: [] }, {}]);
    expect([responses[200].content, responses[204].content]).toEqual([undefined, undefined]);
    const answer = await app.ask('POST', '/revoke', { form: { token: 'anything' } });
    expect([answer.status, answer.text]).toEqual([200, '']);
  });

  test('declares the media type of merge patches for every PATCH, and the service takes it', async () => {
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

  test.each(lists)('says of %s that limit is an integer, 1-100, 50 where it is left out', (path) => {
    const [limit] = document.paths[auth + path].get.parameters;
    expect(limit).toMatchObject({
      name: 'limit',
      in: 'query',
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
    });
  });

  test.each(lists)('%s takes a limit of 1 and of 100, and none that is no such number', async (path) => {
    const { access_token: token } = await app.login();
    const ask = (limit: string) => app.ask('GET', `${path}?limit=${limit}`, { token });
    for (const limit of ['1', '50', '100']) expect([limit, (await ask(limit)).status]).toEqual([limit, 200]);
    for (const limit of ['0', '101', '999', '1000', '-1', '1.5', '1e1', '01', '%201', 'x', '']) {
      const { status, body } = await ask(limit);
      expect([limit, status, body.error]).toEqual([limit, 400, 'invalid_request']);
      expect(body.error_description).toStartWith('limit: ');
    }
  });

  test('declares for every error status the error object with the codes of this operation alone', () => {
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

  test('declares the headers that callers act by', () => {
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

  test('has for every GET its HEAD, with the same answers and no body', () => {
    for (const { get, head } of Object.values<Record<string, { responses: object }>>(document.paths)) {
      expect(head === undefined).toBe(get === undefined);
      if (!get) continue;
      expect(Object.keys(head!.responses)).toEqual(Object.keys(get.responses));
      expect(JSON.stringify(head!.responses)).not.toContain('"content"');
    }
  });

  test('says of a member that may not be sent that no value of it is right', () => {
    const { properties } = bodyOf('/me', 'patch')['application/json'].schema;
    for (const name of ['id', 'email', 'email_verified', 'created_at', 'updated_at'])
      expect(properties[name]).toEqual({ readOnly: true, not: {} });
  });

  test('refers only to what is in it', () => {
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
  test('is made once: its ETag stays, and a caller that has it gets 304 without a body', async () => {
    const first = await app.ask('GET', path);
    const tag = first.headers.get('ETag')!;
    expect(tag).toMatch(/^"[\w-]{22}-identity"$/);
    expect((await app.ask('GET', path)).headers.get('ETag')).toBe(tag);
    const again = await app.ask('GET', path, { headers: { 'If-None-Match': `W/${tag}` } });
    expect([again.status, again.text, again.headers.get('ETag')]).toEqual([304, '', tag]);
    const other = await app.ask('GET', path, { headers: { 'If-None-Match': '"other"' } });
    expect([other.status, other.text]).toEqual([200, first.text]);
  });

  test('comes compressed to whoever takes that', async () => {
    const plain = await app.ask('GET', path);
    const request = new Request(`${app.ctx.config.baseUrl}/${path}`, {
      headers: { 'Accept-Encoding': 'br' },
    });
    const { headers } = await app.app.fetch(request, { peer: undefined });
    expect(headers.get('Content-Encoding')).toBe('br');
    expect(Number(headers.get('Content-Length'))).toBeLessThan(plain.text.length / 4);
  });
});
