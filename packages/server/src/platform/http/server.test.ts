// What holds for every endpoint, whatever its body.

import { beforeAll, describe, expect, test } from 'bun:test';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { errorStatus } from '@latchkey/contract/errors';
import { outcome, sameOrigin } from '#support/account.ts';
import { type Answer, type Ask, openApp } from '#support/app.ts';
import { shared } from '#support/shared.ts';

const all: readonly Endpoint[] = Object.values(endpoints);
const origin = 'https://app.example.com';
const pathOf = (endpoint: Endpoint): string => endpoint.path.replace(/\{\w+\}/g, 'ses_x').slice(1);
const methodOf = (endpoint: Endpoint): string => endpoint.method.toUpperCase();

const t = shared(() => openApp('sqlite', { settings: { LATCHKEY_ALLOWED_ORIGINS: origin } }));
let token: string;
beforeAll(async () => {
  token = (await t.login()).access_token;
});

/** Expects an error object with this code and its status. */
function expectError(answer: Answer, code: keyof typeof errorStatus): void {
  expect(outcome(answer)).toBe(`${errorStatus[code]} ${code}`);
  expect(Object.keys(answer.body).sort()).toEqual(['error', 'error_description', 'request_id']);
  expect(answer.body.error_description).toMatch(/\S/);
  expect(answer.body.request_id).toBe(answer.headers.get('X-Request-Id')!);
}

const about = ({ headers }: Answer, name: string) => headers.get(`Access-Control-Allow-${name}`);
const evil = 'https://evil.example';

/** Pages of every origin may call these, without credentials. */
const openToAll = ['issueToken', 'revoke', 'getUserinfo', 'postUserinfo'];

describe.each(all.map((endpoint) => [`${methodOf(endpoint)} ${endpoint.path}`, endpoint] as const))(
  '%s',
  (_, endpoint) => {
    const path = pathOf(endpoint);
    const ask = (headers: Record<string, string> = {}, raw?: string) =>
      t.ask(methodOf(endpoint), path, { headers, ...(raw === undefined ? {} : { raw }) });

    test('returns a well-formed X-Request-Id and replaces any other, and is not to be stored', async () => {
      for (const id of ['a', 'A.b_c-9', 'x'.repeat(128)])
        expect((await ask({ 'X-Request-Id': id })).headers.get('X-Request-Id')).toBe(id);
      for (const id of ['', 'a b', 'x'.repeat(129), 'a/b', 'a,b', '<x>', '\u00e4', 'a:b', '"a"']) {
        const { headers } = await ask({ 'X-Request-Id': id });
        expect(headers.get('X-Request-Id')).not.toBe(id);
        expect(headers.get('X-Request-Id')).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
        expect(headers.get('Cache-Control')).toBe('no-store');
      }
    });

    if (endpoint.access !== 'anyone' && endpoint.access !== 'optional') {
      const [scheme, code] =
        endpoint.access === 'service'
          ? (['Basic', 'invalid_client'] as const)
          : (['Bearer', 'invalid_token'] as const);

      test('is 401 with a challenge, which has an error if there is a credential, before query, media type and body are checked', async () => {
        const before = t.statements.length;
        const bare = await ask();
        expectError(bare, code);
        expect(bare.headers.get('WWW-Authenticate')).toMatch(new RegExp(`^${scheme} (?!.*error)`));
        const bad = ['', '{', '[]', 'x'.repeat(70_000)];
        for (const raw of endpoint.method === 'get' ? [] : bad) {
          for (const type of ['application/json', 'text/plain', 'application/xml']) {
            const answer = await ask({ Authorization: `${scheme} lk_at_x`, 'Content-Type': type }, raw);
            expectError(answer, code);
            if (scheme === 'Bearer')
              expect(answer.headers.get('WWW-Authenticate')).toContain('error="invalid_token"');
          }
        }
        const query = `${path}?limit=x&limit=y&scope=z`;
        expectError(await t.ask(methodOf(endpoint), query, { token: 'lk_at_x' }), code);
        expect(t.statements.length).toBe(before);
      });
    }

    test('answers other methods with 405 and Allow, and does nothing', async () => {
      const known = all.filter((other) => other.path === endpoint.path).map(methodOf);
      if (known.includes('GET')) known.push('HEAD');
      const before = t.statements.length;
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        if (known.includes(method)) continue;
        const answer = await t.ask(method, path, { token });
        expect([method, answer.status]).toEqual([method, 405]);
        expect(answer.headers.get('Allow')!.split(', ').sort()).toEqual(known.toSorted());
        if (method !== 'HEAD') expectError(answer, 'method_not_allowed');
      }
      expect(t.statements.length).toBe(before);
    });

    test('answers preflights from allowed origins only, and requests from the own one, too, without a wildcard', async () => {
      const preflight = (Origin: string) =>
        t.ask('OPTIONS', path, { headers: { Origin, 'Access-Control-Request-Method': methodOf(endpoint) } });
      const answer = await preflight(origin);
      expect([answer.status, about(answer, 'Origin'), about(answer, 'Credentials')]).toEqual([
        204,
        origin,
        'true',
      ]);
      expect(about(answer, 'Methods')!.split(', ')).toContain(methodOf(endpoint));
      const names = about(answer, 'Headers')!.split(', ');
      expect(names).toEqual(expect.arrayContaining(['Authorization', 'If-Match', 'Latchkey-User']));
      expect(names).not.toContain('*');
      expect(names).not.toContain('Latchkey-Page');
      const others = [evil, 'null', 'http://app.example.com', `${origin}.evil.example`, `${origin}:8443`];
      for (const from of openToAll.includes(endpoint.id) ? [] : others) {
        const refused = [
          ...(await preflight(from)).headers.keys(),
          ...(await ask({ Origin: from })).headers.keys(),
        ];
        expect(refused.filter((name) => name.startsWith('access-control'))).toEqual([]);
      }
      for (const Origin of [origin, 'http://localhost:8787']) {
        const simple = await ask({ Origin });
        expect(about(simple, 'Origin')).toBe(Origin);
        expect(simple.headers.get('Vary')).toContain('Origin');
      }
    });
  },
);

test.each<[string, string, Ask]>([
  ['GET', '.well-known/oauth-authorization-server', {}],
  ['GET', '.well-known/openid-configuration', {}],
  ['GET', '.well-known/jwks.json', {}],
  ['POST', '/token', { form: { token: 'unknown' } }],
  ['POST', '/revoke', { form: { token: 'unknown' } }],
  ['GET', '/userinfo', {}],
  ['POST', '/userinfo', {}],
])(
  '%s %s answers every origin, without credentials, and allows all headers but the one of our pages',
  async (method, path, ask) => {
    for (const [Origin, answered, credentials] of [
      [evil, '*', null],
      ['null', '*', null],
      [origin, origin, 'true'],
    ] as const) {
      const answer = await t.ask(method, path, { ...ask, headers: { Origin } });
      expect([about(answer, 'Origin'), about(answer, 'Credentials')]).toEqual([answered, credentials]);
      expect(answer.headers.get('Vary')).toContain('Origin');
    }
    const asked = 'authorization, x-anything, mcp-protocol-version';
    const headers = {
      Origin: evil,
      'Access-Control-Request-Method': method,
      'Access-Control-Request-Headers': `Latchkey-Page,${asked},latchkey-page, LATCHKEY-PAGE`,
    };
    const preflight = await t.ask('OPTIONS', path, { headers });
    const names = ['Origin', 'Credentials', 'Headers'].map((name) => about(preflight, name));
    expect([preflight.status, ...names]).toEqual([204, '*', null, asked]);
    expect(about(preflight, 'Methods')).toContain(method);
  },
);

test('a revocation as JSON answers no other origin', async () => {
  const answer = await t.ask('POST', '/revoke', { json: {}, headers: { Origin: evil } });
  expect(about(answer, 'Origin')).toBeNull();
});

test('an unknown path is 404 for every method', async () => {
  const beside = [
    'api/v1/auth',
    'api/v1/auth/',
    'api/v1',
    'api/v2/auth/me',
    'api/v1/auth/me/',
    'api/v1/auth/ME',
  ];
  const odd = ['nowhere', 'api/v1/auth/sessions/a/b', 'api/v1/auth/%6de%00', '__proto__', 'assets/../x', '%'];
  for (const path of [...beside, ...odd]) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'])
      expectError(await t.ask(method, path), 'not_found');
    expect((await t.ask('HEAD', path)).status).toBe(404);
  }
});

const browser = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8' };

test('a browser that opens an unknown path gets the 404 page, with the headers of every page', async () => {
  const own = ['content-length', 'etag', 'vary', 'x-request-id'];
  const common = ({ headers }: Answer) => [...headers].filter(([name]) => !own.includes(name)).sort();
  const login = common(await t.ask('GET', 'login'));
  expect(login.map(([name]) => name)).toContain('content-security-policy');
  for (const path of ['nowhere', 'login/', 'account/settings', 'apiary', '<script>', 'nowhere?next=/x']) {
    const answer = await t.ask('GET', path, { headers: browser });
    expect([path, answer.status, common(answer)]).toEqual([path, 404, login]);
    expect(answer.headers.get('Vary')).toBe('Origin, Accept, Accept-Language, Cookie');
    expect(answer.headers.get('X-Request-Id')).toMatch(/\S/);
    expect(answer.text).toContain('<h1>Page not found</h1>');
    expect(answer.text).not.toContain('<script');
    expect(JSON.parse(t.logs.at(-1)!)).toMatchObject({ status: 404, route: 'unknown', outcome: 'not_found' });
  }
  expect((await t.ask('HEAD', 'nowhere', { headers: browser })).status).toBe(404);
});

test('programs get the error object for an unknown path, and so do browsers where only programs send requests', async () => {
  for (const Accept of ['', '*/*', 'application/json, text/plain, */*'])
    expectError(await t.ask('GET', 'nowhere', { headers: { Accept } }), 'not_found');
  const api = ['api', 'api/', 'api/v1/nowhere', '%61pi/v1/x'];
  for (const path of [...api, '.well-known/nowhere', 'assets/nowhere.js', 'dev/nowhere.json'])
    expectError(await t.ask('GET', path, { headers: browser }), 'not_found');
});

test('a foreign page cannot sign in with a cookie, however the query is encoded', async () => {
  const app = await openApp('sqlite');
  const foreign = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' };
  const verify = (query: string, token: string, headers: Record<string, string> = foreign) =>
    app.ask('POST', `/magic_link/verify${query}`, { json: { token }, headers });
  const token = await app.linkTokenFor('eve@example.com');
  for (const query of ['?session=cookie', '?s%65ssion=cookie', '?session=c%6fokie', '?&session=cookie']) {
    const answer = await verify(query, token);
    const refused = [query, '403 origin_not_allowed', null];
    expect([query, outcome(answer), answer.headers.get('Set-Cookie')]).toEqual(refused);
  }
  expect((await verify('?session=cookie', token, sameOrigin)).status).toBe(200);
  const other = await verify('??session=cookie', await app.linkTokenFor('eve@example.com'));
  expect(other.headers.get('Set-Cookie')).toBeNull();
});

test('a draining process answers 503 with Retry-After, and is alive but not ready', async () => {
  const app = await openApp('sqlite');
  const { access_token } = await app.login();
  app.lifecycle.draining = true;
  const before = app.statements.length;
  for (const endpoint of all) {
    const answer = await app.ask(methodOf(endpoint), pathOf(endpoint), { token: access_token });
    expectError(answer, 'temporarily_unavailable');
    expect(answer.headers.get('Retry-After')).toMatch(/^\d+$/);
  }
  expectError(await app.ask('GET', 'readyz'), 'temporarily_unavailable');
  expect((await app.ask('GET', 'healthz')).status).toBe(200);
  expect(app.statements.length).toBe(before);
  app.lifecycle.draining = false;
  expect((await app.ask('GET', 'readyz')).status).toBe(200);
});

test('with an https base URL, every response forbids plain http to browsers; with another, none does', async () => {
  const secure = await openApp('sqlite', { settings: { LATCHKEY_BASE_URL: 'https://login.example' } });
  const requests = [
    ...['GET ', 'GET login', 'GET authorize', 'GET nowhere', 'GET docs', 'HEAD openapi.json', 'GET readyz'],
    ...['GET .well-known/jwks.json', 'GET metrics', 'GET /me', 'PUT /me', 'POST /refresh', 'OPTIONS /me'],
    'POST /end_session',
  ];
  const statuses = new Set<number>();
  for (const request of requests) {
    const [method = '', path = ''] = request.split(' ');
    const ask = { headers: browser, ...(path === '/end_session' ? { form: {} } : {}) };
    const [answer, plain] = [await secure.ask(method, path, ask), await t.ask(method, path, ask)];
    statuses.add(answer.status);
    const policies = [answer, plain].map(({ headers }) => headers.get('Strict-Transport-Security'));
    expect([request, ...policies]).toEqual([request, 'max-age=63072000', null]);
  }
  expect([...statuses].sort()).toEqual([200, 302, 303, 400, 401, 404, 405]);
});
