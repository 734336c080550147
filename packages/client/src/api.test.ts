import { expect, test } from 'bun:test';
import { endpoints } from '@latchkey/contract/endpoints';
import { openApp } from '#support/app.ts';
import { codeOf } from '#support/client.ts';
import { responds } from '#support/responses.ts';
import { turns } from '#support/until.ts';
import { answers } from './answers.ts';
import { type Api, createApi, serverOrigin } from './api.ts';
import type { LatchkeyError } from './errors.ts';
import { type OperationId, operations } from './operations.ts';
import { revokeToken } from './revoke-token.ts';
import { openTokenSession } from './token-session.ts';
import { maxAnswerBytes } from './transport.ts';
import { createVerifier } from './verify.ts';

const login = 'https://login.example';
/** A server that always answers like this. */
const answering = (body: unknown, status = 200) =>
  createApi({ server: login, fetch: async () => responds(body, status) });

const failing = (api: Api, signal: AbortSignal | null = null) =>
  api.send('/', { signal }).catch((error: LatchkeyError) => error) as Promise<LatchkeyError>;

const streaming = (pull: (controller: ReadableStreamDefaultController) => Promise<void>) => async () =>
  new Response(new ReadableStream({ pull }));
const never = () => new Promise<never>(() => {});

test.each<[what: string, fetch: () => Promise<Response>]>([
  ['never responds', never],
  ['stops after its headers', streaming(never)],
  ['streams forever', streaming((controller) => turns(1).then(() => controller.enqueue(new Uint8Array(16))))],
])(
  'a server that %s ends in a timeout or by an abort, even if fetch ignores its signal',
  async (_, fetch) => {
    const { code, retryable } = await failing(createApi({ server: login, fetch, timeoutMs: 20 }));
    expect([code, retryable]).toEqual(['timeout', true]);
    const controller = new AbortController();
    const call = failing(createApi({ server: login, fetch }), controller.signal);
    controller.abort();
    expect((await call).code).toBe('aborted');
  },
);

test('nothing is sent after an abort', async () => {
  const fetch = () => expect.unreachable();
  expect((await failing(createApi({ server: login, fetch }), AbortSignal.abort())).code).toBe('aborted');
});

test.each<[what: string, answer: Response, expected: Partial<LatchkeyError>]>([
  ['another server', new Response('hello'), {}],
  [
    'an endless response',
    new Response(new Uint8Array(maxAnswerBytes + 1)),
    { message: expect.stringContaining('too long') },
  ],
  [
    'a redirect',
    Response.redirect('/never'),
    { status: 302, retryable: false, message: expect.stringContaining('redirects to') },
  ],
])('%s is not_latchkey, and the message says why', async (_, answer, expected) => {
  const api = createApi({ server: login, fetch: async () => answer });
  expect(await failing(api)).toMatchObject({ code: 'not_latchkey', ...expected });
});

test('a refused connection is unreachable, can be retried, and keeps its cause', async () => {
  expect(await failing(createApi({ server: 'http://127.0.0.1:1' }))).toMatchObject({
    code: 'unreachable',
    retryable: true,
    message: 'http://127.0.0.1:1 refused the connection.',
    cause: expect.any(Error),
  });
});

test('a message and a request id of any length are cut', async () => {
  const long = 'x'.repeat(1_000_000);
  const body = { error: 'invalid_request', error_description: long, request_id: long };
  const { code, message, requestId } = await failing(answering(body, 400));
  expect([code, message.length, requestId?.length]).toEqual(['invalid_request', 2_000, 128]);
});

test('a form is sent as text, which every fetch understands, with its content type', async () => {
  const sent: RequestInit[] = [];
  const fetch = async (_: string, init: RequestInit) => {
    sent.push(init);
    return new Response(null, { headers: { 'X-Request-Id': 'r' } });
  };
  await revokeToken(createApi({ server: 'https://auth.example', fetch }), 'a+b');
  expect(sent.map(({ body, headers }) => [body, new Headers(headers).get('Content-Type')])).toEqual([
    ['token=a%2Bb', 'application/x-www-form-urlencoded'],
  ]);
});

test('a service cannot send error codes that are reserved for the client', async () => {
  const sending = (error: string) =>
    failing(answering({ error, error_description: '.', request_id: 'r' }, 400));
  for (const code of ['aborted', 'login_over', 'passkey_failed', 'no\ncode', 'x'.repeat(65)])
    expect((await sending(code)).code).toBe('not_latchkey');
  expect((await sending('invalid_grant')).code).toBe('invalid_grant');
});

test("the service's errors keep their code, status, request ID and Retry-After, and no parameter leaves its path", async () => {
  const service = await openApp('sqlite');
  const api = service.api;
  const refused = (await api.call('getProfile').catch((error) => error)) as LatchkeyError;
  expect([refused.code, refused.status]).toEqual(['invalid_token', 401]);
  expect(refused.requestId).toMatch(/^[\w.-]+$/);
  expect(await codeOf(api.call('requestMagicLink', { body: { email: 'x' } }))).toBe('invalid_request');
  const { access_token: accessToken } = await service.login();
  const elsewhere = api.call('revokeSession', { accessToken, params: { id: '../me?x=1' } });
  expect(await codeOf(elsewhere)).toBe('not_found');
  service.lifecycle.draining = true;
  const draining = (await api.call('getProfile').catch((error) => error)) as LatchkeyError;
  expect([draining.code, draining.retryable]).toEqual(['temporarily_unavailable', true]);
  expect(draining.retryAfterSeconds).toBeGreaterThan(0);
});

test("once the user is known, calls with another user's credential are refused", async () => {
  const service = await openApp('sqlite');
  const { access_token: accessToken } = await service.login('ada@example.com');
  const { access_token: theirs } = await service.login('bob@example.com');
  let userId: string | undefined;
  const api = createApi({
    server: service.ctx.config.baseUrl,
    fetch: service.fetch,
    userId: () => userId,
  });
  userId = (await api.call('getProfile', { accessToken })).id;
  expect(await codeOf(api.call('deleteAccount', { accessToken: theirs }))).toBe('precondition_failed');
  expect(await codeOf(api.call('getProfile', { accessToken: theirs }))).toBe('precondition_failed');
  expect((await api.call('updateProfile', { accessToken, body: { name: 'Ada L' } })).id).toBe(userId);
});

test('an answer with a missing or mistyped member is not_latchkey, and so are tokens too long to store or send', async () => {
  for (const id of Object.keys(answers) as OperationId[])
    for (const body of [{}, [], null, 'x', { sessions: [7], next_cursor: null }, { next_cursor: null }])
      expect([id, body, await codeOf(answering(body).call(id))]).toEqual([id, body, 'not_latchkey']);
  const profile = { id: 'usr_a', email: null, created_at: '2026-01-15T12:00:00.000Z' };
  const tokens = { access_token: 'a', refresh_token: 'r', token_type: 'Bearer', expires_in: 60 };
  expect(await answering(profile).call('getProfile')).toEqual(profile as never);
  expect(await answering(tokens).call('refresh')).toEqual(tokens as never);
  const refused = [
    [profile, { id: 7 }, 'getProfile'],
    [profile, { name: {} }, 'getProfile'],
    ...[
      { access_token: 'a'.repeat(1_025) },
      { refresh_token: 'r'.repeat(1_025) },
      { access_token: 'a\nb' },
      { refresh_token: 'r s' },
      { access_token: '' },
      { expires_in: 1e300 },
      { expires_in: -1 },
      { expires_in: '60' },
    ].map((changed) => [tokens, changed, 'refresh'] as const),
  ] as const;
  for (const [whole, changed, id] of refused)
    expect([changed, await codeOf(answering({ ...whole, ...changed }).call(id))]).toEqual([
      changed,
      'not_latchkey',
    ]);
});

test('the operations match the contract in method and path', () => {
  const known = Object.values(endpoints).map(({ id, method, path }) => [id, { method, path }]);
  expect(operations).toEqual(Object.fromEntries(known));
});

test('nothing is sent over plain http to another machine, also not to an additional origin of a session, unless the caller allows it', async () => {
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
    login,
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
  const sessionWith = (api: Api) => openTokenSession({ api, token: 'lk_at_a', origins: exposed });
  expect(() => sessionWith(createApi({ server: login }))).toThrow(exposed[0]!);
  expect(sessionWith(createApi({ server: login, insecureHttp: true })).server).toBe(login);
});

test('a gateway error of a proxy can be retried; any other error without an error body is not_latchkey', async () => {
  const outcome = async (
    status: number,
    body = '<!doctype html><title>Error</title>',
    type = 'text/html',
  ) => {
    const fetch = async () => new Response(body, { status, headers: { 'Content-Type': type } });
    const { code, retryable } = await failing(createApi({ server: login, fetch }));
    return `${code} ${retryable}`;
  };
  for (const status of [502, 503, 504, 522])
    expect(await outcome(status)).toBe('temporarily_unavailable true');
  for (const status of [400, 403, 404, 405, 500, 501, 505])
    expect(await outcome(status)).toBe('not_latchkey false');
  expect(await outcome(500, '{"message":"Internal server error"}', 'application/json')).toBe(
    'not_latchkey false',
  );
});

test('a server address is reduced to its origin, and must have nothing else', () => {
  expect(serverOrigin('HTTPS://Login.Example:443/')).toBe(login);
  for (const address of ['login.example', 'ftp://x', 'https://a:b@x', 'https://x/path', 'https://x/?a', ''])
    expect(() => serverOrigin(address)).toThrow(login);
});
