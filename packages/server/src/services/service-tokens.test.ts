import { expect, test } from 'bun:test';
import { outcome } from '../../../../tests/support/account.ts';
import { onBothDatabases } from '../../../../tests/support/app.ts';
import { exchange, introspected } from '../../../../tests/support/runs.ts';
import { declareService } from '../../../../tests/support/services.ts';
import { shared } from '../../../../tests/support/shared.ts';
import { revokeService } from '../sessions/ending.ts';

const ticketsUri = 'https://tickets.example/api';
const filesUri = 'https://files.example/api';

onBothDatabases('a token of a service that acts for no user', (open) => {
  const app = shared(open);
  const builds = shared(() =>
    declareService(app.ctx, { name: 'Builds', reach: [ticketsUri, 'https://gone.example'] }),
  );
  const tickets = shared(() =>
    declareService(app.ctx, {
      name: 'Tickets',
      resource: ticketsUri,
      scopes: [
        { name: 'tickets:read', sentence: 'Read tickets' },
        { name: 'tickets:write', sentence: 'Write tickets' },
      ],
    }),
  );
  const files = shared(() =>
    declareService(app.ctx, {
      name: 'Files',
      resource: filesUri,
      scopes: [{ name: 'files:read', sentence: 'Read files' }],
    }),
  );

  const ask = (by: string | undefined, parameters: Record<string, string> = {}) =>
    app.ask('POST', '/token', {
      form: {
        grant_type: 'client_credentials',
        scope: 'tickets:read',
        resource: ticketsUri,
        ...parameters,
      },
      headers: by === undefined ? {} : { Authorization: by },
    });
  const issued = async (parameters: Record<string, string> = {}, by = builds.authorization) => {
    const answer = await ask(by, parameters);
    expect(outcome(answer)).toBe('200');
    return answer.body;
  };
  const facts = (token: string, service = tickets) => introspected(app, token, service.authorization);

  test('says which service acts, and nothing about a session', async () => {
    const answer = await issued();
    expect(answer).toEqual({
      access_token: expect.stringMatching(/^lk_at_/),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'tickets:read',
    });
    const found = await facts((await issued()).access_token);
    expect(found).toEqual({
      active: true,
      token_use: 'access_token',
      token_type: 'Bearer',
      iss: app.ctx.config.baseUrl,
      sub: builds.id,
      aud: ticketsUri,
      scope: 'tickets:read',
      iat: expect.any(Number),
      exp: expect.any(Number),
    });
    expect((await facts((await issued({ expires_in: '60' })).access_token)).exp - found.iat).toBeLessThan(70);
  });

  test('needs a key, a resource within reach and a scope of the service with that resource', async () => {
    const { authorization: by } = builds;
    const refusals: readonly (readonly [string | undefined, Record<string, string>, string])[] = [
      [undefined, {}, '401 invalid_client'],
      [`${by}x`, {}, '401 invalid_client'],
      [by, { resource: '' }, '400 invalid_target'],
      [by, { resource: filesUri, scope: 'files:read' }, '400 invalid_target'],
      [by, { resource: 'https://gone.example' }, '400 invalid_target'],
      [by, { scope: '' }, '400 invalid_scope'],
      [by, { scope: '*' }, '400 invalid_scope'],
      [by, { scope: 'profile' }, '400 invalid_scope'],
      [by, { scope: 'tickets:read files:read' }, '400 invalid_scope'],
      [by, { scope: 'tickets:delete' }, '400 invalid_scope'],
      [by, { expires_in: '3601' }, '400 invalid_request'],
      [by, { authorization_details: '[{"type":"a"}]' }, '400 invalid_request'],
    ];
    for (const [key, parameters, refusal] of refusals)
      expect([parameters, outcome(await ask(key, parameters))]).toEqual([parameters, refusal]);
    const bare = { grant_type: 'client_credentials', scope: 'tickets:read' };
    const without = await app.ask('POST', '/token', { form: bare, headers: { Authorization: by } });
    expect(outcome(without)).toBe('400 invalid_target');
  });

  test('is good for nothing here, and for no other service', async () => {
    const { access_token: token } = await issued();
    for (const [method, path] of [
      ['GET', '/me'],
      ['GET', '/organizations'],
      ['GET', '/sessions'],
      ['POST', '/revoke'],
      ['DELETE', '/logout?scope=session'],
    ] as const)
      expect([path, outcome(await app.ask(method, path, { token }))]).toEqual([
        path,
        '403 insufficient_scope',
      ]);
    expect(outcome(await exchange(app, token, { scope: 'tickets:read' }))).toBe('400 invalid_request');
    expect(await facts(token, files)).toEqual({ active: false });
    expect((await facts(token)).active).toBe(true);
  });

  test('ends when it expires, is revoked, or its service is', async () => {
    const { access_token: expiring } = await issued({ expires_in: '60' });
    app.pass(61);
    expect(await facts(expiring)).toEqual({ active: false });
    expect(outcome(await app.ask('GET', '/me', { token: expiring }))).toBe('401 invalid_token');

    const { access_token: revoked } = await issued();
    expect((await app.ask('POST', '/revoke', { form: { token: revoked } })).status).toBe(200);
    expect(await facts(revoked)).toEqual({ active: false });

    const doomed = await declareService(app.ctx, { name: 'Doomed', reach: [ticketsUri] });
    const { access_token: orphaned } = await issued({}, doomed.authorization);
    expect((await facts(orphaned)).active).toBe(true);
    await revokeService(app.ctx, doomed.id);
    expect(await facts(orphaned)).toEqual({ active: false });
  });

  test('is only for the service that declared its resource when it was issued', async () => {
    const uri = 'https://moved.example/api';
    const scopes = [{ name: 'moved:read', sentence: 'Read' }];
    const former = await declareService(app.ctx, { name: 'Former', resource: uri, scopes });
    const caller = await declareService(app.ctx, { name: 'Caller', reach: [uri] });
    const wants = { resource: uri, scope: 'moved:read' };
    const { access_token: token } = await issued(wants, caller.authorization);
    expect((await facts(token, former)).active).toBe(true);
    const next = await declareService(app.ctx, { name: 'Next' });
    const run = (text: string) => app.ctx.db.single.run(text, []);
    await run(`UPDATE service_keys SET resource = NULL WHERE id = '${former.id}'`);
    await run(`UPDATE service_keys SET resource = '${uri}' WHERE id = '${next.id}'`);
    await run(`UPDATE declarations SET service_id = '${next.id}' WHERE name = '${uri}'`);
    for (const service of [former, next]) expect(await facts(token, service)).toEqual({ active: false });
  });

  test('leaves no row behind once it has expired', async () => {
    await issued();
    app.pass(3 * 3600);
    await app.sweep();
    expect(await app.ctx.db.read.run('SELECT id FROM service_tokens', [])).toEqual([]);
  });

  test('a service gets at most 1,200 a minute', async () => {
    const own = await open({
      settings: { LATCHKEY_RATE_LIMITS: 'service_tokens=2/60' },
    });
    const scopes = [{ name: 'own:read', sentence: 'Read' }];
    await declareService(own.ctx, { resource: ticketsUri, scopes });
    const { authorization } = await declareService(own.ctx, { name: 'Builds', reach: [ticketsUri] });
    const form = { grant_type: 'client_credentials', scope: 'own:read', resource: ticketsUri };
    const answers = [];
    for (let n = 0; n < 3; n++)
      answers.push(
        outcome(await own.ask('POST', '/token', { form, headers: { Authorization: authorization } })),
      );
    expect(answers).toEqual(['200', '200', '429 rate_limited']);
  });
});
