import { beforeAll, describe, expect, test } from 'bun:test';
import type { CreatedKey, KeyTrust } from '@latchkey/contract/keys';
import { federationGrantType } from '@latchkey/contract/tokens';
import { CompactSign } from 'jose';
import { newAddress, outcome } from '../../../../../tests/support/account.ts';
import {
  type Answer,
  onBothDatabases,
  sharedNodes,
  type TestApp,
  type Tokens,
} from '../../../../../tests/support/app.ts';
import {
  githubClaims,
  newSigningKey,
  startIssuer,
  type TestClaims,
  type TestIssuer,
} from '../../../../../tests/support/issuer.ts';
import { wantedKey } from '../../../../../tests/support/keys.ts';
import { startedRun } from '../../../../../tests/support/runs.ts';
import { loggedEvents } from '../../../../../tests/support/security-log.ts';
import { declareService } from '../../../../../tests/support/services.ts';
import { shared } from '../../../../../tests/support/shared.ts';
import { setDisabled } from '../../identity/account/account.ts';

const day = 86_400;
const tickets = 'https://tickets.example/api';
const refused = '400 invalid_grant';

onBothDatabases('federation', (open, dialect) => {
  const issuer = shared(() => startIssuer());
  const other = shared(() => startIssuer());
  const { app, node } = sharedNodes(
    (options) => open({ ...options, settings: { LATCHKEY_TRUSTED_ISSUERS: `github, ${issuer.url}` } }),
    dialect,
  );
  let ours: string;
  beforeAll(async () => {
    ours = app.ctx.config.baseUrl;
    await declareService(app.ctx, {
      resource: tickets,
      scopes: [{ name: 'tickets:read', sentence: 'Read your tickets' }],
    });
  });

  const claims = (changed: TestClaims = {}) => githubClaims(ours, changed);
  const trusted = {
    sub: 'repo:ada@1099001/engine@784120233:ref:refs/heads/main',
    repository_id: '784120233',
    repository_owner_id: '1099001',
  };
  const trust = (changed: Partial<KeyTrust> = {}): KeyTrust => ({
    issuer: issuer.url,
    claims: trusted,
    ...changed,
  });
  const post = ({ access_token: token }: Tokens, json: object) => app.ask('POST', '/keys', { token, json });
  const keyOf = async (owner: Tokens, wants: object = {}): Promise<CreatedKey> => {
    const answer = await post(owner, {
      ...wantedKey,
      scope: 'profile tickets:read',
      trust: trust(),
      ...wants,
    });
    expect(outcome(answer)).toBe('201');
    return answer.body;
  };
  const grant = (
    form: Record<string, string>,
    on: TestApp = node,
    headers: Record<string, string> = {},
  ): Promise<Answer> =>
    on.ask('POST', '/token', { form: { grant_type: federationGrantType, ...form }, headers });
  const sign = (changed: TestClaims = {}, how: Parameters<TestIssuer['sign']>[1] = {}) =>
    issuer.sign(claims(changed), { now: app.ctx.clock(), ...how });
  const redeem = async (key: CreatedKey, assertion: string, more: Record<string, string> = {}) =>
    grant({ assertion, key_id: key.id, ...more });
  const redeemed = async (key: CreatedKey, more: Record<string, string> = {}) => {
    const answer = await redeem(key, await sign(), more);
    expect(outcome(answer)).toBe('200');
    return answer.body;
  };
  const me = async (token: string) => outcome(await app.ask('GET', '/me', { token }));
  const nowSeconds = () => Math.floor(app.ctx.clock() / 1000);

  describe('a key with trust', () => {
    test('has no secret, and is listed with its issuer and claims', async () => {
      const owner = await app.login(newAddress());
      const key = await keyOf(owner);
      expect(key).toEqual({
        id: expect.stringMatching(/^key_[\w-]{22}$/),
        name: 'build',
        scope: 'profile tickets:read',
        resource: null,
        trust: trust(),
        created_at: expect.any(String),
        expires_at: expect.any(String),
        last_used_at: null,
      });
      const { body } = await app.ask('GET', '/keys', { token: owner.access_token });
      expect(body.keys).toEqual([key]);
    });

    const github = 'https://token.actions.githubusercontent.com';
    const ids = { repository_id: '784120233', repository_owner_id: '1099001' };
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`c${i}`, 'x']));
    test.each<[string, unknown]>([
      [
        'an issuer that the operator does not list',
        { issuer: 'https://other.example', claims: { sub: 'x' } },
      ],
      ['the short name of an issuer', { issuer: 'github', claims: { ...ids, ref: 'refs/heads/main' } }],
      ['no claims', { issuer: github }],
      ['no repository', { issuer: github, claims: { repository_owner_id: '1', ref: 'x' } }],
      ['no owner', { issuer: github, claims: { repository_id: '1', ref: 'x' } }],
      ['every job of a repository', { issuer: github, claims: ids }],
      ['a claim that is no text', { issuer: github, claims: { ...ids, ref: 1 } }],
      ['an empty value', { issuer: github, claims: { ...ids, ref: '' } }],
      ['an empty name', { issuer: github, claims: { ...ids, ref: 'x', '': 'x' } }],
      ['a value of 1,001 characters', { issuer: github, claims: { ...ids, ref: 'x'.repeat(1001) } }],
      ['21 claims', { issuer: github, claims: { ...ids, ref: 'x', ...many(18) } }],
      ...['iss', 'aud', 'exp', 'nbf', 'iat'].map((name): [string, unknown] => [
        name,
        { issuer: github, claims: { ...ids, ref: 'x', [name]: 'x' } },
      ]),
      [
        '__proto__',
        {
          issuer: github,
          claims: JSON.parse('{"repository_id":"1","repository_owner_id":"1","ref":"x","__proto__":"x"}'),
        },
      ],
      ['nothing', null],
    ])('cannot trust %s', async (_, trust) => {
      const owner = await app.login(newAddress());
      expect(outcome(await post(owner, { ...wantedKey, trust }))).toBe('400 invalid_request');
      expect((await app.ask('GET', '/keys', { token: owner.access_token })).body.keys).toEqual([]);
    });

    test('needs a subject where the issuer is not a known one', async () => {
      const owner = await app.login(newAddress());
      const claims = { repository_id: '1', repository_owner_id: '1', ref: 'x' };
      expect(outcome(await post(owner, { ...wantedKey, trust: trust({ claims }) }))).toBe(
        '400 invalid_request',
      );
    });

    test('can have 20 claims of 1,000 characters', async () => {
      const owner = await app.login(newAddress());
      const claims = {
        sub: 'x'.repeat(1000),
        ...Object.fromEntries(
          Object.entries(many(19)).map(([name]) => [name.padEnd(1000, 'y'), 'é'.repeat(1000)]),
        ),
      };
      expect((await keyOf(owner, { trust: trust({ claims }) })).trust?.claims).toEqual(claims);
    });
  });

  test('the metadata lists the grant where issuers are listed', async () => {
    const { body } = await app.ask('GET', '.well-known/oauth-authorization-server');
    expect(body.grant_types_supported).toContain(federationGrantType);
  });

  describe('a token of the issuer', () => {
    test('gets runs within the key, again and again, without a refresh token', async () => {
      const owner = await app.login(newAddress());
      const key = await keyOf(owner);
      const assertion = await sign();
      for (let use = 0; use < 2; use++) {
        const answer = await redeem(key, assertion, { scope: 'profile', expires_in: '3600' });
        expect([outcome(answer), answer.body]).toEqual([
          '200',
          {
            access_token: expect.stringMatching(/^lk_at_/),
            issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
            token_type: 'Bearer',
            expires_in: 3600,
            scope: 'profile',
          },
        ]);
        expect(await me(answer.body.access_token)).toBe('200');
      }
      const { body } = await app.ask('GET', '/sessions', { token: owner.access_token });
      const runs = body.sessions.filter(({ kind }: { kind: string }) => kind === 'run');
      expect(runs).toMatchObject([
        { within: [key.id], scope: 'profile' },
        { within: [key.id], scope: 'profile' },
      ]);
    });

    test('has the scope, resource and details of the key by default, and never more', async () => {
      const owner = await app.login(newAddress());
      const details = [{ type: 'deploy', to: 'staging' }];
      const key = await keyOf(owner, {
        scope: 'tickets:read',
        resource: tickets,
        authorization_details: details,
      });
      expect((await redeemed(key)).authorization_details).toEqual(details);
      const attempts: [Record<string, string>, string][] = [
        [{ scope: 'profile' }, '400 invalid_scope'],
        [{ scope: '*' }, '400 invalid_scope'],
        [{ scope: '' }, '400 invalid_scope'],
        [{ scope: 'nobody:declared' }, '400 invalid_scope'],
        [{ resource: 'https://other.example' }, '400 invalid_target'],
        [
          { authorization_details: '[{"type":"deploy","to":"production"}]' },
          '400 invalid_authorization_details',
        ],
        [{ authorization_details: '{' }, '400 invalid_authorization_details'],
        [{ expires_in: '59' }, '400 invalid_request'],
        [{ expires_in: '3601' }, '400 invalid_request'],
        [{ audience: 'https://other.example' }, '400 invalid_request'],
      ];
      for (const [more, expected] of attempts)
        expect([more, outcome(await redeem(key, await sign(), more))]).toEqual([more, expected]);
    });

    test('needs a scope where the key may do everything', async () => {
      const key = await keyOf(await app.login(newAddress()), { scope: '*' });
      expect(outcome(await redeem(key, await sign()))).toBe('400 invalid_scope');
      expect((await redeemed(key, { scope: 'profile' })).scope).toBe('profile');
    });

    test('stays good until it expires, and the run may outlast it', async () => {
      const key = await keyOf(await app.login(newAddress()));
      const assertion = await sign({ exp: nowSeconds() + 1 });
      const answer = await redeem(key, assertion);
      expect(answer.body.expires_in).toBe(900);
    });

    test.each(['ES256', 'EdDSA'])('may be signed with %s', async (alg) => {
      const key = await keyOf(await app.login(newAddress()));
      const signing = await newSigningKey(alg);
      const with_ = await startIssuer();
      const trusting = await open({ settings: { LATCHKEY_TRUSTED_ISSUERS: with_.url }, beside: app });
      with_.keys = [signing];
      const owner = await trusting.login(newAddress());
      const own = await trusting.ask('POST', '/keys', {
        token: owner.access_token,
        json: { ...wantedKey, scope: 'profile', trust: trust({ issuer: with_.url }) },
      });
      const assertion = await with_.sign(claims(), { now: app.ctx.clock() });
      const form = { assertion, key_id: own.body.id };
      expect(outcome(await grant(form, trusting))).toBe('200');
      // The other node does not list this issuer.
      expect(outcome(await grant(form))).toBe(refused);
      expect(outcome(await redeem(key, assertion))).toBe(refused);
      await with_.stop();
    });

    test('with a service key beside it is a mistake', async () => {
      const key = await keyOf(await app.login(newAddress()));
      const authorization = await app.serviceAuthorization('delegate');
      const [id = '', secret = ''] = atob(authorization.slice('Basic '.length)).split(':');
      const form = { assertion: await sign(), key_id: key.id };
      expect(outcome(await grant(form, app, { Authorization: authorization }))).toBe('400 invalid_request');
      expect(outcome(await grant({ ...form, client_id: id, client_secret: secret }))).toBe(
        '400 invalid_request',
      );
    });

    test.each(['assertion', 'key_id'])('needs its %s', async (name) => {
      const key = await keyOf(await app.login(newAddress()));
      const { [name]: _, ...form }: Record<string, string> = { assertion: await sign(), key_id: key.id };
      expect(outcome(await grant(form))).toBe('400 invalid_request');
    });
  });

  describe('mistakes of a trust rule get no token', () => {
    let key: CreatedKey;
    beforeAll(async () => {
      key = await keyOf(await app.login(newAddress()));
    });
    const unsigned = (header: object, payload: object | string, signature = '') =>
      [JSON.stringify(header), typeof payload === 'string' ? payload : JSON.stringify(payload)]
        .map((part) => Buffer.from(part).toString('base64url'))
        .concat(signature)
        .join('.');

    /** The claims, or the whole token, by what is wrong with them. */
    const wrongClaims: Record<string, () => TestClaims> = {
      'another repository': () => ({ repository_id: '1' }),
      'a fork': () => ({
        repository_id: '2',
        repository_owner_id: '3',
        sub: 'repo:eve@3/engine@2:ref:refs/heads/main',
      }),
      'a renamed owner': () => ({ sub: 'repo:lovelace@1099001/engine@784120233:ref:refs/heads/main' }),
      'a repository that reuses the name': () => ({
        repository_id: '9',
        sub: 'repo:ada/engine:ref:refs/heads/main',
      }),
      'the old subject': () => ({ sub: 'repo:ada/engine:ref:refs/heads/main' }),
      'another case': () => ({ sub: 'repo:Ada@1099001/engine@784120233:ref:refs/heads/main' }),
      'a longer value': () => ({ repository_id: '7841202330' }),
      'a number for text': () => ({ repository_id: 784_120_233 }),
      'a list for text': () => ({ repository_id: ['784120233'] }),
      'a missing claim': () => ({ repository_owner_id: undefined }),
      'another issuer': () => ({ iss: other.url }),
      'no issuer': () => ({ iss: undefined }),
      'another audience': () => ({ aud: 'https://cloud.example' }),
      'two audiences': () => ({ aud: [ours, 'https://cloud.example'] }),
      'our audience twice': () => ({ aud: [ours, ours] }),
      'no audience': () => ({ aud: [] }),
      'our audience with a slash': () => ({ aud: `${ours}/` }),
      'that has expired': () => ({ exp: nowSeconds() - 61 }),
      'that is too long': () => ({ exp: nowSeconds() + day + 1, iat: nowSeconds() }),
      'from the future': () => ({ iat: nowSeconds() + 65 }),
      'not good yet': () => ({ nbf: nowSeconds() + 65 }),
      'without an end': () => ({ exp: undefined }),
      'without a beginning': () => ({ iat: undefined }),
      'with times that are no numbers': () => ({ iat: `${nowSeconds()}` }),
    };
    // Once: no statement depends on what is wrong.
    if (dialect === 'sqlite')
      test.each(Object.entries(wrongClaims))('%s', async (_, changed) => {
        expect(outcome(await redeem(key, await sign(changed())))).toBe(refused);
      });

    const wrongTokens: Record<string, () => Promise<string>> = {
      'no JWT': async () => 'assertion',
      'a key of another issuer': () => sign({}, { key: other.keys[0]! }),
      'another key under the kid of the issuer': async () =>
        sign({}, { key: await newSigningKey('RS256', issuer.keys[0]!.kid) }),
      'a signature of another token': async () => {
        const [header, payload] = (await sign()).split('.');
        return `${header}.${payload}.${(await sign({ jti: 'other' })).split('.')[2]}`;
      },
      'alg none': async () =>
        unsigned({ alg: 'none' }, claims({ iss: issuer.url, iat: nowSeconds(), exp: nowSeconds() + 60 })),
      'alg none under a kid': async () =>
        unsigned(
          { alg: 'none', kid: issuer.keys[0]!.kid },
          claims({ iss: issuer.url, iat: nowSeconds(), exp: nowSeconds() + 60 }),
        ),
      'HS256 under the public key': async () => {
        const secret = Buffer.from(JSON.stringify(issuer.keys[0]!.publicJwk));
        const hmac = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, [
          'sign',
        ]);
        return sign({}, { key: { ...issuer.keys[0]!, alg: 'HS256', privateKey: hmac } });
      },
      RS512: async () => {
        // Published without its algorithm, it could verify others.
        const stronger = await newSigningKey('RS512');
        const { alg: _, ...publicJwk } = stronger.publicJwk;
        issuer.keys.push({ ...stronger, publicJwk });
        app.pass(600);
        return sign({}, { key: stronger });
      },
      'a key in its header': async () => {
        const key = await newSigningKey();
        return sign({}, { key, header: { jwk: key.publicJwk, jku: `${other.url}/jwks` } });
      },
      'a claim twice': async () => {
        const [header, payload = '', signature] = (await sign()).split('.');
        const twice = Buffer.from(payload, 'base64url').toString().replace('{', '{"repository_id":"1",');
        return `${header}.${Buffer.from(twice).toString('base64url')}.${signature}`;
      },
      'a padded signature': async () => `${await sign()}==`,
      'a line break in its signature': async () => (await sign()).replace(/.{9}$/, '\n$&'),
      'five parts': async () => `${await sign()}.a.b`,
      'our own access token': async () => (await app.login(newAddress())).access_token,
    };
    if (dialect === 'sqlite')
      test.each(Object.entries(wrongTokens))('%s', async (_, token) => {
        expect(outcome(await redeem(key, await token()))).toBe(refused);
      });

    test('a claim twice, although the issuer signed it so', async () => {
      const { kid, alg, privateKey } = issuer.keys[0]!;
      const payload = JSON.stringify(claims({ iss: issuer.url, iat: nowSeconds(), exp: nowSeconds() + 60 }));
      const signed = (text: string) =>
        new CompactSign(new TextEncoder().encode(text)).setProtectedHeader({ alg, kid }).sign(privateKey);
      expect(outcome(await redeem(key, await signed(payload)))).toBe('200');
      expect(outcome(await redeem(key, await signed(payload.replace('{', '{"repository_id":"1",'))))).toBe(
        refused,
      );
    });

    test('at the edges of the tolerance it is still good', async () => {
      for (const changed of [
        { exp: nowSeconds() - 50 },
        { iat: nowSeconds() + 50, nbf: nowSeconds() + 50 },
        { iat: nowSeconds(), exp: nowSeconds() + day },
        { aud: [ours] },
      ])
        expect([changed, outcome(await redeem(key, await sign(changed)))]).toEqual([changed, '200']);
    });

    test('all of them answer alike, also for keys that are gone, have a secret or never were, and the log says why', async () => {
      const owner = await app.login(newAddress());
      const removed = await keyOf(owner);
      await app.ask('DELETE', `/keys/${removed.id}`, { token: owner.access_token });
      const secret = (await post(owner, wantedKey)).body;
      const { sessions } = (await app.ask('GET', '/sessions', { token: owner.access_token })).body;
      const assertion = await sign();
      const answers = await Promise.all([
        ...[removed.id, secret.id, sessions[0].id, 'key_unknown', secret.key].map((id) =>
          redeem({ id } as CreatedKey, assertion),
        ),
        redeem(key, await sign({ repository_id: '1' })),
        redeem(key, await sign({}, { key: other.keys[0]! })),
        redeem(key, assertion.slice(1), { scope: 'nobody:declared', expires_in: '1' }),
      ]);
      const bodies = answers.map(({ body }) => JSON.stringify({ ...body, request_id: '' }));
      expect([...new Set(bodies)]).toHaveLength(1);
      expect(answers.map(outcome)).toEqual(answers.map(() => refused));
      const log = node.logs.join('');
      expect(log).toContain('"reason":"claim","claim":"repository_id"');
      expect(log).toContain('"reason":"signature"');
      expect(log).not.toContain(assertion);
    });

    test('a disabled account, too', async () => {
      const owner = await app.login(newAddress());
      const own = await keyOf(owner);
      const { email } = (await app.ask('GET', '/me', { token: owner.access_token })).body;
      await setDisabled(app.ctx, email, true);
      expect(outcome(await redeem(own, await sign()))).toBe(refused);
    });
  });

  describe('what ends a key ends its runs', () => {
    const endings: [string, (owner: Tokens, key: CreatedKey) => Promise<Answer>][] = [
      ['removing it', (owner, key) => app.ask('DELETE', `/keys/${key.id}`, { token: owner.access_token })],
      ['signing out everywhere', (owner) => app.ask('POST', '/revoke', { token: owner.access_token })],
    ];
    test.each(endings)('%s', async (_, end) => {
      const owner = await app.login(newAddress());
      const key = await keyOf(owner);
      const { access_token } = await redeemed(key);
      const inner = await startedRun(app, access_token, { scope: 'profile' });
      expect(outcome(await end(owner, key))).toBe('204');
      expect([await me(access_token), await me(inner.access_token)]).toEqual([
        '401 invalid_token',
        '401 invalid_token',
      ]);
      expect(outcome(await redeem(key, await sign()))).toBe(refused);
    });

    test('its end', async () => {
      const key = await keyOf(await app.login(newAddress()), { expires_in: 3600 });
      app.pass(3000);
      const { access_token, expires_in } = await redeemed(key, { expires_in: '3600' });
      expect(expires_in).toBeLessThanOrEqual(600);
      app.pass(600);
      expect(await me(access_token)).toBe('401 invalid_token');
      expect(outcome(await redeem(key, await sign()))).toBe(refused);
    });
  });

  test('making, using (once an hour) and removing a key are events, and its use is shown', async () => {
    const owner = await app.login(newAddress());
    const key = await keyOf(owner);
    await redeemed(key);
    await redeemed(key, { scope: 'profile' });
    expect(await loggedEvents(app, owner, 'key_used')).toMatchObject([
      { detail: { key_id: key.id, name: 'build', issuer: issuer.url, subject: trusted.sub } },
    ]);
    const [listed] = (await app.ask('GET', '/keys', { token: owner.access_token })).body.keys;
    expect(listed.last_used_at).toEqual(expect.any(String));
    app.pass(3600);
    await redeemed(key);
    expect(await loggedEvents(app, owner, 'key_used')).toHaveLength(2);
    await app.ask('DELETE', `/keys/${key.id}`, { token: owner.access_token });
    expect(await loggedEvents(app, owner, 'key_created')).toMatchObject([
      { detail: { key_id: key.id, issuer: issuer.url } },
    ]);
    expect(await loggedEvents(app, owner, 'key_removed')).toMatchObject([{ detail: { key_id: key.id } }]);
  });
});
