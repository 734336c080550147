// GET and POST /authorize, as a browser gets them before anybody has signed in.

import { expect, test } from 'bun:test';
import type { SignOutPage } from '@latchkey/contract/openid';
import type { AuthorizationPage } from '@latchkey/contract/page-data';
import { type Answer, openApp, type TestApp } from '#support/app.ts';
import { pageDataIn } from '#support/ask.ts';
import { commandLineRequest, redirectUri, requestOf } from '#support/authorize.ts';
import { authorizePath, startProgram } from '#support/program.ts';
import { declareService } from '#support/services.ts';
import { fresh } from '#support/shared.ts';

const t = fresh(() => openApp('sqlite'));

const open = (t: TestApp, request: Record<string, string>): Promise<Answer> =>
  t.ask('GET', authorizePath(request).slice(1));

const saidBy = pageDataIn<AuthorizationPage>;
const formActionOf = ({ headers }: Answer) =>
  /form-action ([^;]*)/.exec(headers.get('Content-Security-Policy') ?? '')?.[1];

const withService = async (t: TestApp, redirectUris = [redirectUri]) =>
  (await declareService(t.ctx, { redirectUris })).id;

test('an unknown client or redirect URI is reported on the page and never redirected', async () => {
  const id = await withService(t);
  // The other ones are tested in authorize.test.ts.
  for (const request of [
    {},
    requestOf('svc_unknown'),
    requestOf(id, { redirect_uri: `${redirectUri}/..` }),
    commandLineRequest({ response_mode: 'query' }),
  ] as Record<string, string>[]) {
    const answer = await open(t, request);
    expect([request, answer.status, answer.headers.get('Location')]).toEqual([request, 400, null]);
    expect(saidBy(answer)).toEqual({
      outcome: 'unknown',
      message: expect.stringMatching(/^(client_id|redirect_uri|response_mode): /),
    });
    expect(formActionOf(answer)).toBe("'self'");
  }
  const twice = await t.ask('GET', `${authorizePath(requestOf(id)).slice(1)}&redirect_uri=${redirectUri}`);
  expect([twice.status, saidBy(twice).outcome]).toEqual([400, 'unknown']);
});

test('any other error takes a service back at once, and reaches the command line in a form', async () => {
  const id = await withService(t);
  for (const [changed, error] of [
    [{ scope: 'nobody:declared' }, 'invalid_scope'],
    [{ prompt: 'none' }, 'interaction_required'],
  ] as const) {
    const answer = await open(t, requestOf(id, changed));
    expect(answer.status).toBe(303);
    const location = new URL(answer.headers.get('Location') ?? '');
    expect(location.origin + location.pathname).toBe(redirectUri);
    expect(Object.fromEntries(location.searchParams)).toEqual({
      error,
      error_description: expect.any(String),
      state: 'a state',
      iss: t.ctx.config.baseUrl,
    });
    const posted = await open(t, commandLineRequest({ scope: undefined, ...changed }));
    expect([posted.status, saidBy(posted)]).toMatchObject([
      200,
      {
        outcome: 'refused',
        response: { form_post: { action: 'http://127.0.0.1:41234/path', fields: { error } } },
      },
    ]);
  }
});

test('a browser gets a page, and a program the error object, when the service cannot look at the request, or at one to sign out', async () => {
  const program = startProgram();
  const t = await openApp('sqlite', {
    settings: { LATCHKEY_CLIENT_HOSTS: program.host, LATCHKEY_RATE_LIMITS: 'on' },
  });
  const html = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
  const fetches = 30;
  for (let n = 0; n < fetches; n++) await open(t, requestOf(`http://${program.host}/none/${n}`));
  const path = authorizePath(requestOf(program.clientId, { redirect_uri: program.redirectUri })).slice(1);
  const limited = await t.ask('GET', path, { headers: html });
  expect([limited.status, limited.headers.get('Content-Type')]).toEqual([429, 'text/html; charset=utf-8']);
  const retryAfterSeconds = Number(limited.headers.get('Retry-After'));
  expect(retryAfterSeconds).toBeGreaterThan(0);
  const problem = { code: 'rate_limited', retryAfterSeconds } as const;
  expect(saidBy(limited)).toEqual({ outcome: 'failed', problem });
  expect(formActionOf(limited)).toBe("'self'");
  expect((await t.ask('GET', path)).body.error).toBe('rate_limited');

  await t.ctx.db.single.run('ALTER TABLE service_keys RENAME TO out_of_reach', []);
  const registered = authorizePath(requestOf('svc_8A4kLhJtvSfHu7ZNT1sFZg')).slice(1);
  const broken = await t.ask('GET', registered, { headers: html });
  const failed = { outcome: 'failed', problem: { code: 'server_error' } } as const;
  expect([broken.status, saidBy(broken)]).toEqual([500, failed]);
  expect((await t.ask('GET', registered)).body.error).toBe('server_error');
  const signOut = 'sign-out?client_id=svc_8A4kLhJtvSfHu7ZNT1sFZg&post_logout_redirect_uri=https://a.example/';
  const brokenToo = await t.ask('GET', signOut, { headers: html });
  expect([brokenToo.status, pageDataIn<SignOutPage>(brokenToo)]).toEqual([500, failed]);
  await program.stop();
});

test('only the page that posts the form may post one to the redirect URI, and only to its origin', async () => {
  const hostile = 'https://a;script-src,b.example/callback';
  const id = await withService(t, [redirectUri, hostile, 'http://[::1]/callback']);
  const formAction = async (request: Record<string, string>) => formActionOf(await open(t, request));
  expect(await formAction(commandLineRequest())).toBe("'self' http://127.0.0.1:41234");
  expect(await formAction(requestOf(id, { response_mode: 'form_post' }))).toBe("'self' https://app.example");
  const onLoopback = requestOf(id, {
    response_mode: 'form_post',
    redirect_uri: 'http://[::1]:8080/callback',
  });
  expect(await formAction(onLoopback)).toBe("'self' http://[::1]:8080 http://*:8080");
  expect(await formAction(requestOf(id))).toBe("'self'");
  const toHostile = requestOf(id, { response_mode: 'form_post', redirect_uri: hostile });
  expect(await formAction(toHostile)).toBe("'self'");
  for (const path of ['login', 'account', 'device', 'magic-link', 'verify-email', 'not-me', 'nowhere'])
    expect(formActionOf(await t.ask('GET', path, { headers: { Accept: 'text/html' } }))).toBe("'self'");
});

test('POST leads to the same page by GET', async () => {
  const form = commandLineRequest({ state: 'ä&=+ <' });
  const answer = await t.ask('POST', 'authorize', { form });
  expect(answer.status).toBe(303);
  const location = answer.headers.get('Location') ?? '';
  expect(location).toStartWith('/authorize?');
  expect(Object.fromEntries(new URL(location, 'https://a.example').searchParams)).toEqual(form);
  expect((await t.ask('POST', 'authorize', { json: form })).status).toBe(415);
  expect((await t.ask('PUT', 'authorize')).headers.get('Allow')).toBe('GET, HEAD, POST');
});

test('the page is in the first language that the application names, unless the person has chosen one', async () => {
  const request = requestOf(await withService(t), { ui_locales: 'xx de-AT fr' });
  const inLanguage = async (headers: Record<string, string>) =>
    (await t.ask('GET', authorizePath(request).slice(1), { headers })).headers.get('Content-Language');
  expect(await inLanguage({ 'Accept-Language': 'ja' })).toBe('de');
  expect(await inLanguage({ 'Accept-Language': 'ja', Cookie: 'latchkey_language=fr' })).toBe('fr');
  request['ui_locales'] = 'xx';
  expect(await inLanguage({ 'Accept-Language': 'ja' })).toBe('ja');
});
