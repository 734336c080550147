import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { serviceRights } from '@latchkey/contract/scopes';
import { newAddress, outcome } from '#support/account.ts';
import { onBothDatabases, type TestApp, type Tokens } from '#support/app.ts';
import { accessTokenType } from '#support/http.ts';
import { agentsUri, exchange, refreshRun, runScene, ticketsUri } from '#support/runs.ts';
import { declareService } from '#support/services.ts';

const filesUri = 'https://files.example/api';

onBothDatabases('token exchange', (open, dialect) => {
  const { app, node, agents, tickets, builds, run, facts, idFor } = runScene(open, dialect);
  let login: Tokens;
  beforeAll(() => declareService(app.ctx, { name: 'Files', resource: filesUri }));
  beforeEach(async () => {
    login = await app.login(newAddress());
  });

  const refusal = async (token: string | undefined, wants = {}) => outcome(await exchange(app, token, wants));
  /** Expects each of these exchanges to be refused so. */
  const requireRefused = async (token: string, refused: string, all: readonly object[]) => {
    for (const wants of all) expect([wants, await refusal(token, wants)]).toEqual([wants, refused]);
  };
  describe('without a service', () => {
    test('a program narrows its own token, and gets no refresh token', async () => {
      const answer = await exchange(app, login.access_token, { scope: 'profile', act: { sub: agents.id } });
      expect(answer.body).toEqual({
        access_token: expect.stringMatching(/^lk_at_/),
        issued_token_type: accessTokenType,
        token_type: 'Bearer',
        expires_in: 900,
        scope: 'profile',
      });
      expect(answer.headers.get('Cache-Control')).toBe('no-store');
      await requireRefused(login.access_token, '400 invalid_scope', [{ scope: 'openid profile' }]);
      const token = answer.body.access_token;
      const me = await app.ask('GET', '/me', { token });
      expect(me.body).toMatchObject({ name: expect.any(String) });
      expect(me.body).not.toHaveProperty('email');
      expect(outcome(await app.ask('GET', '/organizations', { token }))).toBe('403 insufficient_scope');
      const found = await facts(token);
      expect(found).toMatchObject({
        active: true,
        token_use: 'access_token',
        session_kind: 'run',
        scope: 'profile',
        within: [await idFor(login.access_token)],
      });
      for (const absent of ['act', 'aud', 'auth_time', 'amr', 'acr', 'authorization_details'])
        expect(found).not.toHaveProperty(absent);
    });

    test('a run does not outlast the token it was made of', async () => {
      app.pass(login.expires_in - 60);
      const outer = await run(login.access_token, { scope: 'profile' });
      expect(outer.expires_in).toBeLessThanOrEqual(60);
      const { access_token } = await run(outer.access_token, { expires_in: '600' });
      expect((await facts(access_token)).exp).toBe((await facts(outer.access_token)).exp);
    });
  });

  describe('with a service', () => {
    test('the service acts in the run, which it refreshes', async () => {
      const scope = 'tickets:read profile';
      const started = await run(login.access_token, { by: agents.authorization, scope, expires_in: '300' });
      expect(started).toMatchObject({ expires_in: 300, scope });
      expect(await facts(started.access_token)).toMatchObject({ act: { sub: agents.id } });
      app.pass(200);
      const refreshed = await refreshRun(app, started.refresh_token, agents.authorization);
      expect(refreshed.body).toMatchObject({ expires_in: 300, scope });
      expect(refreshed.body.refresh_token).not.toBe(started.refresh_token);
      const found = await facts(refreshed.body.access_token);
      expect([found.exp - found.iat, found.sid]).toEqual([300, await idFor(started.access_token)]);
    });

    test('actors are nested, the last one outermost, and a run narrowed without a key stays acted in', async () => {
      const first = await run(login.access_token, { by: agents.authorization, scope: 'profile' });
      const second = await run(first.access_token, { by: builds.authorization });
      const third = await run(second.access_token);
      const act = { sub: builds.id, act: { sub: agents.id } };
      const within = await Promise.all([second, first, login].map((one) => idFor(one.access_token)));
      expect(await facts(second.access_token)).toMatchObject({ act, within: within.slice(1) });
      expect(await facts(third.access_token)).toMatchObject({ act, within });
      expect(third).not.toHaveProperty('refresh_token');
    });

    test('it needs a valid key with the right to delegate', async () => {
      const rights = serviceRights.filter((right) => right !== 'delegate');
      const { authorization } = await declareService(app.ctx, { name: 'Plain', rights });
      const scope = 'profile';
      expect(await refusal(login.access_token, { by: authorization, scope })).toBe('403 unauthorized_client');
      const wrong = await exchange(app, login.access_token, { by: `${agents.authorization}x`, scope });
      expect(outcome(wrong)).toBe('401 invalid_client');
      expect(wrong.headers.get('WWW-Authenticate')).toStartWith('Basic');
    });
  });

  describe('the request', () => {
    test('a subject token that is not good is an invalid request, whatever is wrong with it', async () => {
      const scope = 'profile';
      const ended = await app.login(newAddress());
      await app.ask('DELETE', '/logout?scope=session', { token: ended.access_token });
      const { device_code } = (await app.ask('POST', '/device')).body;
      const short = await run(login.access_token, { scope, expires_in: '60' });
      app.pass(61);
      for (const token of [
        ...[undefined, 'no token', login.refresh_token, device_code, ended.access_token, short.access_token],
        `${login.access_token.slice(0, -4)}AAAA`,
        `lk_ak_${login.access_token.slice(6)}`,
      ])
        expect([token, await refusal(token, { scope })]).toEqual([token, '400 invalid_request']);
    });

    test('what else RFC 8693 knows is refused, and so is what makes no sense', async () => {
      const token = login.access_token;
      const scope = 'profile';
      const others = [
        ...[{ audience: 'tickets' }, { actor_token: token }, { actor_token_type: accessTokenType }],
        ...['jwt', 'refresh_token'].map((type) => ({
          requested_token_type: `urn:ietf:params:oauth:token-type:${type}`,
        })),
        { subject_token_type: 'urn:ietf:params:oauth:token-type:jwt' },
        ...['59', '3601', '1e3', '-60', '900.5'].map((expires_in) => ({ expires_in })),
        // Without the id of its service.
        { client_secret: 'lk_sk_x' },
      ];
      await requireRefused(
        token,
        '400 invalid_request',
        others.map((other) => ({ scope, ...other })),
      );
      expect(await refusal(token, { scope, requested_token_type: accessTokenType })).toBe('200');
    });
  });

  describe('the resource', () => {
    const scope = 'tickets:read';

    test('of all services only the one it is for exchanges a bound token, for its resource or its reach', async () => {
      const { access_token: bound } = await run(login.access_token, {
        by: builds.authorization,
        scope: 'tickets:read profile',
        resource: agentsUri,
      });
      const others = [tickets, builds].map(({ authorization: by }) => ({ by }));
      await requireRefused(bound, '400 invalid_request', others);
      const by = agents.authorization;
      const reached = await run(bound, { by, scope, resource: ticketsUri });
      expect(await facts(reached.access_token)).toMatchObject({ aud: ticketsUri });
      await requireRefused(bound, '400 invalid_target', [{ by, resource: filesUri }, { resource: filesUri }]);
      const unknown = ['https://nobody.example', ''].map((resource) => ({ scope, resource }));
      await requireRefused(login.access_token, '400 invalid_target', unknown);
      const stayed = await run(bound, { by });
      expect(await facts(stayed.access_token, agents)).toMatchObject({ aud: agentsUri });
    });

    test('a resource that its service no longer declares cannot be inherited', async () => {
      const uri = 'https://moving.example/api';
      const moving = await declareService(app.ctx, { name: 'Moving', resource: uri, rights: ['delegate'] });
      const { access_token: bound } = await run(login.access_token, { scope: 'profile', resource: uri });
      for (const change of [
        `UPDATE service_keys SET resource = '${uri}/v2' WHERE id = '${moving.id}'`,
        `UPDATE declarations SET withdrawn_at = 1 WHERE name = '${uri}'`,
      ])
        await app.ctx.db.single.run(change, []);
      expect(await refusal(bound)).toBe('400 invalid_target');
      expect(await refusal(bound, { by: moving.authorization })).toBe('400 invalid_request');
    });
  });

  describe('authorization details', () => {
    const read = { type: 'ticket', actions: ['read'], tickets: [1, 2] };
    const write = { type: 'ticket', actions: ['write'] };
    const scope = 'tickets:read';
    const wrong = '400 invalid_authorization_details';

    test('are in the answer, in that of each refresh, which is repeated on any node, in introspection and in the list of sessions', async () => {
      const owner = await app.login(newAddress());
      const details = [read, { type: 'anything at all', ü: null }];
      const by = agents.authorization;
      const started = await run(owner.access_token, { by, scope, authorization_details: details });
      const refresh = (on: TestApp) => refreshRun(on, started.refresh_token, by);
      const answers = await Promise.all([app, node, app, node].map(refresh));
      expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
      const refreshed = answers.map(({ body }) => body);
      for (const shown of [started, ...refreshed, await facts(started.access_token)])
        expect(shown.authorization_details).toEqual(details);
      const { sessions } = (await app.ask('GET', '/sessions', { token: owner.access_token })).body;
      expect(sessions.find(({ kind }: { kind: string }) => kind === 'run')).toMatchObject({
        within: [await idFor(owner.access_token)],
        scope,
        resource: null,
        client_name: 'Agents',
        authorization_details: details,
        method: 'token_exchange',
      });
    });

    test('of a run are those of its parent, or each of them equals one there', async () => {
      const wanted = [{ authorization_details: [read, write] }];
      const { access_token: token } = await run(login.access_token, { scope, ...wanted[0] });
      expect((await run(token)).authorization_details).toEqual([read, write]);
      const reordered = [{ tickets: [1, 2], actions: ['read'], type: 'ticket' }];
      expect((await run(token, { authorization_details: reordered })).authorization_details).toEqual(
        reordered,
      );
      const beyond = [
        ...[[{ ...read, tickets: [2, 1] }], [{ type: 'ticket' }], [{ ...write, more: true }], []],
        ...[[read, { type: 'other' }], '[{"type":"ticket","actions":["write"],"__proto__":{}}]'],
        // Not well formed.
        ...['', 'no JSON', '[{"type":"ticket","type":"ticket"}]', [{}]],
      ];
      await requireRefused(
        token,
        wrong,
        beyond.map((authorization_details) => ({ authorization_details })),
      );
    });

    test('have no number that would become another one, in a run or a key', async () => {
      const ofAmount = (amount: string) => ({ scope, authorization_details: `[{"type":"a","n":${amount}}]` });
      const exact = await run(login.access_token, ofAmount('[1.50, 1E+2,0.1,9007199254740991,5e-324]'));
      expect(exact.authorization_details).toEqual([{ type: 'a', n: [1.5, 100, 0.1, 2 ** 53 - 1, 5e-324] }]);
      const lossy = ['100.00000000000000001', '[1, 4503599627370497.25]', '-1e-400', '1e400'];
      lossy.push('12345678901234568', `1.${'0'.repeat(100)}`);
      await requireRefused(login.access_token, wrong, lossy.map(ofAmount));
      const [body] = lossy.map(ofAmount);
      const raw = `{"name":"build","scope":"*","expires_in":3600,"authorization_details":${body?.authorization_details}}`;
      const headers = { 'Content-Type': 'application/json' };
      expect(outcome(await app.ask('POST', '/keys', { token: login.access_token, headers, raw }))).toBe(
        wrong,
      );
    });
  });
});
