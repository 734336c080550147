import { beforeAll, beforeEach, expect, test } from 'bun:test';
import { isLive, outcome } from '#support/account.ts';
import { onBothDatabases, openApp, type Tokens } from '#support/app.ts';
import {
  appLogin,
  asBrowser,
  codeFor,
  commandLineRequest,
  redeem,
  redirectUri,
  requestOf,
  responseIn,
} from '#support/authorize.ts';
import { loggedEvents } from '#support/security-log.ts';
import { changeService, declareService, type TestService } from '#support/services.ts';
import { shared } from '#support/shared.ts';
import { revokeService } from '../../sessions/ending.ts';

onBothDatabases('authorization requests', (open, dialect) => {
  let service: TestService;
  let trusted: TestService;
  let tokens: Tokens;
  const app = shared(open);
  beforeAll(async () => {
    service = await declareService(app.ctx, { name: 'Charts', redirectUris: [redirectUri] });
    trusted = await declareService(app.ctx, { name: 'Own', redirectUris: [redirectUri], isTrusted: true });
  });
  beforeEach(async () => {
    tokens = await app.login();
  });

  const verify = (request: Record<string, string>) => asBrowser(app, tokens, 'verify', request);
  const verified = async (request: Record<string, string>) => {
    const answer = await verify(request);
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
    return answer.body;
  };
  const withRedirectUris = (...redirectUris: string[]) =>
    changeService(app.ctx, service.id, { redirectUris });

  test('verify describes a service and what it asks for, and changes nothing', async () => {
    const { id } = service;
    expect(await verified(requestOf(id))).toEqual({
      client: { id, name: 'Charts', kind: 'service', host: null },
      redirect_host: 'app.example',
      loopback_warning: false,
      passkey: null,
      scope: 'profile',
      scopes: [{ name: 'profile', description: expect.any(String), service: null }],
      resource: null,
      resource_service: null,
      device_name: null,
      approval: 'needed',
      sign_in_needed: false,
    });
  });

  test('a query answer to a loopback address carries a warning, as the command line does, a form post of a client with others none', async () => {
    expect(await verified(commandLineRequest())).toMatchObject({
      client: { id: 'latchkey-cli', kind: 'command_line', host: null },
      redirect_host: null,
      loopback_warning: true,
      scope: '*',
      device_name: 'den',
      approval: 'needed',
    });
    await withRedirectUris(redirectUri, 'http://localhost/callback');
    const request = requestOf(service.id, { redirect_uri: 'http://localhost:41234/callback' });
    expect((await verified(request)).loopback_warning).toBe(true);
    expect((await verified({ ...request, response_mode: 'form_post' })).loopback_warning).toBe(false);
    await withRedirectUris(redirectUri);
  });

  test('without a usable client and redirect URI a request is invalid_request, and sent nowhere', async () => {
    const none = await declareService(app.ctx);
    const revoked = await declareService(app.ctx, { redirectUris: [redirectUri] });
    await revokeService(app.ctx, revoked.id);
    const clients = [
      ...['', 'svc_AAAAAAAAAAAAAAAAAAAAAA', 'grafana', 'https://app.example/client'],
      ...[none.id, revoked.id],
    ];
    const programs = [
      'http://127.0.0.1/path',
      'http://127.0.0.1:41234/',
      'http://127.0.0.1:41234/path?a',
      'http://localhost:41234/path',
      'http://[::1]:41234/path',
      'https://127.0.0.1:41234/path',
      'https://evil.example/path',
      'http://127.0.0.1:41234/path#a',
      'http://127.0.0.1:41234@evil.example/path',
    ];
    for (const request of [
      requestOf('', { client_id: undefined }),
      ...clients.map((client) => requestOf(client)),
      ...['https://evil.example/', `${redirectUri}/`].map((redirect_uri) =>
        requestOf(service.id, { redirect_uri }),
      ),
      ...[undefined, 'query'].map((response_mode) => commandLineRequest({ response_mode })),
      ...[undefined, ...programs].map((redirect_uri) => commandLineRequest({ redirect_uri })),
    ]) {
      for (const path of ['verify', 'approve', 'deny']) {
        const answer = await asBrowser(app, tokens, path, { ...request, scope: 'profile' });
        expect([request, outcome(answer)]).toEqual([request, '400 invalid_request']);
        expect([answer.body.redirect, answer.body.form_post]).toEqual([undefined, undefined]);
      }
    }
  });

  /** What is wrong, by the error that the client gets. */
  const wrong: Readonly<Record<string, readonly Record<string, string | undefined>[]>> = {
    invalid_request: [
      ...[{ response_type: undefined }, { response_mode: 'fragment' }, { authorization_details: '[]' }],
      ...[undefined, 'x'.repeat(42), 'x'.repeat(129), `${'x'.repeat(42)}=`].map((code_challenge) => ({
        code_challenge,
      })),
      ...[undefined, 'plain'].map((code_challenge_method) => ({ code_challenge_method })),
      ...[{ prompt: 'none login' }, { prompt: 'create' }, { max_age: '-1' }, { id_token_hint: 'not one' }],
      { nonce: 'n'.repeat(513) },
    ],
    unsupported_response_type: ['token', 'code id_token'].map((response_type) => ({ response_type })),
    invalid_scope: [undefined, '', '*', 'openid *', 'nobody:declared'].map((scope) => ({ scope })),
    invalid_target: ['https://nobody.example', ''].map((resource) => ({ resource })),
    request_not_supported: [{ request: 'eyJ' }],
    request_uri_not_supported: [{ request_uri: 'urn:x' }],
    interaction_required: [{ prompt: 'none' }],
  };
  // Once: no statement depends on what is wrong.
  test.skipIf(dialect === 'postgres')(
    'any other error goes to the client, from all three endpoints',
    async () => {
      const requests = Object.entries(wrong).flatMap(([error, all]) =>
        all.map((one) => [one, error] as const),
      );
      for (const [changed, error] of requests) {
        for (const path of ['verify', 'approve', 'deny']) {
          const scope = path === 'verify' ? {} : { scope: 'scope' in changed ? changed['scope'] : 'profile' };
          if (path !== 'verify' && scope.scope === undefined) continue;
          const answer = await asBrowser(app, tokens, path, { ...requestOf(service.id, changed), ...scope });
          expect([changed, outcome(answer)]).toEqual([changed, `400 ${error}`]);
          expect(responseIn(answer)).toEqual({
            error,
            error_description: expect.stringMatching(/^[ !#-[\]-~]+$/),
            state: 'a state',
            iss: app.ctx.config.baseUrl,
          });
        }
      }
    },
  );

  test('unknown parameters, and empty ones, are ignored; a state that is too long is refused without it', async () => {
    const more = { display: 'popup', claims: '{}', prompt: '', nonce: '', state: 's'.repeat(2_048) };
    expect((await verify({ ...requestOf(service.id), ...more })).status).toBe(200);
    const answer = await verify(requestOf(service.id, { state: 's'.repeat(2_049) }));
    expect(responseIn(answer)).toEqual({
      error: 'invalid_request',
      error_description: expect.any(String),
      iss: app.ctx.config.baseUrl,
    });
  });

  test('a response keeps the query of the redirect URI, which may be left out where exactly one is registered, and a form is posted where that is asked for', async () => {
    const uri = 'https://app.example/callback?tenant=a%20b';
    await withRedirectUris(uri);
    const request = requestOf(service.id, { redirect_uri: uri, state: 'ü &=' });
    const byQuery = await asBrowser(app, tokens, 'approve', request);
    expect(byQuery.body.redirect).toStartWith(`${uri}&code=lk_ac_`);
    expect(responseIn(byQuery)).toMatchObject({ tenant: 'a b', state: 'ü &=', iss: app.ctx.config.baseUrl });
    const byForm = await asBrowser(app, tokens, 'approve', { ...request, response_mode: 'form_post' });
    expect(byForm.body).toEqual({
      form_post: {
        action: uri,
        fields: { code: expect.stringMatching(/^lk_ac_/), state: 'ü &=', iss: app.ctx.config.baseUrl },
      },
    });
    const { redirect_uri: _, ...without } = request;
    expect((await verified(without)).redirect_host).toBe('app.example');
    await withRedirectUris(redirectUri, 'https://b.example/');
    expect((await verify(without)).body.redirect).toBeUndefined();
    await withRedirectUris(redirectUri);
  });

  test('a service with a key is approved again while a session of it with as much lives, unless it asks for consent, and a trusted one at once; that needs no recent sign-in', async () => {
    const own = await app.login('again@example.com');
    const redirectUris = [redirectUri, 'http://127.0.0.1/callback'];
    const trusting = await declareService(app.ctx, { redirectUris });
    const approval = async (changed: object = {}, id = trusting.id, tokens = own) =>
      (await asBrowser(app, tokens, 'verify', requestOf(id, changed))).body.approval;
    expect(await approval()).toBe('needed');
    const wide = await appLogin(app, own, trusting, { scope: 'profile email' });
    app.pass(901);
    expect(await approval()).toBe('given');
    expect(await approval({ scope: 'email profile' })).toBe('given');
    const whole = requestOf(trusted.id, { scope: undefined });
    const { body } = await asBrowser(app, own, 'verify', whole);
    expect(body).toMatchObject({ approval: 'given', scope: '*', sign_in_needed: false });
    for (const request of [requestOf(trusting.id), { ...whole, scope: '*' }])
      expect(responseIn(await asBrowser(app, own, 'approve', request))['code']).toStartWith('lk_ac_');
    expect(await approval({ scope: 'profile openid' })).toBe('needed');
    expect(await approval({ prompt: 'consent' })).toBe('needed');
    expect(await approval({ redirect_uri: 'http://127.0.0.1/callback' })).toBe('needed');
    expect(await approval({}, service.id)).toBe('needed');
    expect(await approval({}, trusting.id, await app.login('other@example.com'))).toBe('needed');
    await app.ask('POST', '/revoke?scope=session', { token: wide.access_token });
    expect(await approval()).toBe('needed');

    const open = await declareService(app.ctx, { redirectUris, isPublic: true });
    const code = await codeFor(app, await app.login('again@example.com'), requestOf(open.id));
    expect((await redeem(app, code, { client_id: open.id })).status).toBe(200);
    expect(await approval({}, open.id)).toBe('needed');
  });

  test('approving needs the scope that was shown, gives no more, and takes a recent sign-in; any browser session may look and deny, which gives the client access_denied', async () => {
    const { scope: _, ...request } = commandLineRequest();
    const missing = await asBrowser(app, tokens, 'approve', request);
    expect([outcome(missing), missing.body.form_post]).toEqual(['400 invalid_request', undefined]);
    const shown = { ...request, scope: 'profile' };
    const { code = '' } = responseIn(await asBrowser(app, tokens, 'approve', shown));
    const form = { client_id: 'latchkey-cli', redirect_uri: request['redirect_uri'] };
    expect((await redeem(app, code, form)).body.scope).toBe('profile');
    app.pass(901);
    expect((await verified(shown)).sign_in_needed).toBe(true);
    const old = await asBrowser(app, tokens, 'approve', shown);
    expect(outcome(old)).toBe('401 insufficient_user_authentication');
    const denied = await asBrowser(app, tokens, 'deny', request);
    expect(outcome(denied)).toBe('200');
    expect(responseIn(denied)).toMatchObject({ error: 'access_denied', state: 'a state' });
  });

  test('without a scope a client of a resource gets what its service declares; a resource without a path may be said with or without its final slash', async () => {
    const resource = 'https://tickets.example';
    const scopes = ['tickets:read', 'tickets:write'].map((name) => ({ name, sentence: name }));
    await declareService(app.ctx, { name: 'Tickets', resource, scopes });
    const request = requestOf(service.id, { scope: undefined, resource: `${resource}/` });
    const scope = 'tickets:read tickets:write';
    expect(await verified(request)).toMatchObject({ scope, resource, resource_service: 'Tickets' });
    const headers = { Authorization: service.authorization };
    const code = await codeFor(app, tokens, request);
    const { body, status } = await redeem(app, code, { resource: `${resource}/` }, { headers });
    expect([status, body.scope]).toEqual([200, scope]);
    expect((await app.ask('GET', '/me', { token: body.access_token })).status).toBe(403);
    const form = { grant_type: 'refresh_token', refresh_token: body.refresh_token, resource: `${resource}/` };
    expect((await app.ask('POST', '/token', { form, headers })).status).toBe(200);
    const none = 'https://nothing.example/';
    await declareService(app.ctx, { resource: none });
    const many = 'https://many.example/';
    const more = Array.from({ length: 21 }, (_, n) => ({ name: `many:${n}`, sentence: 'Read' }));
    await declareService(app.ctx, { resource: many, scopes: more });
    for (const [wrong, error] of [
      [none, 'invalid_scope'],
      [many, 'invalid_scope'],
      [`${resource}/x`, 'invalid_target'],
    ])
      expect((await verify({ ...request, resource: wrong! })).body.error).toBe(error);
  });

  test('revoking a service ends its sessions, also of codes redeemed meanwhile; taking away a redirect URI ends none', async () => {
    for (let round = 0; round < 5; round++) {
      const own = await declareService(app.ctx, { redirectUris: [redirectUri] });
      const headers = { Authorization: own.authorization };
      const login = await appLogin(app, tokens, own);
      const codes = await Promise.all([1, 2, 3].map(() => codeFor(app, tokens, requestOf(own.id))));
      await changeService(app.ctx, own.id, { redirectUris: [] });
      const json = { refresh_token: login.refresh_token };
      expect(outcome(await app.ask('POST', '/refresh', { json, headers }))).toBe('200');
      await changeService(app.ctx, own.id, { redirectUris: [redirectUri] });
      const redeemed = codes.map((code) => redeem(app, code, {}, { headers }));
      await revokeService(app.ctx, own.id);
      expect(await isLive(app, login)).toBe(false);
      for (const { status, body } of await Promise.all(redeemed))
        if (status === 200) expect(await isLive(app, body)).toBe(false);
      const [event] = await loggedEvents(app, tokens, 'session_revoked');
      expect(event?.detail).toMatchObject({ reason: 'service_revoked' });
    }
  });
});

// The same of an application of a service, on both databases: sessions/runs/life.test.ts.
test('an external client describes itself, in a document that is kept for five minutes unless it is wrong, and it alone refreshes, while its host is listed', async () => {
  let fetches = 0;
  let document: object = { redirect_uris: 'none' };
  const answer = (): Response => {
    fetches += 1;
    return Response.json({ client_id: clientId, client_name: 'Assistant', ...document });
  };
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer });
  const host = `127.0.0.1:${server.port}`;
  const clientId = `http://${host}/client`;
  const app = await openApp('sqlite', { settings: { LATCHKEY_CLIENT_HOSTS: host } });
  const request = requestOf(clientId, { redirect_uri: 'http://127.0.0.1:41234/callback' });
  const verify = async () => asBrowser(app, await app.login(), 'verify', request);
  for (const fetched of [1, 2])
    expect([outcome(await verify()), fetches]).toEqual(['400 invalid_request', fetched]);
  document = { redirect_uris: ['http://127.0.0.1/callback'] };
  expect((await verify()).body).toMatchObject({
    client: { id: clientId, name: 'Assistant', kind: 'external', host },
    redirect_host: null,
    loopback_warning: true,
    approval: 'needed',
  });
  const code = await codeFor(app, await app.login(), request);
  const { redirect_uri } = request;
  const { body } = await redeem(app, code, { client_id: clientId, redirect_uri });
  const refresh = async (client_id?: string, at = app) => {
    const form = { grant_type: 'refresh_token', refresh_token: body.refresh_token };
    return outcome(await at.ask('POST', '/token', { form: { ...form, ...(client_id && { client_id }) } }));
  };
  const service = await declareService(app.ctx, { redirectUris: [redirectUri] });
  for (const other of [undefined, 'https://other.example/client', service.id])
    expect(await refresh(other)).toBe('400 invalid_grant');
  expect(await refresh(clientId, await openApp('sqlite', { beside: app }))).toBe('400 invalid_grant');
  expect([await refresh(clientId), fetches]).toEqual(['200', 3]);
  app.pass(301);
  await verify();
  expect(fetches).toBe(4);
  await server.stop(true);
});
