// The program's side, against a service of which only the answers are real. `tests/cli/browser-login.test.ts` has the rest.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { codeOf } from '#support/client.ts';
import { refuses, responds } from '#support/responses.ts';
import { runtimes, startWorker } from '#support/worker.ts';
import { createApi } from './api.ts';
import { type BrowserLogin, type BrowserLoginOptions, startBrowserLogin } from './browser-login.ts';

const issuer = 'https://login.example';
const tokens = {
  access_token: 'lk_at_1',
  token_type: 'Bearer',
  expires_in: 14_400,
  refresh_token: 'lk_rt_1',
};
const metadataOf = (origin: string) => ({
  issuer: origin,
  authorization_endpoint: `${origin}/authorize`,
  token_endpoint: `${origin}/api/v1/auth/token`,
});

interface Sent {
  readonly path: string;
  readonly form: URLSearchParams;
  readonly key: string | null;
}

let sent: Sent[];
/** The answers to the next requests of tokens; afterwards, tokens. */
let answers: (() => Response | Promise<Response>)[];
let metadata: Record<string, unknown>;
const logins: BrowserLogin[] = [];

beforeEach(() => {
  sent = [];
  answers = [];
  metadata = metadataOf(issuer);
});
afterEach(async () => {
  for (const login of logins.splice(0)) await login.cancel(1).catch(() => {});
});

const respond = async (url: string, init: { headers?: HeadersInit; body?: unknown }): Promise<Response> => {
  const { pathname } = new URL(url);
  if (pathname.startsWith('/.well-known/')) return responds(metadata);
  const key = new Headers(init.headers).get('Idempotency-Key');
  sent.push({ path: pathname, form: new URLSearchParams(String(init.body)), key });
  if (pathname.endsWith('/revoke')) return new Response(null, { headers: { 'X-Request-Id': 'r' } });
  return (await answers.shift()?.()) ?? responds(tokens);
};

const start = async (options: BrowserLoginOptions = {}): Promise<BrowserLogin> => {
  const api = createApi({ server: issuer, fetch: (url, init) => respond(url, init) });
  const login = await startBrowserLogin(api, options);
  logins.push(login);
  return login;
};

const asked = ({ authorizationUrl }: { authorizationUrl: string }) =>
  Object.fromEntries(new URL(authorizationUrl).searchParams);

/** Comes back as a browser does. */
const comeBack = (login: BrowserLogin, changed: Record<string, string> = {}, init: RequestInit = {}) => {
  const { redirect_uri = '', state = '' } = asked(login);
  const body = new URLSearchParams({ code: 'lk_ac_1', state, iss: issuer, ...changed });
  return fetch(redirect_uri, { method: 'POST', body, ...init });
};

/** The answer with an error, which has no code. */
const refusal = (login: BrowserLogin, error: string) =>
  new URLSearchParams({ error, state: asked(login)['state'] ?? '', iss: issuer });

/** Sends exactly this, and returns the status line. */
const sendRaw = (login: BrowserLogin, text: (path: string, host: string, body: string) => string) =>
  new Promise<string>((resolve) => {
    const { redirect_uri = '', state = '' } = asked(login);
    const { port, host, pathname } = new URL(redirect_uri);
    const body = new URLSearchParams({ code: 'lk_ac_1', state, iss: issuer }).toString();
    let received = '';
    const socket = connect(Number(port), '127.0.0.1', () => socket.end(text(pathname, host, body)));
    socket.on('data', (chunk) => {
      received += chunk;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(received.split('\r\n')[0] ?? ''));
  });

const named = (host: string) => host.replace('127.0.0.1', 'localhost');

const post = (path: string, hosts: readonly string[], body: string) =>
  [
    `POST ${path} HTTP/1.1`,
    ...hosts.map((host) => `Host: ${host}`),
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${body.length}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');

test('the address to open asks for a code that only this program can redeem', async () => {
  const login = await start({ deviceName: 'den', scope: 'profile', resource: 'https://tickets.example' });
  expect(login.authorizationUrl).toStartWith(`${issuer}/authorize?`);
  expect(login.expiresInSeconds).toBe(300);
  const { redirect_uri = '', state, code_challenge, ...rest } = asked(login);
  expect(rest).toEqual({
    response_type: 'code',
    response_mode: 'form_post',
    client_id: 'latchkey-cli',
    code_challenge_method: 'S256',
    device_name: 'den',
    scope: 'profile',
    resource: 'https://tickets.example',
  });
  expect(redirect_uri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{22}$/);
  expect([state, code_challenge].map((text) => text?.length)).toEqual([43, 43]);
  const waiting = login.tokens();
  expect((await comeBack(login)).status).toBe(200);
  expect(await waiting).toEqual(tokens as typeof tokens & { token_type: 'Bearer' });
  const [{ form, key, path } = { form: new URLSearchParams(), key: null, path: '' }] = sent;
  const { code_verifier = '', ...redeemed } = Object.fromEntries(form);
  expect(path).toBe('/api/v1/auth/token');
  expect(redeemed).toEqual({
    grant_type: 'authorization_code',
    client_id: 'latchkey-cli',
    code: 'lk_ac_1',
    redirect_uri,
  });
  expect(createHash('sha256').update(code_verifier).digest('base64url')).toBe(code_challenge!);
  expect(key).toMatch(/^[\x21-\x7e]{1,128}$/);
  const another = asked(await start());
  expect(another['state']).not.toBe(state!);
  expect(new URL(another['redirect_uri']!).pathname).not.toBe(new URL(redirect_uri).pathname);
});

type Sending = (login: BrowserLogin) => Promise<Response | string>;

/** A body that says no more than this. */
const saying = (...pairs: [string, string][]) => ({ body: new URLSearchParams(pairs) });

test.each<[what: string, send: Sending]>([
  ['another state', (login) => comeBack(login, { state: 'another' })],
  ['another issuer', (login) => comeBack(login, { iss: 'https://attacker.example' })],
  ['a code and an error', (login) => comeBack(login, { error: 'access_denied' })],
  [
    'a repeated parameter',
    (login) => {
      const { state = '' } = asked(login);
      return comeBack(login, {}, saying(['code', 'a'], ['code', 'b'], ['state', state], ['iss', issuer]));
    },
  ],
  ['no parameters', (login) => comeBack(login, {}, saying())],
  ['a code in the address', (login) => fetch(`${asked(login)['redirect_uri']}?code=lk_ac_1&iss=${issuer}`)],
  ['another method', (login) => comeBack(login, {}, { method: 'PUT' })],
  ['another type', (login) => comeBack(login, {}, { headers: { 'Content-Type': 'text/plain' } })],
  ['a body that is too long', (login) => comeBack(login, { code: 'a'.repeat(20_000) })],
  ['another path', (login) => sendRaw(login, (_, host, body) => post('/', [host], body))],
  ['another host', (login) => sendRaw(login, (path, host, body) => post(path, [named(host)], body))],
  ['the host of an attacker', (login) => sendRaw(login, (path, _, body) => post(path, ['a.example'], body))],
  ['two hosts', (login) => sendRaw(login, (path, host, body) => post(path, [host, host], body))],
  ['no host', (login) => sendRaw(login, (path, _, body) => post(path, [], body))],
])('what is not the expected answer is refused, and the login waits on: %s', async (what, send) => {
  const login = await start();
  let isSettled = false;
  const waiting = login.tokens().finally(() => {
    isSettled = true;
  });
  const answer = await send(login);
  expect(typeof answer === 'string' ? answer : String(answer.status)).toMatch(/\b4(00|04|05|13|15)\b/);
  if (what === 'another method') expect((answer as Response).headers.get('Allow')).toBe('POST');
  expect([isSettled, sent]).toEqual([false, []]);
  expect((await comeBack(login)).status).toBe(200);
  expect((await waiting).access_token).toBe('lk_at_1');
});

test('only the first of two answers counts, and nothing listens afterwards', async () => {
  const login = await start();
  const waiting = login.tokens();
  const statuses = await Promise.all(
    ['lk_ac_1', 'lk_ac_2', 'lk_ac_3'].map((code) =>
      comeBack(login, { code }).then(
        ({ status }) => status,
        () => 'refused',
      ),
    ),
  );
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  await waiting;
  expect(sent).toHaveLength(1);
  expect(await comeBack(login).catch(() => 'refused')).toBe('refused');
});

describe('the page on which it ends', () => {
  const pageIn = async (language: string) => {
    const login = await start();
    const waiting = login.tokens();
    const response = await comeBack(login, {}, { headers: { 'Accept-Language': language } });
    const text = await response.text();
    await waiting;
    return { response, text };
  };

  test('says that the tab can be closed, and may run and load nothing', async () => {
    const { response, text } = await pageIn('en-GB, de;q=0.5');
    expect(text).toContain("You're signed in");
    expect(text).toContain('You can close this tab');
    expect(text).not.toContain('lk_ac_1');
    const [, style = ''] = /<style>(.*)<\/style>/.exec(text) ?? [];
    const digest = createHash('sha256').update(style).digest('base64');
    expect(response.headers.get('Content-Security-Policy')).toBe(
      `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    expect(response.headers.get('Cache-Control')).toBe('no-store');
    expect(response.headers.get('Referrer-Policy')).toBe('no-referrer');
  });

  test.each([
    ['de-CH', 'Sie können diesen Tab schließen'],
    ['nl, fr;q=0.4, en;q=0.2', 'Vous pouvez fermer cet onglet'],
    ['es', 'Puedes cerrar esta pestaña'],
    ['pt-BR', 'Você pode fechar esta aba'],
    ['ja', 'このタブは閉じてかまいません'],
    ['nl', 'You can close this tab'],
    ['constructor, *;q=x', 'You can close this tab'],
  ])('is in the language of the browser: %s', async (language, expected) => {
    expect((await pageIn(language)).text).toContain(expected);
  });

  test.each([
    ['a denial', 'access_denied', 'access_denied', 'You denied the sign-in'],
    ['another error', 'server_error', 'invalid_request', 'The sign-in failed'],
    ['a refused code', undefined, 'invalid_grant', 'The sign-in failed'],
  ])('tells %s from a success, and the program gets its code', async (_, said, code, expected) => {
    answers = [() => refuses('invalid_grant')];
    const login = await start();
    const waiting = codeOf(login.tokens());
    const page = await comeBack(login, {}, said === undefined ? {} : { body: refusal(login, said) });
    expect([await page.text(), await waiting]).toEqual([expect.stringContaining(expected), code]);
  });
});

test.each([
  [24, 'lk_at_1'],
  [25, 'temporarily_unavailable'],
])(
  'lost responses to the code are requested again with the same key, but not after 50 s: twice %i s later',
  async (seconds, expected) => {
    const busy = () => refuses('temporarily_unavailable', 503, { 'Retry-After': String(seconds) });
    answers = [() => Promise.reject(new Error('lost')), busy, busy];
    let now = 0;
    // Five minutes never end; short waits end at once.
    const sleep = async (ms: number) => {
      if (ms > 60_000) await new Promise(() => {});
      now += ms;
    };
    const login = await start({ clock: { now: () => now, sleep } });
    const waiting = login.tokens().then(
      ({ access_token }) => access_token,
      (error) => error.code,
    );
    await comeBack(login);
    expect(await waiting).toBe(expected);
    expect(sent).toHaveLength(seconds === 24 ? 4 : 3);
    expect(new Set(sent.map(({ key, form }) => `${key} ${form}`)).size).toBe(1);
  },
);

test('it ends after five minutes', async () => {
  const waits: number[] = [];
  const sleep = async (ms: number) => void waits.push(ms);
  const login = await start({ clock: { now: () => 0, sleep } });
  expect(await codeOf(login.tokens())).toBe('expired_token');
  expect(waits).toEqual([300_000]);
  expect(await comeBack(login).catch(() => 'refused')).toBe('refused');
});

test('an abort ends the wait, and a session that has already started ends with `cancel`', async () => {
  const stop = new AbortController();
  const idle = await start();
  const ended = codeOf(idle.tokens({ signal: stop.signal }));
  stop.abort();
  expect(await ended).toBe('aborted');
  await idle.cancel();
  expect(await comeBack(idle).catch(() => 'refused')).toBe('refused');
  expect(sent).toEqual([]);

  const late = new AbortController();
  const { promise: held, resolve: release } = Promise.withResolvers<Response>();
  answers = [
    () => {
      late.abort();
      return held;
    },
  ];
  const login = await start();
  const waiting = codeOf(login.tokens({ signal: late.signal }));
  const page = comeBack(login);
  expect(await waiting).toBe('aborted');
  expect(await codeOf(login.cancel(20))).toBe('aborted');
  release(responds(tokens));
  await login.cancel();
  expect(sent.map(({ path, form }) => [path, form.get('token')])).toEqual([
    ['/api/v1/auth/token', null],
    ['/api/v1/auth/revoke', 'lk_rt_1'],
  ]);
  await (await page).text();
});

test('a port that is taken, and a service without the endpoint, are `browser_login_unavailable`', async () => {
  const { port } = new URL(asked(await start())['redirect_uri']!);
  const error = await start({ port: Number(port) }).catch((error) => error);
  expect([error.code, error.message]).toEqual([
    'browser_login_unavailable',
    `Port ${port} of 127.0.0.1 cannot be used: it is already in use.`,
  ]);
  metadata = { ...metadata, authorization_endpoint: undefined };
  expect(await codeOf(start())).toBe('browser_login_unavailable');
});

describe('metadata that does not agree with the address that was asked starts nothing:', () => {
  const honest = 'https://honest.example';
  const long = 'x'.repeat(5_000);
  /** Unusable metadata. */
  const none = null;
  test.each<[what: string, Record<string, unknown>, namedServer: string | undefined | typeof none]>([
    ['another issuer with its endpoints', metadataOf(honest), honest],
    ['another issuer', { issuer: honest }, honest],
    ['its own issuer with a path', { issuer: `${issuer}/tenant` }, undefined],
    ['an issuer that is no address', { issuer: `\u001b[2J${long}` }, undefined],
    ['no issuer', { issuer: undefined }, none],
    ['another page', { authorization_endpoint: `${honest}/authorize` }, honest],
    ['another port', { authorization_endpoint: `${issuer}:8443/authorize` }, `${issuer}:8443`],
    ['another scheme', { authorization_endpoint: 'http://login.example/' }, 'http://login.example'],
    ['its own host as a user name', { authorization_endpoint: `${issuer}@honest.example/` }, none],
    ['a user name', { authorization_endpoint: 'https://honest.example@login.example/' }, none],
    ['no web page', { authorization_endpoint: 'javascript:alert(1)' }, none],
    ['a file', { authorization_endpoint: 'file:///etc/passwd' }, none],
    ['a number', { authorization_endpoint: 7 }, none],
    ['a page without an end', { authorization_endpoint: `${issuer}/${long}` }, none],
    ['another token endpoint', { token_endpoint: `${honest}/token` }, honest],
    ['no token endpoint', { token_endpoint: undefined }, none],
  ])('%s', async (_, changed, namedServer) => {
    metadata = { ...metadata, ...changed };
    const error = await start().catch((error) => error);
    const code = namedServer === none ? 'not_latchkey' : 'wrong_address';
    expect([error.code, error.namedServer]).toEqual([code, namedServer ?? undefined]);
    expect(error.message.length).toBeLessThan(300);
    expect(sent).toEqual([]);
  });

  test('and an issuer with a path is named', async () => {
    metadata = { ...metadata, issuer: `${issuer}/tenant` };
    const error = await start().catch((error) => error);
    expect(error.message).toStartWith(`${issuer} says that its address is ${issuer}/tenant.`);
  });

  test('but a final slash of the issuer does not matter', async () => {
    metadata = { ...metadata, issuer: `${issuer}/` };
    const login = await start();
    const waiting = login.tokens();
    expect((await comeBack(login)).status).toBe(400);
    expect((await comeBack(login, { iss: `${issuer}/` })).status).toBe(200);
    await waiting;
  });
});

test.each(runtimes)('it runs on $name', async ({ command }) => {
  const service = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => respond(request.url, { headers: request.headers, body: await request.text() }),
  });
  metadata = metadataOf(service.url.origin);
  const worker = startWorker(command, 'browser-login-worker.ts', service.url.origin);
  const login = { authorizationUrl: await worker.hear() } as BrowserLogin;
  expect((await comeBack(login, { state: 'another' })).status).toBe(400);
  expect(await sendRaw(login, (path, host, body) => post(path, [host, host], body))).toMatch(/ 400 /);
  const page = await comeBack(login, { iss: service.url.origin });
  expect(await page.text()).toContain('You can close this tab');
  expect(await worker.hear()).toEqual(tokens);
  expect(await worker.finish()).toBe('');
  await service.stop(true);
});
