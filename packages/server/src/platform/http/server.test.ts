// What holds for every endpoint.

import { beforeAll, describe, expect, test } from 'bun:test';
import type { Endpoint } from '@latchkey/contract/endpoint';
import { endpoints } from '@latchkey/contract/endpoints';
import { errorStatus } from '@latchkey/contract/errors';
import { serviceRights } from '@latchkey/contract/scopes';

import { type Answer, onBothDatabases, openApp } from '../../../../../tests/support/app.ts';
import { shared } from '../../../../../tests/support/shared.ts';

const all: readonly Endpoint[] = Object.values(endpoints);
const origin = 'https://app.example.com';
const pathOf = (endpoint: Endpoint): string => endpoint.path.replace(/\{\w+\}/g, 'ses_x').slice(1);
const methodOf = (endpoint: Endpoint): string => endpoint.method.toUpperCase();

const t = shared(() => openApp('sqlite', { settings: { LATCHKEY_ALLOWED_ORIGINS: origin } }));
let token: string;
let service: string;
beforeAll(async () => {
  token = (await t.login()).access_token;
  service = await t.serviceAuthorization(...serviceRights);
});

/** Expects an error object with this code and its status. */
function expectError(answer: Answer, code: keyof typeof errorStatus): void {
  expect({ status: answer.status, error: answer.body?.error }).toEqual({
    status: errorStatus[code],
    error: code,
  });
  expect(Object.keys(answer.body).sort()).toEqual(['error', 'error_description', 'request_id']);
  expect(answer.body.error_description).toMatch(/\S/);
  expect(answer.body.request_id).toBe(answer.headers.get('X-Request-Id')!);
  expectCommonHeaders(answer);
}

function expectCommonHeaders({ headers }: Answer): void {
  expect(headers.get('Cache-Control')).toBe('no-store');
  expect(headers.get('X-Request-Id')).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
  expect(headers.get('Access-Control-Allow-Origin')).not.toBe('*');
}

/** Pages of every origin may call these, without credentials (open-to-all.test.ts). */
const openToAll = ['issueToken', 'revoke', 'getUserinfo', 'postUserinfo'];

describe.each(all.map((endpoint) => [`${methodOf(endpoint)} ${endpoint.path}`, endpoint] as const))(
  '%s',
  (_, endpoint) => {
    const path = pathOf(endpoint);
    const ask = (headers: Record<string, string> = {}, raw?: string) =>
      t.ask(methodOf(endpoint), path, { headers, ...(raw === undefined ? {} : { raw }) });

    const authorization = (): Record<string, string> => {
      if (endpoint.access === 'anyone') return {};
      return { Authorization: endpoint.access === 'service' ? service : `Bearer ${token}` };
    };

    test('returns a well-formed X-Request-Id and replaces any other', async () => {
      for (const id of ['a', 'A.b_c-9', 'x'.repeat(128)]) {
        expect((await ask({ 'X-Request-Id': id })).headers.get('X-Request-Id')).toBe(id);
      }
      for (const id of ['', 'a b', 'x'.repeat(129), 'a/b', 'a,b', '<x>', '\u00e4', 'a:b', '"a"']) {
        const { headers } = await ask({ 'X-Request-Id': id });
        expect(headers.get('X-Request-Id')).not.toBe(id);
        expect(headers.get('X-Request-Id')).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
      }
    });

    if (endpoint.access === 'anyone' || endpoint.access === 'optional') {
      test('sends the common headers', async () => {
        expectCommonHeaders(await ask());
      });
    } else {
      const [scheme, code] =
        endpoint.access === 'service'
          ? (['Basic', 'invalid_client'] as const)
          : (['Bearer', 'invalid_token'] as const);

      test('is 401 without a credential, with a challenge that has no error', async () => {
        const answer = await ask();
        expectError(answer, code);
        expect(answer.headers.get('WWW-Authenticate')).toStartWith(`${scheme} `);
        expect(answer.headers.get('WWW-Authenticate')).not.toContain('error');
      });

      test('checks the credential before the query, the media type and the body', async () => {
        const before = t.statements.length;
        const bad = ['', '{', '[]', 'x'.repeat(70_000)];
        for (const raw of endpoint.method === 'get' ? [] : bad) {
          for (const type of ['application/json', 'text/plain', 'application/xml']) {
            const answer = await ask({ Authorization: `${scheme} lk_at_x`, 'Content-Type': type }, raw);
            expectError(answer, code);
            if (scheme === 'Bearer')
              expect(answer.headers.get('WWW-Authenticate')).toContain('error="invalid_token"');
          }
        }
        const query = await t.ask(methodOf(endpoint), `${path}?limit=x&limit=y&scope=z`, {
          token: 'lk_at_x',
        });
        expectError(query, code);
        expect(t.statements.length).toBe(before);
      });
    }

    // An identity token needs a scope of runs, which is checked before the body.
    if (endpoint.body && endpoint !== endpoints.issueIdToken) {
      test('accepts a body of 65,536 bytes and refuses one of 65,537, with and without Content-Length', async () => {
        const sized = (bytes: number) => `{"x":"${'x'.repeat(bytes - 8)}"}`;
        for (const announced of [true, false]) {
          const send = async (bytes: number) => {
            // A session of its own: an accepted request may end every session of the user.
            const login = ['anyone', 'service'].includes(endpoint.access)
              ? undefined
              : await t.login('size@example.com');
            const auth = login ? { Authorization: `Bearer ${login.access_token}` } : authorization();
            const text = sized(bytes);
            expect(Buffer.byteLength(text)).toBe(bytes);
            const headers = { 'Content-Type': 'application/json', ...auth };
            const raw = announced ? text : new Blob([text]).stream();
            return t.ask(methodOf(endpoint), path, {
              headers: announced ? { ...headers, 'Content-Length': String(bytes) } : headers,
              raw,
            });
          };
          expectError(await send(65_537), 'payload_too_large');
          expect((await send(65_536)).status).not.toBe(413);
        }
      });

      test('refuses other media types, and accepts its own with parameters and in any case', async () => {
        const auth = authorization();
        for (const type of [
          'text/plain',
          'application/xml',
          'application/jsonx',
          'multipart/form-data; boundary=x',
          '',
        ]) {
          expectError(await ask({ ...auth, 'Content-Type': type }, '{}'), 'unsupported_media_type');
        }
        // The body is invalid, so the error shows that the type was accepted, and nothing happens.
        for (const type of [
          'application/json',
          'Application/JSON',
          'application/json; charset=UTF-8',
          'application/json ;x=y',
        ]) {
          expectError(await ask({ ...auth, 'Content-Type': type }, '{'), 'invalid_request');
        }
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

    test('answers preflights from allowed origins only', async () => {
      const preflight = (from: string) =>
        t.ask('OPTIONS', path, {
          headers: { Origin: from, 'Access-Control-Request-Method': methodOf(endpoint) },
        });
      const answer = await preflight(origin);
      expect(answer.status).toBe(204);
      expect(answer.headers.get('Access-Control-Allow-Origin')).toBe(origin);
      expect(answer.headers.get('Access-Control-Allow-Credentials')).toBe('true');
      expect(answer.headers.get('Access-Control-Allow-Methods')!.split(', ')).toContain(methodOf(endpoint));
      const headers = answer.headers.get('Access-Control-Allow-Headers')!.split(', ');
      expect(headers).toEqual(expect.arrayContaining(['Authorization', 'If-Match', 'Latchkey-User']));
      expect(headers).not.toContain('*');
      expect(headers).not.toContain('Latchkey-Page');
      for (const from of [
        'https://evil.example',
        'null',
        `${origin}.evil.example`,
        'http://app.example.com',
        `${origin}:8443`,
      ]) {
        const refused = await preflight(from);
        if (openToAll.includes(endpoint.id)) {
          expect(refused.headers.has('Access-Control-Allow-Credentials')).toBe(false);
          continue;
        }
        expect([...refused.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
        expect((await ask({ Origin: from })).headers.has('Access-Control-Allow-Origin')).toBe(false);
      }
      const simple = await ask({ Origin: origin });
      expect(simple.headers.get('Access-Control-Allow-Origin')).toBe(origin);
      expect(simple.headers.get('Vary')).toContain('Origin');
    });
  },
);

test('an unknown path is 404 for every method', async () => {
  const paths = [
    'api/v1/auth',
    'api/v1/auth/',
    'api/v1',
    'api/v2/auth/me',
    'api/v1/auth/me/',
    'nowhere',
    'api/v1/auth/ME',
  ];
  for (const path of [
    ...paths,
    'api/v1/auth/sessions/a/b',
    'api/v1/auth/%6de%00',
    '__proto__',
    'assets/../x',
    '%',
  ]) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'])
      expectError(await t.ask(method, path), 'not_found');
    expect((await t.ask('HEAD', path)).status).toBe(404);
  }
});

const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';

test('a browser that opens an unknown path gets the 404 page, with the headers of every page', async () => {
  const login = await t.ask('GET', 'login');
  const pageHeaders = [...login.headers.keys()].filter(
    (name) => !['content-length', 'etag', 'vary', 'x-request-id'].includes(name),
  );
  expect(pageHeaders).toContain('content-security-policy');
  for (const path of ['nowhere', 'login/', 'account/settings', 'apiary', '<script>', 'nowhere?next=/x']) {
    const answer = await t.ask('GET', path, { headers: { Accept: browserAccept } });
    expect([path, answer.status]).toEqual([path, 404]);
    for (const name of pageHeaders)
      expect([path, name, answer.headers.get(name)]).toEqual([path, name, login.headers.get(name)]);
    expect(answer.headers.get('Vary')).toBe('Origin, Accept, Accept-Language, Cookie');
    expect(answer.headers.get('X-Request-Id')).toMatch(/\S/);
    expect(answer.text).toContain('<h1>Page not found</h1>');
    expect(answer.text).not.toContain('<script');
    expect(JSON.parse(t.logs.at(-1)!)).toMatchObject({ status: 404, route: 'unknown', outcome: 'not_found' });
  }
  expect((await t.ask('HEAD', 'nowhere', { headers: { Accept: browserAccept } })).status).toBe(404);
});

test('clients that do not prefer HTML, and paths that only programs request, get the error object for an unknown path', async () => {
  const notHtml = [
    '',
    '*/*',
    'application/json',
    'application/json, text/plain, */*',
    'application/json, text/html',
    'text/html, application/json',
    'text/html;q=0.5, application/json;q=0.9',
    'text/html;q=0.7, */*;q=0.8',
    'text/html;q=0, */*',
    'text/html;q=x',
    'text/plain',
    'xtext/html',
  ];
  for (const accept of notHtml)
    expectError(await t.ask('GET', 'nowhere', { headers: { Accept: accept } }), 'not_found');
  for (const accept of [
    'text/html',
    'TEXT/HTML; Q=0.1',
    'text/*',
    'text/html, */*',
    '*/*;q=0.1, text/html;q=0.2',
  ])
    expect((await t.ask('GET', 'nowhere', { headers: { Accept: accept } })).text).toStartWith(
      '<!doctype html>',
    );
  const machinePaths = [
    'api',
    'api/',
    'api/v1/nowhere',
    '%61pi/v1/x',
    '.well-known/nowhere',
    'assets/nowhere.js',
  ];
  for (const path of [...machinePaths, 'dev/nowhere.json'])
    expectError(await t.ask('GET', path, { headers: { Accept: browserAccept } }), 'not_found');
});

test('the service’s own origin gets CORS headers, without a wildcard', async () => {
  const { headers } = await t.ask('GET', '/me', { token, headers: { Origin: 'http://localhost:8787' } });
  expect(headers.get('Access-Control-Allow-Origin')).toBe('http://localhost:8787');
});

test('a foreign page cannot sign in with a cookie, however the query is encoded', async () => {
  const app = await openApp('sqlite');
  const verify = (query: string, headers: Record<string, string>, link: string | undefined) =>
    app.ask('POST', `/magic_link/verify${query}`, { json: { token: link }, headers });
  await app.ask('POST', '/magic_link', { json: { email: 'eve@example.com' } });
  const [mail] = await app.mails();
  const foreign = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' };
  for (const query of ['?session=cookie', '?s%65ssion=cookie', '?session=c%6fokie', '?&session=cookie']) {
    const answer = await verify(query, foreign, mail!.token);
    expect([query, answer.headers.get('Set-Cookie')]).toEqual([query, null]);
    expect([query, answer.status >= 400]).toEqual([query, true]);
  }
  const own = await verify('?session=cookie', { 'Sec-Fetch-Site': 'same-origin' }, mail!.token);
  expect(own.status).toBe(200);
  await app.ask('POST', '/magic_link', { json: { email: 'eve@example.com' } });
  const other = await verify('??session=cookie', foreign, (await app.mails())[0]!.token);
  expect(other.headers.get('Set-Cookie')).toBeNull();
});

onBothDatabases('conventions', (open) => {
  test('a draining process answers 503 with Retry-After, and is alive but not ready', async () => {
    const app = await open();
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

  test('text with characters that a database cannot store never causes a 5xx', async () => {
    const app = await open();
    const { access_token } = await app.login();
    const seen: [string, number][] = [];
    for (const evil of ['a\u0000b', '\u0000', 'a\ud800b', '\udfff', '\ufffe', '\u{10ffff}']) {
      for (const field of ['client_id', 'client_name', 'device_name', 'scope']) {
        const { status } = await app.ask('POST', '/device', { json: { [field]: evil } });
        seen.push([`${field} ${JSON.stringify(evil)}`, status]);
      }
      const patch = await app.ask('PATCH', '/me', { json: { name: evil }, token: access_token });
      seen.push([`name ${JSON.stringify(evil)}`, patch.status]);
      const session = encodeURIComponent(evil.toWellFormed());
      const path = `/sessions/${session}`;
      seen.push([path, (await app.ask('DELETE', path, { token: access_token })).status]);
    }
    expect(seen.filter(([, status]) => status >= 500)).toEqual([]);
  });
});

test('with an https base URL, every response forbids plain http to browsers; with another, none does', async () => {
  const secure = await openApp('sqlite', { settings: { LATCHKEY_BASE_URL: 'https://login.example' } });
  const paths = [
    ['GET', ''],
    ['GET', 'login'],
    ['GET', 'authorize'],
    ['GET', 'nowhere'],
    ['GET', 'docs'],
    ['GET', 'openapi.json'],
    ['HEAD', 'openapi.json'],
    ['GET', '.well-known/jwks.json'],
    ['GET', '.well-known/nothing'],
    ['GET', 'healthz'],
    ['GET', 'readyz'],
    ['GET', 'metrics'],
    ['GET', '/me'],
    ['PUT', '/me'],
    ['POST', '/device'],
    ['POST', '/refresh'],
    ['POST', '/end_session', { form: {} }],
    ['POST', '/revoke', { raw: 'x' }],
    ['OPTIONS', '/me'],
  ] as const;
  const statuses = new Set<number>();
  for (const [method, path, body] of paths) {
    const ask = { headers: { Accept: browserAccept }, ...body };
    const answer = await secure.ask(method, path, ask);
    statuses.add(answer.status);
    expect([method, path, answer.headers.get('Strict-Transport-Security')]).toEqual([
      method,
      path,
      'max-age=63072000',
    ]);
    const plain = await t.ask(method, path, ask);
    expect([method, path, plain.headers.get('Strict-Transport-Security')]).toEqual([method, path, null]);
  }
  expect([...statuses].sort()).toEqual([200, 302, 303, 400, 401, 404, 405]);
});
