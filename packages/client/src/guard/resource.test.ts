import { expect, test } from 'bun:test';
import { guardOf } from '../../../../tests/support/guard.ts';
import type { ActiveToken } from '../active-token.ts';
import { LatchkeyError } from '../errors.ts';
import { createGuard, protectedResource } from '../guard.ts';
import type { Requirements } from './requirements.ts';

const resource = 'https://projects.example/mcp';
const path = '/.well-known/oauth-protected-resource/mcp';
const parameters = `resource_metadata="https://projects.example${path}"`;
const at = (path: string, init?: RequestInit) => new Request(`https://projects.example${path}`, init);

async function refused(result: Promise<unknown>): Promise<Response> {
  const response = await result;
  if (!(response instanceof Response)) throw new Error('accepted');
  return response;
}

test('every 401 and 403 leads to the metadata, names the scopes, and can be read by pages of other origins', async () => {
  const guard = guardOf({ scope: 'projects:read', aud: resource }, { resource, scopes: ['projects:read'] });
  const challenge = async (token?: string, more?: Requirements) => {
    const headers = { Authorization: token === undefined ? '' : `Bearer ${token}` };
    const response = await refused(guard(at('/projects', { headers }), more));
    expect(response.headers.get('Access-Control-Expose-Headers')).toBe('WWW-Authenticate');
    return response.headers.get('WWW-Authenticate');
  };
  const narrow = `${parameters}, scope="projects:read"`;
  expect(await challenge()).toBe(`Bearer realm="latchkey", ${narrow}`);
  expect(await challenge('lk_at_b')).toEndWith(
    `error_description="The access token is malformed, expired or revoked.", ${narrow}`,
  );
  expect(await challenge('lk_at_a', { maxAgeSeconds: 60 })).toEndWith(`max_age="60", ${narrow}`);
  const wider = await challenge('lk_at_a', { scopes: ['projects:write'] });
  expect(wider).toStartWith('Bearer realm="latchkey", error="insufficient_scope"');
  expect(wider).toContain(parameters);
  expect(wider?.match(/scope="[^"]*"/g)).toEqual(['scope="projects:read projects:write"']);
});

test('the guard itself serves the metadata, with the scopes of all its routes but *', async () => {
  const guard = guardOf({}, { resource, scopes: ['projects:read'] });
  guard.with({ scopes: ['projects:write'] }).with({ scopes: ['*'] });
  const response = await refused(guard(at(path)));
  expect([response.status, response.headers.get('Access-Control-Allow-Origin')]).toEqual([200, '*']);
  expect(response.headers.get('Content-Type')).toStartWith('application/json');
  expect(await response.json()).toEqual({
    resource,
    authorization_servers: ['https://login.example'],
    scopes_supported: ['projects:read', 'projects:write'],
    bearer_methods_supported: ['header'],
  });
});

test('the metadata are where the RFC says, for any resource, and nowhere else', async () => {
  for (const [resource, document] of [
    ['https://projects.example', ''],
    ['https://projects.example/', ''],
    ['https://projects.example/a/', '/a/'],
    ['https://projects.example/a?b=c', '/a?b=c'],
  ] as const) {
    const guard = guardOf({}, { resource });
    const path = `/.well-known/oauth-protected-resource${document}`;
    expect((await refused(guard(at('/')))).headers.get('WWW-Authenticate')).toBe(
      `Bearer realm="latchkey", resource_metadata="https://projects.example${path}"`,
    );
    const serve = protectedResource(guard);
    const found = await serve(at(path));
    expect([found.status, (await found.json()).resource]).toEqual([200, resource]);
    for (const other of ['/', `${path.split('?')[0]}x`, '/.well-known/oauth-protected-resource/b']) {
      const missing = await serve(at(other));
      expect([missing.status, (await missing.json()).error]).toEqual([404, 'not_found']);
      expect((await refused(guard(at(other)))).status).toBe(401);
    }
  }
  const guard = guardOf();
  expect((await protectedResource(guard)(at(path))).status).toBe(404);
  expect((await refused(guard(at(path)))).status).toBe(401);
});

test('the preflight of the metadata allows the headers that it names; other methods are 405', async () => {
  const serve = protectedResource(guardOf({}, { resource }));
  const headers = {
    Origin: 'https://page.example',
    'Access-Control-Request-Headers': 'mcp-protocol-version',
  };
  const preflight = await serve(at(path, { method: 'OPTIONS', headers }));
  expect(preflight.status).toBe(204);
  expect(Object.fromEntries(preflight.headers)).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, HEAD',
    'access-control-allow-headers': 'mcp-protocol-version',
  });
  expect((await serve(at(path, { method: 'HEAD' }))).status).toBe(200);
  const posted = await serve(at(path, { method: 'POST' }));
  expect([posted.status, posted.headers.get('Allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  expect(posted.headers.get('Access-Control-Allow-Origin')).toBe('*');
});

const bearer = { Authorization: 'Bearer lk_at_a' };

test('a preflight is no request for a token, and is allowed nothing', async () => {
  for (const options of [{}, { resource }]) {
    const asks = { Origin: 'https://page.example', 'Access-Control-Request-Method': 'POST' };
    const preflight = await refused(guardOf({}, options)(at('/', { method: 'OPTIONS', headers: asks })));
    expect([preflight.status, Object.fromEntries(preflight.headers)]).toEqual([204, {}]);
    for (const [method, headers] of [
      ['OPTIONS', {}],
      ['POST', asks],
    ] as const)
      expect((await refused(guardOf({}, options)(at('/', { method, headers })))).status).toBe(401);
  }
});

test('only tokens that are bound to the resource are accepted, unless the program says otherwise', async () => {
  const answerTo = async (members: Partial<ActiveToken>, acceptUnbound?: boolean) => {
    const options = acceptUnbound === undefined ? { resource } : { resource, acceptUnbound };
    const result = await guardOf(members, options)(at('/', { headers: bearer }));
    return result instanceof Response ? [result.status, (await result.json()).error] : 'accepted';
  };
  const refusal = [401, 'invalid_token'];
  for (const scope of ['projects:read', '*']) {
    expect(await answerTo({ scope })).toEqual(refusal);
    expect(await answerTo({ scope, aud: resource })).toBe('accepted');
    expect(await answerTo({ scope }, true)).toBe('accepted');
    expect(await answerTo({ scope, aud: 'https://other.example' }, true)).toEqual(refusal);
  }
});

test('a token for another resource is refused; the final slash of one without a path makes no other', async () => {
  const statusOf = async (resource: string, aud: string) => {
    const result = await guardOf({ aud }, { resource })(at('/', { headers: bearer }));
    return result instanceof Response ? result.status : 'accepted';
  };
  expect(await statusOf('https://projects.example', 'https://projects.example/')).toBe('accepted');
  expect(await statusOf('https://projects.example/', 'https://projects.example')).toBe('accepted');
  expect(await statusOf(resource, resource)).toBe('accepted');
  expect(await statusOf(resource, `${resource}/`)).toBe(401);
  expect(await statusOf(resource, 'https://projects.example')).toBe(401);
});

test('while the issuer is not known, the metadata are 503', async () => {
  const failing = () => Promise.reject(new LatchkeyError('unreachable', 'of the service', {}));
  const verifier = { verify: failing, issuer: failing };
  const response = await protectedResource(createGuard({ verifier, resource }))(at(path));
  expect([response.status, response.headers.get('Retry-After')]).toEqual([503, '5']);
  expect(response.headers.get('Access-Control-Allow-Origin')).toBe('*');
});

test('a resource that is no URL, or would break the challenge, is refused at once', () => {
  for (const resource of [
    '',
    'projects',
    'urn:projects',
    'https://',
    'https://a.example/#b',
    'https://a/"',
    'https://a/?\\',
  ])
    expect(() => guardOf({}, { resource })).toThrow('resource must be');
});
