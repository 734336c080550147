import { afterAll, expect, test } from 'bun:test';
import { endpoints } from '@latchkey/contract/endpoints';
import { openApp } from '../../../tests/support/app.ts';
import { apiOf, codeOf, fetchOf } from '../../../tests/support/client.ts';
import { type Api, createApi, serverOrigin } from './api.ts';
import { credentialStore } from './credentials.ts';
import type { LatchkeyError } from './errors.ts';
import { memoryStorage } from './memory-storage.ts';
import { operations } from './operations.ts';
import { openSession } from './session.ts';
import { maxAnswerBytes } from './transport.ts';
import { createVerifier } from './verify.ts';

/** A real server that answers as no Latchkey does. */
const strange = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 60,
  fetch: (request) => {
    const { pathname } = new URL(request.url);
    switch (pathname) {
      case '/never':
        return new Promise<Response>(() => {});
      case '/headers-only':
        return new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));
      case '/for-ever':
        return new Response(
          new ReadableStream({
            pull: async (controller) => {
              await Bun.sleep(1);
              controller.enqueue(new Uint8Array(16));
            },
          }),
        );
      case '/too-long':
        return new Response(new Uint8Array(maxAnswerBytes + 1));
      case '/redirect':
        return Response.redirect('/never');
      default:
        return new Response('hello');
    }
  },
});
afterAll(() => strange.stop(true));

const strangeApi = (timeoutMilliseconds = 200) =>
  createApi({ server: strange.url.origin, timeoutMilliseconds });

const failing = (api: Api, path: string, signal: AbortSignal | null = null) =>
  api.send(path, { signal }).catch((error: LatchkeyError) => error) as Promise<LatchkeyError>;

test('a server that never answers, stops after its headers or streams for ever costs the time limit', async () => {
  for (const path of ['/never', '/headers-only', '/for-ever']) {
    const started = performance.now();
    const error = await failing(strangeApi(), path);
    expect([path, error.code, error.retryable]).toEqual([path, 'timeout', true]);
    expect(performance.now() - started).toBeLessThan(5000);
  }
});

test('an injected fetch that does not listen to the signal cannot hold anybody', async () => {
  const deaf = createApi({
    server: 'https://login.example',
    fetch: () => new Promise(() => {}),
    timeoutMilliseconds: 20,
  });
  expect(await codeOf(deaf.call('getProfile'))).toBe('timeout');
  const controller = new AbortController();
  const asked = codeOf(deaf.call('getProfile', { signal: controller.signal, timeoutMilliseconds: 60_000 }));
  controller.abort();
  expect(await asked).toBe('aborted');
});

test('an abort ends a request before it, before its headers and in its body', async () => {
  let asked = 0;
  const counting = createApi({
    server: strange.url.origin,
    fetch: (url, init) => {
      asked++;
      return fetch(url, init);
    },
  });
  expect((await failing(counting, '/never', AbortSignal.abort())).code).toBe('aborted');
  expect(asked).toBe(0);
  for (const path of ['/never', '/headers-only', '/for-ever'])
    expect((await failing(counting, path, AbortSignal.timeout(50))).code).toBe('aborted');
});

test('an answer too long for the service is not read to its end', async () => {
  const error = await failing(strangeApi(5000), '/too-long');
  expect([error.code, error.message]).toEqual(['not_latchkey', expect.stringContaining('too long')]);
});

test('a redirect is not followed, and said so', async () => {
  const error = await failing(strangeApi(), '/redirect');
  expect([error.code, error.status, error.retryable]).toEqual(['not_latchkey', 302, false]);
  expect(error.message).toContain('redirects to');
});

test('what is no Latchkey server, and no server, is told apart', async () => {
  expect((await failing(strangeApi(), '/')).code).toBe('not_latchkey');
  const nobody = createApi({ server: 'http://127.0.0.1:1' });
  const error = await failing(nobody, '/');
  expect([error.code, error.retryable]).toEqual(['unreachable', true]);
  expect(error.cause).toBeInstanceOf(Error);
});

test('a code that means something on this side only is none of a service', async () => {
  const claiming = (error: string) =>
    createApi({
      server: 'https://login.example',
      fetch: async () => Response.json({ error, error_description: '.', request_id: 'r' }, { status: 400 }),
    });
  for (const code of ['aborted', 'login_over', 'passkey_failed'])
    expect(await codeOf(claiming(code).call('logout'))).toBe('not_latchkey');
  expect(await codeOf(claiming('invalid_grant').call('logout'))).toBe('invalid_grant');
});

test("the service's refusals come as their code, with what they carry", async () => {
  const service = await openApp('sqlite');
  const api = apiOf(service);
  const refused = (await api.call('getProfile').catch((error) => error)) as LatchkeyError;
  expect([refused.code, refused.status]).toEqual(['invalid_token', 401]);
  expect(refused.requestId).toMatch(/^[\w.-]+$/);
  expect(await codeOf(api.call('requestMagicLink', { body: { email: 'x' } }))).toBe('invalid_request');
  service.lifecycle.draining = true;
  const draining = (await api.call('getProfile').catch((error) => error)) as LatchkeyError;
  expect([draining.code, draining.retryable]).toEqual(['temporarily_unavailable', true]);
  expect(draining.retryAfterSeconds).toBeGreaterThan(0);
  await service.close();
});

test('a changed profile is guarded by the ETag that came with it', async () => {
  const service = await openApp('sqlite');
  const api = apiOf(service);
  const { access_token: accessToken } = await service.login();
  const { headers } = await api.callWithHeaders('getProfile', { accessToken });
  const guarded = { accessToken, headers: { 'If-Match': headers.get('ETag')! } };
  const changed = await api.call('updateProfile', { ...guarded, body: { name: 'Ada L' } });
  expect(changed.name).toBe('Ada L');
  expect(await codeOf(api.call('updateProfile', { ...guarded, body: { name: 'Other' } }))).toBe(
    'precondition_failed',
  );
  expect(await codeOf(api.call('revokeSession', { accessToken, params: { id: '../me?x=1' } }))).toBe(
    'not_found',
  );
  await service.close();
});

test('calls for a user are refused with the credential of another, from the moment the user is known', async () => {
  const service = await openApp('sqlite');
  const { access_token: accessToken } = await service.login('ada@example.com');
  const { access_token: theirs } = await service.login('bob@example.com');
  let userId: string | undefined;
  const api = createApi({
    server: service.ctx.config.baseUrl,
    fetch: fetchOf(service),
    userId: () => userId,
  });
  userId = (await api.call('getProfile', { accessToken })).id;
  expect(await codeOf(api.call('deleteAccount', { accessToken: theirs }))).toBe('precondition_failed');
  expect(await codeOf(api.call('getProfile', { accessToken: theirs }))).toBe('precondition_failed');
  expect((await api.call('updateProfile', { accessToken, body: { name: 'Ada L' } })).id).toBe(userId);
  await service.close();
});

test('every operation of the contract is here, with its method and path', () => {
  const known = Object.values(endpoints).map(({ id, method, path }) => [id, { method, path }]);
  expect(operations).toEqual(Object.fromEntries(known));
});

test('nothing is sent by plain http to another machine, unless the caller allows it', async () => {
  const sent: string[] = [];
  const fetch = async (url: string) => {
    sent.push(new URL(url).origin);
    return new Response(null, { status: 204, headers: { 'X-Request-Id': 'r' } });
  };
  const exposed = [
    'http://login.example',
    'http://192.0.2.1:8787',
    'http://[2001:db8::1]',
    'http://127.evil.example',
  ];
  for (const server of exposed) {
    expect(() => createApi({ server, fetch })).toThrow('https://');
    expect(() => createVerifier({ server, serviceKey: 'svc_a:secret', fetch })).toThrow('https://');
  }
  expect(sent).toEqual([]);
  const encrypted = [
    'https://login.example',
    'http://localhost:8787',
    'http://app.localhost',
    'http://127.0.0.9',
    'http://[::1]:1',
  ];
  for (const server of encrypted)
    await createApi({ server, fetch }).call('logout', { accessToken: 'lk_at_a' });
  for (const server of exposed)
    await createApi({ server, fetch, insecureHttp: true }).call('logout', { accessToken: 'lk_at_a' });
  expect(sent).toEqual([...encrypted, ...exposed]);
});

test('a session sends no token by plain http to a further origin on another machine, unless that is allowed', () => {
  const store = credentialStore(memoryStorage(), 'https://login.example');
  const open = (insecureHttp: boolean) =>
    openSession({
      api: createApi({ server: 'https://login.example', insecureHttp }),
      store,
      origins: ['http://files.example'],
    });
  expect(() => open(false)).toThrow('http://files.example');
  expect(open(true).server).toBe('https://login.example');
});

test('an error that only a proxy gives for a server out of reach may be tried again; any other is no Latchkey', async () => {
  const outcome = async (status: number, body: string, type = 'text/html') => {
    const fetch = async () => new Response(body, { status, headers: { 'Content-Type': type } });
    const error = await failing(createApi({ server: 'https://login.example', fetch }), '/');
    return [status, error.code, error.retryable];
  };
  const html = '<!doctype html><title>Error</title>';
  for (const status of [502, 503, 504, 522])
    expect(await outcome(status, html)).toEqual([status, 'temporarily_unavailable', true]);
  for (const status of [400, 403, 404, 405, 500, 501, 505])
    expect(await outcome(status, html)).toEqual([status, 'not_latchkey', false]);
  expect(await outcome(500, '{"message":"Internal server error"}', 'application/json')).toEqual([
    500,
    'not_latchkey',
    false,
  ]);
});

test('a server is named by its origin', () => {
  expect(serverOrigin('HTTPS://Login.Example:443/')).toBe('https://login.example');
  for (const address of ['login.example', 'ftp://x', 'https://a:b@x', 'https://x/path', 'https://x/?a', ''])
    expect(() => serverOrigin(address)).toThrow('https://login.example');
});
