import { beforeAll, describe, expect, test } from 'bun:test';
import { newAddress, outcome } from '../../../../../tests/support/account.ts';
import { onBothDatabases, type Tokens } from '../../../../../tests/support/app.ts';
import { createdKey } from '../../../../../tests/support/keys.ts';
import {
  accessTokenType,
  exchange,
  idOf,
  introspected,
  refreshRun,
  startedRun,
} from '../../../../../tests/support/runs.ts';
import { declareService, type TestService } from '../../../../../tests/support/services.ts';
import { shared } from '../../../../../tests/support/shared.ts';

const agentsUri = 'https://agents.example/api';
const ticketsUri = 'https://tickets.example/api';
const filesUri = 'https://files.example/api';

onBothDatabases('token exchange', (open) => {
  const app = shared(open);
  let login: Tokens;
  /** May delegate, and reach the tickets. */
  let agents: TestService;
  let tickets: TestService;
  /** May delegate, and has no resource. */
  let builds: TestService;

  beforeAll(async () => {
    login = await app.login(newAddress());
    agents = await declareService(app.ctx, {
      name: 'Agents',
      resource: agentsUri,
      scopes: [{ name: 'agents:run', sentence: 'Run agents' }],
      rights: ['delegate'],
      reach: [ticketsUri],
    });
    tickets = await declareService(app.ctx, {
      name: 'Tickets',
      resource: ticketsUri,
      scopes: [
        { name: 'tickets:read', sentence: 'Read tickets' },
        { name: 'tickets:write', sentence: 'Write tickets' },
      ],
      rights: ['delegate'],
    });
    builds = await declareService(app.ctx, { name: 'Builds', rights: ['delegate'] });
    await declareService(app.ctx, { name: 'Files', resource: filesUri });
  });

  const run = (token: string, wants = {}) => startedRun(app, token, wants);
  const refusal = async (token: string | undefined, wants = {}) => outcome(await exchange(app, token, wants));
  const facts = (token: string, service: TestService = tickets) =>
    introspected(app, token, service.authorization);

  describe('without a service', () => {
    test('a program narrows its own token, and gets no refresh token', async () => {
      const answer = await exchange(app, login.access_token, { scope: 'profile' });
      expect(answer.body).toEqual({
        access_token: expect.stringMatching(/^lk_at_/),
        issued_token_type: accessTokenType,
        token_type: 'Bearer',
        expires_in: 900,
        scope: 'profile',
      });
      expect(answer.headers.get('Cache-Control')).toBe('no-store');
      const token = answer.body.access_token;
      const me = await app.ask('GET', '/me', { token });
      expect(me.status).toBe(200);
      expect(me.body).not.toHaveProperty('email');
      expect(outcome(await app.ask('GET', '/organizations', { token }))).toBe('403 insufficient_scope');
      const found = await facts(token);
      expect(found).toMatchObject({
        active: true,
        token_use: 'access_token',
        session_kind: 'run',
        scope: 'profile',
        within: [await idOf(app, login.access_token, tickets.authorization)],
      });
      for (const absent of ['act', 'aud', 'auth_time', 'amr', 'acr', 'authorization_details'])
        expect(found).not.toHaveProperty(absent);
    });

    test('a run does not outlast the token it was made of', async () => {
      const outer = await run(login.access_token, { scope: 'profile', expires_in: '120' });
      app.pass(60);
      const inner = await run(outer.access_token, { expires_in: '600' });
      expect(inner.expires_in).toBeLessThanOrEqual(60);
      const { exp } = await facts(inner.access_token);
      expect(exp).toBe((await facts(outer.access_token)).exp);
    });

    test('a key stands wherever an access token does', async () => {
      const { id, key } = await createdKey(app, login, { scope: 'profile email' });
      const { access_token } = await run(key, { scope: 'email' });
      expect(await facts(access_token)).toMatchObject({ scope: 'email', within: [id] });
    });
  });

  describe('with a service', () => {
    test('the service acts in the run, which it refreshes', async () => {
      const started = await run(login.access_token, {
        by: agents.authorization,
        scope: 'tickets:read profile',
        expires_in: '300',
      });
      expect(started).toMatchObject({ expires_in: 300, scope: 'tickets:read profile' });
      expect(await facts(started.access_token)).toMatchObject({ act: { sub: agents.id } });
      app.pass(200);
      const refreshed = await refreshRun(app, started.refresh_token, agents.authorization);
      expect(refreshed.body).toMatchObject({ expires_in: 300, scope: 'tickets:read profile' });
      expect(refreshed.body.refresh_token).not.toBe(started.refresh_token);
      const found = await facts(refreshed.body.access_token);
      expect(found.exp - found.iat).toBe(300);
      expect(await idOf(app, started.access_token, tickets.authorization)).toBe(found.sid);
    });

    test('actors are nested, the last one outermost, and a run narrowed without a key stays acted in', async () => {
      const first = await run(login.access_token, { by: agents.authorization, scope: 'profile' });
      const second = await run(first.access_token, { by: builds.authorization });
      const third = await run(second.access_token);
      const act = { sub: builds.id, act: { sub: agents.id } };
      expect(await facts(second.access_token)).toMatchObject({ act });
      const found = await facts(third.access_token);
      expect(found.act).toEqual(act);
      expect(found.within).toEqual([
        await idOf(app, second.access_token, tickets.authorization),
        await idOf(app, first.access_token, tickets.authorization),
        await idOf(app, login.access_token, tickets.authorization),
      ]);
      expect(third).not.toHaveProperty('refresh_token');
    });

    test('it needs a valid key with the right to delegate', async () => {
      const plain = await declareService(app.ctx, { name: 'Plain' });
      const scope = 'profile';
      expect(await refusal(login.access_token, { by: plain.authorization, scope })).toBe(
        '403 unauthorized_client',
      );
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
      const bound = await run(login.access_token, { scope: 'tickets:read', resource: ticketsUri });
      for (const token of [
        'no token',
        login.refresh_token,
        device_code,
        ended.access_token,
        `${login.access_token.slice(0, -4)}AAAA`,
        `lk_ak_${login.access_token.slice(6)}`,
      ])
        expect(await refusal(token, { scope })).toBe('400 invalid_request');
      expect(await refusal(undefined, { scope })).toBe('400 invalid_request');
      expect(await refusal(bound.access_token, { by: agents.authorization })).toBe('400 invalid_request');
      const short = await run(login.access_token, { scope, expires_in: '60' });
      app.pass(61);
      expect(await refusal(short.access_token)).toBe('400 invalid_request');
    });

    test('what else RFC 8693 knows is refused, and so is what makes no sense', async () => {
      const token = login.access_token;
      const scope = 'profile';
      for (const wants of [
        { audience: 'tickets' },
        { actor_token: token },
        { actor_token_type: accessTokenType },
        { requested_token_type: 'urn:ietf:params:oauth:token-type:jwt' },
        { requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' },
        { subject_token_type: 'urn:ietf:params:oauth:token-type:jwt' },
        { expires_in: '59' },
        { expires_in: '3601' },
        { expires_in: '1e3' },
        { expires_in: '-60' },
        { expires_in: '900.5' },
      ])
        expect([wants, await refusal(token, { scope, ...wants })]).toEqual([wants, '400 invalid_request']);
      expect(await refusal(token, { scope, requested_token_type: accessTokenType })).toBe('200');
      const twice = `grant_type=${encodeURIComponent('urn:ietf:params:oauth:grant-type:token-exchange')}&subject_token=${token}&subject_token_type=${accessTokenType}&scope=profile`;
      for (const more of ['&scope=email', '&resource=a&resource=b', '&subject_token=x'])
        expect(outcome(await app.ask('POST', '/token', { form: twice + more }))).toBe('400 invalid_request');
    });

    test('a run never gets everything, and no more than its parent', async () => {
      const { access_token: token } = login;
      for (const scope of ['*', '', 'nobody:declared', 'profile *', 'Profile', 'profile  email'])
        expect([scope, await refusal(token, { scope })]).toEqual([scope, '400 invalid_scope']);
      expect(await refusal(token)).toBe('400 invalid_scope');
      const narrow = await run(token, { scope: 'profile tickets:read' });
      for (const scope of ['*', 'email', 'profile email', 'tickets:write'])
        expect([scope, await refusal(narrow.access_token, { scope })]).toEqual([scope, '400 invalid_scope']);
      expect((await run(narrow.access_token)).scope).toBe('profile tickets:read');
      expect((await run(narrow.access_token, { scope: 'tickets:read' })).scope).toBe('tickets:read');
    });

    test('what claims to be an actor is ignored', async () => {
      const { access_token } = await run(login.access_token, { scope: 'profile', act: { sub: agents.id } });
      expect(await facts(access_token)).not.toHaveProperty('act');
    });
  });

  describe('the resource', () => {
    const scope = 'tickets:read';

    test('a run can be bound to any declared resource, and stays bound', async () => {
      const { access_token: token } = login;
      const bound = await run(token, { scope, resource: ticketsUri });
      expect(await facts(bound.access_token)).toMatchObject({ active: true, aud: ticketsUri });
      expect(await facts(bound.access_token, agents)).toEqual({ active: false });
      const inner = await run(bound.access_token);
      expect(await facts(inner.access_token)).toMatchObject({ aud: ticketsUri });
      expect(await refusal(bound.access_token, { resource: filesUri })).toBe('400 invalid_target');
      expect(await refusal(token, { scope, resource: 'https://nobody.example' })).toBe('400 invalid_target');
      expect(await refusal(token, { scope, resource: '' })).toBe('400 invalid_target');
    });

    test('of all services only the one it is for exchanges a bound token, for its resource or its reach', async () => {
      const bound = await run(login.access_token, {
        by: builds.authorization,
        scope: 'tickets:read agents:run',
        resource: agentsUri,
      });
      expect(await refusal(bound.access_token, { by: tickets.authorization })).toBe('400 invalid_request');
      expect(await refusal(bound.access_token, { by: builds.authorization })).toBe('400 invalid_request');
      const by = agents.authorization;
      const reached = await run(bound.access_token, { by, scope, resource: ticketsUri });
      expect(await facts(reached.access_token)).toMatchObject({ aud: ticketsUri });
      expect(await refusal(bound.access_token, { by, resource: filesUri })).toBe('400 invalid_target');
      const stayed = await run(bound.access_token, { by });
      expect(await facts(stayed.access_token, agents)).toMatchObject({ aud: agentsUri });
    });

    test('a resource that its service no longer declares cannot be inherited', async () => {
      const uri = 'https://moving.example/api';
      const moving = await declareService(app.ctx, { name: 'Moving', resource: uri, rights: ['delegate'] });
      const bound = await run(login.access_token, { scope: 'profile', resource: uri });
      const change = `UPDATE service_keys SET resource = '${uri}/v2' WHERE id = '${moving.id}'`;
      await app.ctx.db.single.run(change, []);
      const withdraw = `UPDATE declarations SET withdrawn_at = 1 WHERE name = '${uri}'`;
      await app.ctx.db.single.run(withdraw, []);
      expect(await refusal(bound.access_token)).toBe('400 invalid_target');
      expect(await refusal(bound.access_token, { by: moving.authorization })).toBe('400 invalid_request');
    });

    test('a bound run is good for nothing here but ending itself and making runs', async () => {
      const { access_token: token } = await run(login.access_token, {
        scope: 'profile',
        resource: ticketsUri,
      });
      for (const path of ['/me', '/organizations', '/sessions'])
        expect(outcome(await app.ask('GET', path, { token }))).toBe('403 insufficient_scope');
      expect(outcome(await app.ask('POST', '/revoke', { token }))).toBe('403 insufficient_scope');
      await run(token);
      expect(outcome(await app.ask('DELETE', '/logout?scope=session', { token }))).toBe('204');
      expect(await facts(token)).toEqual({ active: false });
    });
  });

  describe('authorization details', () => {
    const read = { type: 'ticket', actions: ['read'], tickets: [1, 2] };
    const write = { type: 'ticket', actions: ['write'] };
    const scope = 'tickets:read';

    test('are repeated in the answer, at each refresh, in introspection and in the list of sessions', async () => {
      const owner = await app.login(newAddress());
      const details = [read, { type: 'anything at all', ü: null }];
      const started = await run(owner.access_token, {
        by: agents.authorization,
        scope,
        authorization_details: details,
      });
      expect(started.authorization_details).toEqual(details);
      const refreshed = await refreshRun(app, started.refresh_token, agents.authorization);
      expect(refreshed.body.authorization_details).toEqual(details);
      expect((await facts(started.access_token)).authorization_details).toEqual(details);
      const { sessions } = (await app.ask('GET', '/sessions', { token: owner.access_token })).body;
      expect(sessions.find(({ kind }: { kind: string }) => kind === 'run')).toMatchObject({
        within: [await idOf(app, owner.access_token, tickets.authorization)],
        scope,
        resource: null,
        client_name: 'Agents',
        authorization_details: details,
        method: 'token_exchange',
      });
    });

    test('a secret in the form without the id of its service is refused', async () => {
      const wants = { scope, client_secret: 'lk_sk_x' };
      expect(await refusal(login.access_token, wants)).toBe('400 invalid_request');
    });

    test('must be an array of objects with a string type, of at most 4 KiB', async () => {
      const of = (bytes: number) => [{ type: 'x'.repeat(bytes - JSON.stringify([{ type: '' }]).length) }];
      for (const authorization_details of [
        '',
        'no JSON',
        '{"type":"ticket"}',
        '[1]',
        '[null]',
        '[[]]',
        '[{}]',
        '[{"type":1}]',
        '[{"type":""}]',
        '[{"type":"a","max":1e400}]',
        '[{"type":"a","deep":[{"id":12345678901234567890}]}]',
        '[{"type":"a","type":"b"}]',
        of(4097),
        of(5 * 1024),
      ]) {
        const wants = { scope, authorization_details };
        expect(await refusal(login.access_token, wants)).toBe('400 invalid_authorization_details');
      }
      await run(login.access_token, { scope, authorization_details: of(4096) });
    });

    test('a run has those of its parent, and each of its own must equal one of them', async () => {
      const outer = await run(login.access_token, { scope, authorization_details: [read, write] });
      const { access_token: token } = outer;
      expect((await run(token)).authorization_details).toEqual([read, write]);
      const reordered = { tickets: [1, 2], actions: ['read'], type: 'ticket' };
      expect((await run(token, { authorization_details: [reordered] })).authorization_details).toEqual([
        reordered,
      ]);
      for (const authorization_details of [
        [{ ...read, tickets: [2, 1] }],
        [{ type: 'ticket' }],
        [{ ...write, more: true }],
        [read, { type: 'other' }],
        '[{"type":"ticket","actions":["write"],"__proto__":{}}]',
        [],
      ])
        expect(await refusal(token, { authorization_details })).toBe('400 invalid_authorization_details');
    });
  });
});
