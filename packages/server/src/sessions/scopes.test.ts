import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cookieByMail, outcome, sameOrigin } from '../../../../tests/support/account.ts';
import { type Ask, onBothDatabases, type TestApp, type Tokens } from '../../../../tests/support/app.ts';
import { createdKey } from '../../../../tests/support/keys.ts';
import { declareService } from '../../../../tests/support/services.ts';

const tickets = 'https://tickets.example/api';
const builds = 'https://builds.example/api';

let users = 0;
const someone = () => `narrow-${users++}@example.com`;

onBothDatabases('the scope and resource of a session', (open) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await open();
    await declareService(app.ctx, {
      scopes: [{ name: 'tickets:read', sentence: 'Read your tickets' }],
      resource: tickets,
    });
    await declareService(app.ctx, { name: 'Builds', resource: builds });
  });
  afterAll(() => app.close());

  const narrow = async (access: object): Promise<Tokens> =>
    app.deviceLogin(await app.login(someone()), access);
  const use = async (token: string, method = 'GET', path = '/me', ask: Ask = {}) =>
    outcome(await app.ask(method, path, { token, ...ask }));

  describe.each(['JSON', 'a form to /token', 'a form to /refresh'])('a refresh with %s', (dialect) => {
    const refresh = (members: Record<string, string>, key?: string) => {
      const headers = key === undefined ? {} : { 'Idempotency-Key': key };
      if (dialect === 'JSON') return app.ask('POST', '/refresh', { json: members, headers });
      const form = { grant_type: 'refresh_token', ...members };
      return app.ask('POST', dialect === 'a form to /token' ? '/token' : '/refresh', { form, headers });
    };

    test.each([
      ['a wider scope', { scope: 'email profile organizations' }, 'invalid_scope'],
      ['a narrower scope', { scope: 'email' }, 'invalid_scope'],
      ['everything', { scope: '*' }, 'invalid_scope'],
      ['an empty scope', { scope: '' }, 'invalid_scope'],
      ['an unknown scope', { scope: 'nonsense' }, 'invalid_scope'],
      ['21 names', { scope: Array.from({ length: 21 }, () => 'email').join(' ') }, 'invalid_scope'],
      ['another resource', { resource: builds }, 'invalid_target'],
      ['an empty resource', { resource: '' }, 'invalid_target'],
      ['authorization details', { authorization_details: '[{"type":"a"}]' }, 'invalid_request'],
      ['its scope and another resource', { scope: 'email profile', resource: builds }, 'invalid_target'],
    ])('and %s is refused and spends nothing', async (_, members, code) => {
      const { refresh_token } = await narrow({ scope: 'profile email', resource: tickets });
      expect(outcome(await refresh({ refresh_token, ...members }))).toBe(`400 ${code}`);
      expect(outcome(await refresh({ refresh_token }))).toBe('200');
    });

    test('and the scope and resource of the session, in any order, keeps both', async () => {
      const owner = await app.login(someone());
      const access = { scope: 'profile email', resource: tickets };
      const { refresh_token } = await app.deviceLogin(owner, access);
      const answer = await refresh({ refresh_token, scope: 'email profile', resource: tickets });
      expect([answer.status, answer.body.scope]).toEqual([200, 'profile email']);
      const { sessions } = await app.api.call('listSessions', { accessToken: owner.access_token });
      const session = sessions.find(({ kind }) => kind === 'device');
      expect([session?.scope, session?.resource]).toEqual(['profile email', tickets]);
    });

    test('and everything for a session that may do everything says so, and refuses less', async () => {
      const { refresh_token } = await app.login(someone());
      expect(outcome(await refresh({ refresh_token, scope: 'profile' }))).toBe('400 invalid_scope');
      expect(outcome(await refresh({ refresh_token, resource: tickets }))).toBe('400 invalid_target');
      for (const scope of ['* nobody:declared', 'nobody:declared *'])
        expect(outcome(await refresh({ refresh_token, scope }))).toBe('400 invalid_scope');
      const answer = await refresh({ refresh_token, scope: '*' });
      expect([answer.status, answer.body.scope]).toEqual([200, '*']);
    });

    test('that is repeated with another scope or resource gets no tokens, and ends nothing', async () => {
      const { refresh_token } = await narrow({ scope: 'profile', resource: tickets });
      const first = await refresh({ refresh_token }, 'kept');
      expect(outcome(await refresh({ refresh_token, scope: '*' }, 'kept'))).toBe('400 invalid_scope');
      expect(outcome(await refresh({ refresh_token, resource: builds }, 'kept'))).toBe('400 invalid_target');
      const again = await refresh({ refresh_token, scope: 'profile' }, 'kept');
      expect(again.body.refresh_token).toBe(first.body.refresh_token);
    });

    test('says only that the token is no good if the session has ended, whatever scope is sent', async () => {
      const { access_token, refresh_token } = await narrow({ scope: 'profile' });
      await app.ask('DELETE', '/logout?scope=session', { token: access_token });
      expect(outcome(await refresh({ refresh_token, scope: '*' }))).toBe('400 invalid_grant');
    });

    test('and a wrong scope does not hide that a stolen token was used', async () => {
      const { refresh_token } = await narrow({ scope: 'profile' });
      const { body } = await refresh({ refresh_token });
      app.pass(11);
      expect(outcome(await refresh({ refresh_token, scope: '*' }))).toBe('400 invalid_grant');
      expect(outcome(await refresh({ refresh_token: body.refresh_token }))).toBe('400 invalid_grant');
    });
  });

  test('the list of sessions says what each may do, and where', async () => {
    const email = someone();
    const owner = await app.login(email);
    await app.deviceLogin(owner, { scope: 'tickets:read email' });
    app.pass(1);
    await app.deviceLogin(owner, { resource: tickets });
    const { sessions } = await app.api.call('listSessions', { accessToken: owner.access_token });
    expect(sessions.map(({ scope, resource }) => [scope, resource])).toEqual([
      ['*', tickets],
      ['tickets:read email', null],
      ['*', null],
    ]);
  });

  test('a narrow session may do only what its scope says, whatever its age', async () => {
    const { access_token: token } = await narrow({ scope: 'tickets:read openid' });
    const refusals = async () => {
      for (const [method, path] of [
        ['GET', '/me'],
        ['PATCH', '/me'],
        ['GET', '/sessions'],
        ['GET', '/organizations'],
        ['POST', '/keys'],
        ['POST', '/passkey/register/challenge'],
        ['POST', '/device/verify'],
        ['POST', '/device/approve'],
        ['DELETE', '/me'],
        ['POST', '/revoke'],
        ['DELETE', '/logout'],
        ['POST', '/me/email/verify'],
      ] as const)
        expect([path, await use(token, method, path)]).toEqual([path, '403 insufficient_scope']);
    };
    await refusals();
    app.pass(901);
    await refusals();
  });

  test('the refusal names the scope that is needed', async () => {
    const { access_token: token } = await narrow({ scope: 'tickets:read' });
    const challenge = async (path: string) =>
      (await app.ask('GET', path, { token })).headers.get('WWW-Authenticate');
    expect(await challenge('/organizations')).toMatch(
      /^Bearer .*error="insufficient_scope".*scope="organizations"$/,
    );
    expect(await challenge('/sessions')).toEndWith('scope="*"');
  });

  test('a session that is bound to a resource can do nothing here, even with every scope', async () => {
    for (const access of [{ resource: tickets }, { resource: tickets, scope: 'profile organizations' }]) {
      const { access_token: token } = await narrow(access);
      for (const path of ['/me', '/organizations', '/sessions', '/scopes'])
        expect([path, await use(token, 'GET', path)]).toEqual([path, '403 insufficient_scope']);
    }
  });

  test.each([
    ['POST /revoke with a body', 'POST', () => '/revoke', { json: { scope: 'session' } }],
    ['POST /revoke with a query', 'POST', () => '/revoke?scope=session', {}],
    ['DELETE /logout', 'DELETE', () => '/logout?scope=session', {}],
    ['DELETE /sessions', 'DELETE', (id: string) => `/sessions/${id}`, {}],
  ])('%s ends the session itself without any scope', async (_, method, path, ask) => {
    for (const access of [{ scope: 'openid' }, { scope: 'profile' }, { resource: tickets }]) {
      const owner = await app.login(someone());
      const { access_token: token } = await app.deviceLogin(owner, access);
      const { sessions } = await app.api.call('listSessions', { accessToken: owner.access_token });
      const [device, browser] = sessions.map(({ id }) => id);
      if (method === 'DELETE')
        expect(await use(token, 'DELETE', `/sessions/${browser}`)).toBe('403 insufficient_scope');
      expect(await use(token, method, path(device!), ask)).toBe('204');
      expect(await use(token)).toBe('401 invalid_token');
      expect(await use(owner.access_token)).toBe('200');
    }
  });

  test('the form to revoke ends a session without any scope, by either token', async () => {
    for (const which of ['access_token', 'refresh_token'] as const) {
      const tokens = await narrow({ scope: 'openid', resource: tickets });
      expect(outcome(await app.ask('POST', '/revoke', { form: { token: tokens[which] } }))).toBe('200');
      expect(await use(tokens.access_token)).toBe('401 invalid_token');
    }
  });

  test('another value of scope ends nothing, and neither does a narrow session that asks to end all', async () => {
    const owner = await app.login(someone());
    const { access_token: token } = await app.deviceLogin(owner, { scope: 'profile' });
    expect(await use(token, 'POST', '/revoke', { json: { scope: 'profile' } })).toBe('400 invalid_request');
    expect(await use(token, 'POST', '/revoke?scope=all')).toBe('400 invalid_request');
    expect(await use(token, 'DELETE', '/logout', { json: {} })).toBe('403 insufficient_scope');
    expect(await use(token)).toBe('200');
    expect(await use(owner.access_token)).toBe('200');
  });

  test('a cookie may do everything', async () => {
    const cookie = await cookieByMail(app, someone());
    for (const path of ['/me', '/organizations', '/sessions', '/keys'])
      expect(outcome(await app.ask('GET', path, { cookie, headers: sameOrigin }))).toBe('200');
  });

  test('a bearer token decides even beside a cookie that may do more', async () => {
    const cookie = await cookieByMail(app, someone());
    const { access_token: token } = await narrow({ scope: 'profile' });
    expect(outcome(await app.ask('GET', '/sessions', { token, cookie, headers: sameOrigin }))).toBe(
      '403 insufficient_scope',
    );
  });

  test('a narrow session cannot make a key or approve a device, so nothing wider comes of it', async () => {
    const { access_token: token } = await narrow({ scope: 'profile email organizations' });
    const { user_code } = await app.api.call('startDeviceAuthorization', { body: {} });
    const json = { name: 'wide', scope: '*', expires_in: 3_600 };
    expect(await use(token, 'POST', '/keys', { json })).toBe('403 insufficient_scope');
    expect(await use(token, 'POST', '/device/approve', { json: { user_code } })).toBe(
      '403 insufficient_scope',
    );
  });

  test('a key that is bound to a resource ends itself, and nothing else', async () => {
    const owner = await app.login(someone());
    const { id, key } = await createdKey(app, owner, { resource: tickets });
    const other = await createdKey(app, owner);
    expect(await use(key, 'DELETE', `/keys/${id}`)).toBe('403 insufficient_scope');
    expect(await use(key, 'DELETE', `/sessions/${other.id}`)).toBe('403 insufficient_scope');
    expect(await use(key, 'DELETE', `/sessions/${id}`)).toBe('204');
    expect(await use(key)).toBe('401 invalid_token');
    expect(await use(other.key)).toBe('200');
  });
});
