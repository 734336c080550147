import { beforeEach, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import type { SignOutPage } from '@latchkey/contract/openid';
import { newAddress, outcome, sameOrigin, throughPasskey } from '#support/account.ts';
import { type Answer, onBothDatabases, type Tokens } from '#support/app.ts';
import { pageDataIn } from '#support/ask.ts';
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
import { verifiedJwt } from '#support/jwt.ts';
import { authorizePath } from '#support/program.ts';
import { introspected } from '#support/runs.ts';
import { addMember, createOrganization, declareService } from '#support/services.ts';
import { shared } from '#support/shared.ts';
import { deleteReplacedKeys, rotateSigningKey } from '../signing-keys/signing-keys.ts';

const signedOutUri = 'https://app.example/bye';

onBothDatabases('OpenID Connect', (open) => {
  const app = shared(open);
  const service = shared(() =>
    declareService(app.ctx, {
      name: 'Charts',
      redirectUris: [redirectUri],
      signOutRedirectUris: [signedOutUri],
      isTrusted: false,
    }),
  );
  let tokens: Tokens;
  beforeEach(async () => {
    tokens = await app.login();
  });

  const me = async () => (await app.ask('GET', '/me', { token: tokens.access_token })).body;
  const verify = (idToken: string, audience = service.id) =>
    verifiedJwt(app, idToken, audience, { algorithms: ['RS256'] });
  const openid = (scope: string, changed = {}) => appLogin(app, tokens, service, { scope, ...changed });

  const facts = (token: string) => introspected(app, token, service.authorization);
  const newClient = (more = {}) => declareService(app.ctx, { redirectUris: [redirectUri], ...more });

  test('openid adds an identity token, signed by RS256, with what the contract of OpenID says', async () => {
    const { auth_time } = await facts(tokens.access_token);
    app.pass(5);
    const before = Math.floor(app.ctx.clock() / 1000);
    const { id_token = '', access_token } = await openid('openid', { nonce: 'n-1' });
    const { payload, protectedHeader } = await verify(id_token);
    expect(protectedHeader).toEqual({ alg: 'RS256', kid: expect.any(String), typ: 'JWT' });
    const found = await facts(access_token);
    expect(payload).toEqual({
      iss: app.ctx.config.baseUrl,
      sub: (await me()).id,
      aud: service.id,
      iat: expect.any(Number),
      exp: payload.iat! + 300,
      auth_time,
      amr: ['otp'],
      sid: found.sid,
      nonce: 'n-1',
      at_hash: createHash('sha256').update(access_token).digest().subarray(0, 16).toString('base64url'),
    });
    expect(payload.iat).toBeGreaterThanOrEqual(before);
    expect(found).toMatchObject({ client_id: service.id, session_kind: 'app' });
    expect(found.auth_time).toBeUndefined();
    ({ login: tokens } = await throughPasskey(app, tokens));
    const byPasskey = await verify((await openid('openid')).id_token ?? '');
    expect(byPasskey.payload).toMatchObject({ acr: 'phr', amr: ['pop', 'user', 'mfa'] });
  });

  test('the repeated answer to a code has the same identity token; a refresh has a new one, without the nonce, also of a public application; form revocation ends its session', async () => {
    const { id: client_id } = await newClient({ isPublic: true });
    const ofService = { headers: { Authorization: service.authorization } };
    for (const [id, named, sent] of [
      [service.id, {}, ofService],
      [client_id, { client_id }, { headers: {} }],
    ] as const) {
      tokens = await app.login();
      const code = await codeFor(app, tokens, requestOf(id, { scope: 'openid', nonce: 'n-1' }));
      const headers = { ...sent.headers, 'Idempotency-Key': 'x' };
      const redeemed = async () => (await redeem(app, code, named, { headers })).body;
      const { id_token, refresh_token } = await redeemed();
      app.pass(20);
      expect((await redeemed()).id_token).toBe(id_token);
      const { payload: claims } = await verify(id_token, id);
      app.pass(1_000);
      const form = { grant_type: 'refresh_token', refresh_token, ...named };
      const { body } = await app.ask('POST', '/refresh', { form, ...sent });
      const { payload } = await verify(body.id_token, id);
      const { sid, auth_time, sub } = claims;
      expect(payload).toMatchObject({ sid, auth_time, sub });
      expect([claims['nonce'], payload['nonce']]).toEqual(['n-1', undefined]);
      expect(payload.iat!).toBeGreaterThan(claims.iat! + 900);
      const token = body.access_token;
      expect(outcome(await app.ask('GET', '/userinfo', { token }))).toBe('200');
      await app.ask('POST', '/revoke', { form: { token: body.refresh_token, ...named } });
      expect(outcome(await app.ask('GET', '/userinfo', { token }))).toBe('401 invalid_token');
    }
  });

  test('identity token and userinfo carry the claims of the scopes, without those that have no value', async () => {
    const profile = { name: 'Ada Lovelace', time_zone: 'Europe/London', locale: 'en' };
    await app.ask('PATCH', '/me', { token: tokens.access_token, json: profile });
    const { id, updated_at, email } = await me();
    const ofProfile = {
      name: 'Ada Lovelace',
      locale: 'en',
      zoneinfo: 'Europe/London',
      updated_at: Math.floor(Date.parse(updated_at) / 1000),
    };
    const ofEmail = { email, email_verified: true };
    const organizations = [{ id: expect.any(String), slug: expect.any(String), role: 'owner' }];
    const expected: Record<string, object> = {
      openid: {},
      'openid profile': ofProfile,
      'openid email': ofEmail,
      'openid organizations': { organizations },
    };
    for (const [scope, claims] of Object.entries(expected)) {
      const { access_token, id_token = '' } = await openid(scope);
      for (const method of ['GET', 'POST']) {
        const answer = await app.ask(method, '/userinfo', { token: access_token });
        expect([answer.status, answer.body]).toEqual([200, { sub: id, ...claims }]);
      }
      const { payload } = await verify(id_token);
      expect(payload).toMatchObject(claims);
      expect('email' in payload).toBe('email' in claims);
    }
  });

  test('only openid opens userinfo and adds an identity token: everything does not hold it, but may have it beside', async () => {
    const trusted = await newClient({ isTrusted: true });
    const resource = 'https://charts.example/';
    await declareService(app.ctx, { resource });
    const request = commandLineRequest({ scope: '* openid' });
    const { client_id, redirect_uri } = request;
    const code = await codeFor(app, tokens, request);
    for (const [made, scope, hasToken, hasClaims] of [
      [await openid('profile'), 'profile', false, false],
      [await openid('openid', { resource }), 'openid', true, false],
      [await appLogin(app, tokens, trusted, { scope: '*' }), '*', false, false],
      [await appLogin(app, tokens, trusted, { scope: 'openid *' }), '* openid', true, true],
      // The command line gets no identity token.
      [(await redeem(app, code, { client_id, redirect_uri })).body, '* openid', false, true],
    ] as const) {
      expect([made.scope, made.id_token !== undefined]).toEqual([scope, hasToken]);
      const answer = await app.ask('GET', '/userinfo', { token: made.access_token });
      expect([scope, outcome(answer)]).toEqual([scope, hasClaims ? '200' : '403 insufficient_scope']);
      if (hasClaims) expect(answer.body).toMatchObject({ sub: expect.any(String), email: 'ada@example.com' });
      else expect(answer.headers.get('WWW-Authenticate')).toContain('scope="openid"');
    }
  });

  test('max_age and consent need a sign-in that is recent enough', async () => {
    const trusted = await newClient({ isTrusted: true });
    for (const [changed, seconds] of [
      [{ max_age: '100' }, 100],
      [{ prompt: 'consent' }, 900],
    ] as const) {
      const request = requestOf(trusted.id, { scope: 'openid', ...changed });
      tokens = await app.login();
      app.pass(seconds - 1);
      const approval = 'prompt' in changed ? 'needed' : 'given';
      const { body } = await asBrowser(app, tokens, 'verify', request);
      expect(body).toMatchObject({ approval, sign_in_needed: false });
      expect((await asBrowser(app, tokens, 'approve', request)).status).toBe(200);
      app.pass(2);
      expect((await asBrowser(app, tokens, 'verify', request)).body.sign_in_needed).toBe(true);
      const answer = await asBrowser(app, tokens, 'approve', request);
      expect(outcome(answer)).toBe('401 insufficient_user_authentication');
      expect(answer.headers.get('WWW-Authenticate')).toContain(`max_age="${seconds}"`);
    }
  });

  for (const changed of [{ prompt: 'login' }, { max_age: '0' }] as Record<string, string>[])
    test(`${Object.keys(changed)} needs a sign-in that began after the request came to the browser`, async () => {
      const { id } = await newClient({ isTrusted: true });
      const request = requestOf(id, { scope: 'openid', ...changed });
      let cookie = '';
      const keep = ({ headers }: Answer) => {
        cookie =
          headers
            .getSetCookie()
            .find((one) => one.startsWith('latchkey_requests='))
            ?.split(';')[0] ?? cookie;
      };
      const open = async (other: Record<string, string> = {}) =>
        keep(await app.ask('GET', authorizePath({ ...request, ...other }).slice(1), { cookie }));
      const ask = async (path: string, { access_token: token }: Tokens) => {
        const answer = await app.ask('POST', `/authorize/${path}`, { token, cookie, json: request });
        if (path === 'approve') keep(answer);
        return path === 'approve' ? answer.status : answer.body.sign_in_needed;
      };
      const signInAgain = async () => {
        app.pass(1);
        return app.login();
      };
      // Without the page, the request comes only now.
      expect(await ask('approve', await signInAgain())).toBe(401);
      const before = await signInAgain();
      app.pass(1);
      await open();
      expect([await ask('verify', before), await ask('approve', before)]).toEqual([true, 401]);
      const after = await signInAgain();
      app.pass(1);
      // Coming back from signing in, and with another request in between.
      await open();
      await open({ state: 'another' });
      expect(await ask('verify', after)).toBe(false);
      app.pass(300);
      expect([await ask('verify', after), await ask('approve', after)]).toEqual([true, 401]);
      const again = await signInAgain();
      expect(await ask('approve', again)).toBe(200);
      // It was answered, so the same parameters are another request.
      app.pass(1);
      await open();
      expect(await ask('approve', again)).toBe(401);
      cookie = cookie.replace(/(?<=requests=.{40})./, (one) => (one === 'A' ? 'B' : 'A'));
      expect(await ask('approve', await signInAgain())).toBe(401);
    });

  test('id_token_hint, expired or not, lets only its own user approve; a token under another key, or with another algorithm, is no hint', async () => {
    const { id_token: id_token_hint = '' } = await openid('openid');
    app.pass(400);
    tokens = await app.login();
    const request = { ...requestOf(service.id), id_token_hint };
    expect((await asBrowser(app, tokens, 'approve', request)).status).toBe(200);
    const other = await asBrowser(app, await app.login('grace@example.com'), 'approve', request);
    expect(responseIn(other)['error']).toBe('login_required');
    const [head = '', body, signature] = id_token_hint.split('.');
    const header = JSON.parse(Buffer.from(head, 'base64url').toString());
    const withHeader = (changed: object, signed = signature) =>
      [Buffer.from(JSON.stringify({ ...header, ...changed })).toString('base64url'), body, signed].join('.');
    for (const wrong of [
      ...['none', 'HS256', 'ES256'].map((alg) => withHeader({ alg })),
      withHeader({ alg: 'none' }, ''),
      withHeader({ kid: 'other' }),
      id_token_hint.replace(/.(?=.{20}$)/, (one) => (one === 'A' ? 'B' : 'A')),
    ]) {
      const answer = await asBrowser(app, tokens, 'verify', { ...request, id_token_hint: wrong });
      expect([wrong, answer.body.error]).toEqual([wrong, 'invalid_request']);
    }
    // However often its key is replaced, unless at once.
    const isHint = async () => outcome(await asBrowser(app, await app.login(), 'verify', request));
    for (let rotations = 0; rotations < 3; rotations++) {
      await rotateSigningKey(app.ctx, { atOnce: false });
      app.pass(8 * 86_400);
      expect(await isHint()).toBe('200');
    }
    await deleteReplacedKeys(app.ctx);
    app.pass(6);
    expect(await isHint()).toBe('400 invalid_request');
  });

  const signOut = (json: object, more: object = {}) =>
    app.ask('POST', '/end_session/confirm', { json, headers: sameOrigin, ...more });
  const isActive = async (token: string) => (await facts(token)).active;

  // From a page of this service only: tests/invariants/access.test.ts.
  test("signing out ends the browser's session, and that of the hint, expired or not, if its user is signed in, or no one is; it leads back", async () => {
    const { id_token: id_token_hint, access_token } = await openid('openid');
    const other = await app.login('grace@example.com');
    const { body } = await signOut({ id_token_hint }, { token: other.access_token });
    expect(body).toEqual({ redirect: null });
    expect([await isActive(other.access_token), await isActive(access_token)]).toEqual([false, true]);
    app.pass(400);
    expect(outcome(await signOut({ id_token_hint }))).toBe('200');
    expect([await isActive(tokens.access_token), await isActive(access_token)]).toEqual([true, false]);
    const next = await openid('openid');
    const parameters = { post_logout_redirect_uri: signedOutUri, state: 'a b', id_token_hint: next.id_token };
    const answer = await signOut(parameters, { token: tokens.access_token });
    expect([answer.status, answer.body]).toEqual([200, { redirect: `${signedOutUri}?state=a+b` }]);
    for (const token of [tokens.access_token, next.access_token]) expect(await isActive(token)).toBe(false);
  });

  /** The pages that a request to sign out leads to, by GET and by POST. */
  const pagesFor = async (parameters: Record<string, string> | string) => {
    const pages: Answer[] = [];
    for (const { status, headers } of [
      await app.ask('GET', `/end_session?${new URLSearchParams(parameters)}`),
      await app.ask('POST', '/end_session', { form: parameters }),
    ]) {
      const location = headers.get('Location') ?? '';
      expect([status, location]).toEqual([303, expect.stringMatching(/^\/sign-out(\?|$)/)]);
      pages.push(await app.ask('GET', location.slice(1)));
    }
    return pages.map((page) => [page.status, page.headers.get('Location'), pageDataIn<SignOutPage>(page)]);
  };

  test('the hint of a person in as many organizations as a token names is accepted', async () => {
    const own = await app.login(newAddress());
    const { id } = (await app.ask('GET', '/me', { token: own.access_token })).body;
    for (let n = 100; n < 200; n++) {
      const slug = `${n}`.padEnd(39, 'x');
      await createOrganization(app.ctx, slug, slug);
      await addMember(app.ctx, slug, id, 'member');
    }
    const scope = 'openid profile email organizations';
    const { id_token = '' } = await appLogin(app, own, service, { scope });
    expect(id_token.length).toBeGreaterThan(12_000);
    for (const [status] of await pagesFor({ id_token_hint: id_token })) expect(status).toBe(200);
  });

  test('a request to sign out leads to a page, where nothing ends by itself; empty parameters count as omitted', async () => {
    const { href } = new URL('https://app.example/bye?</script>&');
    const { id: client_id } = await newClient({ signOutRedirectUris: [href] });
    const good = { client_id, post_logout_redirect_uri: href, state: 'a&b</script>' };
    const empty = { id_token_hint: '', client_id: '', post_logout_redirect_uri: '', state: '' };
    const { id_token: id_token_hint = '' } = await openid('openid');
    const redirect = `${href}state=a%26b%3C%2Fscript%3E`;
    for (const [sent, said] of [
      [good, { parameters: good, redirect }],
      [{ id_token_hint }, { parameters: { id_token_hint }, userId: (await me()).id, redirect: null }],
      [empty, { parameters: {}, redirect: null }],
      [{}, { parameters: {}, redirect: null }],
    ] as const)
      for (const page of await pagesFor(sent))
        expect(page).toEqual([200, null, { outcome: 'valid', ...said }]);
    expect(await isActive(tokens.access_token)).toBe(true);
  });

  test('a wrong redirect URI, hint or client, or a repeated parameter is refused, on the page, too, and ends nothing', async () => {
    const { id_token: id_token_hint = '' } = await openid('openid');
    const elsewhere = 'https://other.example/bye';
    const other = await newClient({ signOutRedirectUris: [elsewhere] });
    const wrong = ['https://evil.example/', redirectUri, elsewhere];
    for (const [uri, named] of [
      ...wrong.map((uri) => [uri, { id_token_hint }] as const),
      ['https://evil.example/', { client_id: service.id }],
      [signedOutUri, {}],
      [signedOutUri, { client_id: 'svc_unknown' }],
      [signedOutUri, { id_token_hint, client_id: other.id }],
      [signedOutUri, { id_token_hint: 'x' }],
    ] as const) {
      const parameters = { post_logout_redirect_uri: uri, ...named };
      expect(outcome(await signOut(parameters, { token: tokens.access_token }))).toBe('400 invalid_request');
      for (const page of await pagesFor(parameters))
        expect(page).toEqual([400, null, { outcome: 'refused', message: expect.any(String) }]);
    }
    const message = expect.stringContaining('state: appears twice');
    for (const page of await pagesFor('state=a&state=b'))
      expect(page).toEqual([400, null, { outcome: 'refused', message }]);
    expect(await isActive(tokens.access_token)).toBe(true);
  });
});
