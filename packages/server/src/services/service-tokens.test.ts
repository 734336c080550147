import { expect, test } from 'bun:test';
import { outcome } from '#support/account.ts';
import { onBothDatabases } from '#support/app.ts';
import { exchange, introspected } from '#support/runs.ts';
import { declareService } from '#support/services.ts';
import { shared } from '#support/shared.ts';
import { revokeService } from '../sessions/ending.ts';

const ticketsUri = 'https://tickets.example/api';
const filesUri = 'https://files.example/api';

// What it may ask for here: tests/invariants/access.test.ts.
onBothDatabases('a token of a service that acts for no user', (open) => {
  const app = shared(open);
  const declared = (name: string, resource: string, ...scopes: string[]) =>
    shared(() =>
      declareService(app.ctx, {
        name,
        resource,
        scopes: scopes.map((scope) => ({ name: scope, sentence: `Do ${scope}` })),
      }),
    );
  const builds = shared(() => declareService(app.ctx, { name: 'Builds', reach: [ticketsUri, 'urn:gone'] }));
  const tickets = declared('Tickets', ticketsUri, 'tickets:read', 'tickets:write');
  const files = declared('Files', filesUri, 'files:read');

  const wants = { scope: 'tickets:read', resource: ticketsUri };
  const ask = (by: string | undefined, parameters: Record<string, string>, on = app) =>
    on.ask('POST', '/token', {
      form: { grant_type: 'client_credentials', ...parameters },
      headers: by === undefined ? {} : { Authorization: by },
    });
  const issued = async (parameters: Record<string, string> = {}, by = builds.authorization) => {
    const answer = await ask(by, { ...wants, ...parameters });
    expect(outcome(answer)).toBe('200');
    return answer.body;
  };
  const facts = (token: string, service = tickets) => introspected(app, token, service.authorization);

  test('says to the service of its resource which service acts, and nothing about a session; it is exchanged for nothing', async () => {
    const { access_token, ...answer } = await issued();
    expect(answer).toEqual({ token_type: 'Bearer', expires_in: 3600, scope: 'tickets:read' });
    const found = await facts(access_token);
    expect(found).toEqual({
      active: true,
      token_use: 'access_token',
      token_type: 'Bearer',
      iss: app.ctx.config.baseUrl,
      sub: builds.id,
      aud: ticketsUri,
      scope: 'tickets:read',
      iat: expect.any(Number),
      exp: found.iat + 3600,
    });
    expect(await facts(access_token, files)).toEqual({ active: false });
    const exchanged = await exchange(app, access_token, { scope: 'tickets:read' });
    expect(outcome(exchanged)).toBe('400 invalid_request');
  });

  test('needs a key, a resource within reach and a scope of the service with that resource', async () => {
    const { authorization } = builds;
    for (const [parameters, refusal, by = authorization] of [
      [{}, '401 invalid_client', ''],
      [{}, '401 invalid_client', `${authorization}x`],
      [{ resource: '' }, '400 invalid_target'],
      [{ resource: filesUri, scope: 'files:read' }, '400 invalid_target'],
      [{ resource: 'urn:gone' }, '400 invalid_target'],
      ...['', '*', 'profile', 'tickets:read files:read', 'tickets:delete'].map(
        (scope) => [{ scope }, '400 invalid_scope'] as const,
      ),
      [{ expires_in: '3601' }, '400 invalid_request'],
      [{ authorization_details: '[{"type":"a"}]' }, '400 invalid_request'],
    ] as readonly (readonly [Record<string, string>, string, string?])[])
      expect([parameters, outcome(await ask(by || undefined, { ...wants, ...parameters }))]).toEqual([
        parameters,
        refusal,
      ]);
    expect(outcome(await ask(authorization, { scope: wants.scope }))).toBe('400 invalid_target');
  });

  test('ends when it expires, is revoked, or its service is, and leaves no row behind', async () => {
    const { access_token: expiring } = await issued({ expires_in: '60' });
    app.pass(61);
    expect(outcome(await app.ask('GET', '/me', { token: expiring }))).toBe('401 invalid_token');

    const { access_token: revoked } = await issued();
    expect((await app.ask('POST', '/revoke', { form: { token: revoked } })).status).toBe(200);

    const doomed = await declareService(app.ctx, { name: 'Doomed', reach: [ticketsUri] });
    const { access_token: orphaned } = await issued({}, doomed.authorization);
    expect((await facts(orphaned)).active).toBe(true);
    await revokeService(app.ctx, doomed.id);
    for (const token of [expiring, revoked, orphaned]) expect(await facts(token)).toEqual({ active: false });
    app.pass(3 * 3600);
    await app.sweep();
    expect(await app.ctx.db.read.run('SELECT id FROM service_tokens', [])).toEqual([]);
  });

  test('is only for the service that declared its resource when it was issued', async () => {
    const resource = 'https://moved.example/api';
    const scopes = [{ name: 'moved:read', sentence: 'Read' }];
    const former = await declareService(app.ctx, { name: 'Former', resource, scopes });
    const caller = await declareService(app.ctx, { name: 'Caller', reach: [resource] });
    const { access_token: token } = await issued({ resource, scope: 'moved:read' }, caller.authorization);
    expect((await facts(token, former)).active).toBe(true);
    const next = await declareService(app.ctx, { name: 'Next' });
    for (const change of [
      `UPDATE service_keys SET resource = NULL WHERE id = '${former.id}'`,
      `UPDATE service_keys SET resource = '${resource}' WHERE id = '${next.id}'`,
      `UPDATE declarations SET service_id = '${next.id}' WHERE name = '${resource}'`,
    ])
      await app.ctx.db.single.run(change, []);
    for (const service of [former, next]) expect(await facts(token, service)).toEqual({ active: false });
  });

  test('a service gets as many in a minute as its limit allows', async () => {
    const limited = await open({ beside: app, settings: { LATCHKEY_RATE_LIMITS: 'service_tokens=2/60' } });
    const { authorization } = await declareService(app.ctx, { reach: [ticketsUri] });
    const answers = [];
    for (let n = 0; n < 3; n++) answers.push(outcome(await ask(authorization, wants, limited)));
    expect(answers).toEqual(['200', '200', '429 rate_limited']);
  });
});
