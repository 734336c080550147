// What a token of an issuer gets. Which claims are good is in trust.test.ts, issuers.test.ts and assertion.test.ts.

import { beforeAll, describe, expect, test } from 'bun:test';
import type { CreatedKey } from '@latchkey/contract/keys';
import { federationGrantType } from '@latchkey/contract/tokens';
import { newAddress, outcome } from '#support/account.ts';
import { onBothDatabases, sharedNodes, type TestApp, type Tokens } from '#support/app.ts';
import { githubClaims, newSigningKey, startIssuer, type TestClaims } from '#support/issuer.ts';
import { createdKey, wantedKey } from '#support/keys.ts';
import { loggedEvents } from '#support/security-log.ts';
import { declareService, ticketsDeclared } from '#support/services.ts';
import { shared } from '#support/shared.ts';
import { setDisabled } from '../../identity/account/account.ts';

const { resource: tickets } = ticketsDeclared;
const refused = '400 invalid_grant';
const ids = { repository_id: '784120233', repository_owner_id: '1099001' };
const trusted = { sub: 'repo:ada@1099001/engine@784120233:ref:refs/heads/main', ...ids };

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
    await declareService(app.ctx, ticketsDeclared);
  });

  const trust = (claims: Record<string, string> = trusted) => ({ issuer: issuer.url, claims });
  const post = ({ access_token: token }: Tokens, json: object) => app.ask('POST', '/keys', { token, json });
  const keyOf = (owner: Tokens, wants: object = {}): Promise<CreatedKey> =>
    createdKey(app, owner, { scope: 'profile tickets:read', trust: trust(), ...wants });
  const newKey = async (wants?: object) => keyOf(await app.login(newAddress()), wants);
  const keysOf = async ({ access_token: token }: Tokens) =>
    (await app.ask('GET', '/keys', { token })).body.keys;
  const grant = (form: Record<string, string>, on: TestApp = node, headers = {}) =>
    on.ask('POST', '/token', { form: { grant_type: federationGrantType, ...form }, headers });
  const sign = (changed: TestClaims = {}, how: Parameters<typeof issuer.sign>[1] = {}) =>
    issuer.sign(githubClaims(ours, changed), { now: app.ctx.clock(), ...how });
  const redeem = (key: Pick<CreatedKey, 'id'>, assertion: string, more: Record<string, string> = {}) =>
    grant({ assertion, key_id: key.id, ...more });
  const redeemed = async (key: CreatedKey, more: Record<string, string> = {}) => {
    const answer = await redeem(key, await sign(), more);
    expect(outcome(answer)).toBe('200');
    return answer.body;
  };
  const me = async (token: string) => outcome(await app.ask('GET', '/me', { token }));
  const nowSeconds = () => Math.floor(app.ctx.clock() / 1000);

  describe('a key with trust', () => {
    test('has no secret, is listed with its issuer and claims, and can have 20 of 1,000 characters', async () => {
      const owner = await app.login(newAddress());
      const key = await keyOf(owner);
      const { id, created_at, expires_at, ...rest } = key;
      expect(rest).toEqual({
        name: 'build',
        scope: 'profile tickets:read',
        resource: null,
        trust: trust(),
        last_used_at: null,
      });
      expect(await keysOf(owner)).toEqual([key]);
      const names = Array.from({ length: 19 }, (_, n) => `c${n}`.padEnd(1000, 'y'));
      const claims = { sub: 'x', ...Object.fromEntries(names.map((name) => [name, 'é'.repeat(1000)])) };
      expect((await keyOf(owner, { trust: trust(claims) })).trust?.claims).toEqual(claims);
    });

    test('needs an issuer that the operator lists, and claims that are text and identify a job', async () => {
      const owner = await app.login(newAddress());
      const github = 'https://token.actions.githubusercontent.com';
      const ref = 'refs/heads/main';
      for (const trust of [
        null,
        { issuer: 'https://other.example', claims: { sub: 'x' } },
        { issuer: 'github', claims: { ...ids, ref } },
        { issuer: github },
        { issuer: issuer.url, claims: { ...ids, ref } },
        ...[1, '', 'x'.repeat(1001)].map((ref) => ({ issuer: github, claims: { ...ids, ref } })),
        { issuer: github, claims: { ...ids, ref, '': 'x' } },
        { issuer: github, claims: JSON.parse(`{"__proto__":"x","ref":"x",${JSON.stringify(ids).slice(1)}`) },
      ])
        expect([trust, outcome(await post(owner, { ...wantedKey, trust }))]).toEqual([
          trust,
          '400 invalid_request',
        ]);
      expect(await keysOf(owner)).toEqual([]);
    });
  });

  describe('a token of the issuer', () => {
    test('gets runs within the key until it expires, which may outlast it, without a refresh token', async () => {
      const owner = await app.login(newAddress());
      const key = await keyOf(owner);
      const assertion = await sign({ exp: nowSeconds() + 1 });
      for (const [more, expires_in] of [
        [{ expires_in: '3600' }, 3600],
        [{}, 900],
      ] as const) {
        const answer = await redeem(key, assertion, { scope: 'profile', ...more });
        expect([outcome(answer), answer.body]).toEqual([
          '200',
          {
            access_token: expect.stringMatching(/^lk_at_/),
            issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
            token_type: 'Bearer',
            expires_in,
            scope: 'profile',
          },
        ]);
        expect(await me(answer.body.access_token)).toBe('200');
      }
      const { body } = await app.ask('GET', '/sessions', { token: owner.access_token });
      const runs = body.sessions.filter(({ kind }: { kind: string }) => kind === 'run');
      expect(runs).toMatchObject(Array(2).fill({ within: [key.id], scope: 'profile' }));
    });

    test('has the scope, resource and details of the key by default, and never more', async () => {
      const details = [{ type: 'deploy', to: 'staging' }];
      const wants = { scope: 'tickets:read', resource: tickets, authorization_details: details };
      const key = await newKey(wants);
      expect((await redeemed(key)).authorization_details).toEqual(details);
      // Each rule of runs once: sessions/runs/runs.test.ts.
      for (const [more, expected] of [
        [{ scope: 'profile' }, 'invalid_scope'],
        [{ resource: 'https://other.example' }, 'invalid_target'],
        [{ authorization_details: '[{"type":"deploy","to":"production"}]' }, 'invalid_authorization_details'],
        [{ expires_in: '3601' }, 'invalid_request'],
        [{ audience: 'https://other.example' }, 'invalid_request'],
      ] as const)
        expect([more, outcome(await redeem(key, await sign(), more))]).toEqual([more, `400 ${expected}`]);
      const everything = await newKey({ scope: '*' });
      expect(outcome(await redeem(everything, await sign()))).toBe('400 invalid_scope');
      expect((await redeemed(everything, { scope: 'profile' })).scope).toBe('profile');
    });

    test.each(['ES256', 'EdDSA'])('may be signed with %s, at a node that lists the issuer', async (alg) => {
      other.keys = [await newSigningKey(alg)];
      const trusting = await open({ settings: { LATCHKEY_TRUSTED_ISSUERS: other.url }, beside: app });
      const { access_token: token } = await trusting.login(newAddress());
      const json = { ...wantedKey, scope: 'profile', trust: { ...trust(), issuer: other.url } };
      const { body: key } = await trusting.ask('POST', '/keys', { token, json });
      const assertion = await other.sign(githubClaims(ours), { now: app.ctx.clock() });
      expect(outcome(await grant({ assertion, key_id: key.id }, trusting))).toBe('200');
      expect(outcome(await redeem(key, assertion))).toBe(refused);
      expect(outcome(await redeem(await newKey(), assertion))).toBe(refused);
    });

    test('needs the key beside it, and no service key', async () => {
      const { id: key_id } = await newKey();
      const { id, secret, authorization } = await declareService(app.ctx, { rights: ['delegate'] });
      const assertion = await sign();
      for (const [form, headers] of [
        [{ assertion }, {}],
        [{ key_id }, {}],
        [{ assertion, key_id }, { Authorization: authorization }],
        [{ assertion, key_id, client_id: id, client_secret: secret }, {}],
      ] as [Record<string, string>, object][])
        expect(outcome(await grant(form, app, headers))).toBe('400 invalid_request');
    });

    test('is refused if anything is wrong with it, its key or its account; the log says why, the answer nothing', async () => {
      const email = newAddress();
      const owner = await app.login(email);
      const [key, removed] = [await keyOf(owner), await keyOf(owner)];
      const expired = await keyOf(owner, { expires_in: 3600 });
      const secret = (await post(owner, wantedKey)).body;
      await app.ask('DELETE', `/keys/${removed.id}`, { token: owner.access_token });
      app.pass(3000);
      // A run never outlasts its key.
      expect((await redeemed(expired, { expires_in: '3600' })).expires_in).toBeLessThanOrEqual(600);
      app.pass(600);
      const { sessions } = (await app.ask('GET', '/sessions', { token: owner.access_token })).body;
      const assertion = await sign();
      const wrong = [
        ...[{ iss: other.url }, { iss: undefined }, { aud: `${ours}/` }, { repository_id: '1' }].map(
          (changed) => sign(changed),
        ),
        sign({}, { key: other.keys[0]! }),
        ...['assertion', `${assertion}==`, owner.access_token],
      ];
      const answers = await Promise.all([
        ...[removed.id, expired.id, secret.id, sessions[0].id, 'key_unknown', secret.key].map((id) =>
          redeem({ id }, assertion),
        ),
        ...wrong.map(async (token) => redeem(key, await token)),
        redeem(key, assertion.slice(1), { scope: 'nobody:declared', expires_in: '1' }),
      ]);
      const log = node.logs.join('');
      await setDisabled(app.ctx, email, true);
      answers.push(await redeem(key, assertion));
      expect(answers.map(outcome)).toEqual(answers.map(() => refused));
      const bodies = answers.map(({ body }) => JSON.stringify({ ...body, request_id: '' }));
      expect(new Set(bodies).size).toBe(1);
      expect(log).toContain('"reason":"claim","claim":"repository_id"');
      expect(log).toContain('"reason":"signature"');
      expect(log).not.toContain(assertion);
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
    expect((await keysOf(owner))[0].last_used_at).toEqual(expect.any(String));
    app.pass(3600);
    await redeemed(key);
    expect(await loggedEvents(app, owner, 'key_used')).toHaveLength(2);
    await app.ask('DELETE', `/keys/${key.id}`, { token: owner.access_token });
    expect(await loggedEvents(app, owner, 'key_created')).toMatchObject([
      { detail: { key_id: key.id, issuer: issuer.url } },
    ]);
    expect(await loggedEvents(app, owner, 'key_removed')).toMatchObject([{ detail: { key_id: key.id } }]);
  });

  test('a signed claim that does not match is an event of the owner once an hour, without its value', async () => {
    const owner = await app.login(newAddress());
    const key = await keyOf(owner);
    const events = () => loggedEvents(app, owner, 'key_refused');
    const now = nowSeconds();
    for (const changed of [
      ...[
        { repository_id: 'a-secret' },
        { repository_id: 'another-secret' },
        { aud: 'https://cloud.example' },
      ],
      ...[{ exp: now - 61 }, { nbf: now + 65 }],
    ])
      expect(outcome(await redeem(key, await sign(changed)))).toBe(refused);
    // Whoever knows the id of a key can write nothing.
    const forged = { key: await newSigningKey('RS256', issuer.keys[0]!.kid) };
    expect(outcome(await redeem(key, await sign({ repository_owner_id: '3' }, forged)))).toBe(refused);
    const detail = { key_id: key.id, name: 'build', issuer: issuer.url };
    expect((await events()).map(({ detail }) => detail)).toEqual(
      ['nbf', 'exp', 'aud', 'repository_id'].map((claim) => ({ ...detail, claim })),
    );
    const log = node.logs.join('');
    expect(log).toContain('"reason":"audience","claim":"aud"');
    expect(log + JSON.stringify(await events())).not.toMatch(/-secret|cloud\.example/);
    app.pass(3600);
    await redeem(key, await sign({ repository_id: 'x' }));
    expect(await events()).toHaveLength(5);
  });

  test('the metadata lists the grant where issuers are listed', async () => {
    const { body } = await app.ask('GET', '.well-known/oauth-authorization-server');
    expect(body.grant_types_supported).toContain(federationGrantType);
  });
});
