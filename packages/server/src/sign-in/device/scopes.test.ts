import { beforeAll, describe, expect, test } from 'bun:test';
import { deviceCodeGrantType } from '@latchkey/contract/tokens';
import { outcome } from '../../../../../tests/support/account.ts';
import { type Answer, openApp, type Tokens } from '../../../../../tests/support/app.ts';
import { declareService } from '../../../../../tests/support/services.ts';
import { shared } from '../../../../../tests/support/shared.ts';
import { revokeService } from '../../sessions/ending.ts';

const tickets = 'https://tickets.example/api';
const builds = 'https://builds.example/api';
const twentyOne = Array.from({ length: 21 }, () => 'profile').join(' ');

describe('the scope and resource of a device sign-in', () => {
  const app = shared(() => openApp('sqlite'));
  let approver: Tokens;
  beforeAll(async () => {
    await declareService(app.ctx, {
      name: 'Tickets',
      scopes: [
        { name: 'tickets:read', sentence: 'Read your tickets' },
        { name: 'tickets:write', sentence: 'Change your tickets' },
      ],
      resource: tickets,
    });
    await declareService(app.ctx, { name: 'Builds', resource: builds });
    const { id } = await declareService(app.ctx, {
      name: 'Old',
      scopes: [{ name: 'old:read', sentence: 'Read what is old' }],
      resource: 'https://old.example/',
    });
    await revokeService(app.ctx, id);
    approver = await app.login();
  });

  const asJson = (json: object) => app.ask('POST', '/device', { json });
  const asForm = (form: Record<string, string> | string) => app.ask('POST', '/device', { form });
  const verify = async ({ user_code }: { user_code: string }) => {
    const answer = await app.ask('POST', '/device/verify', {
      json: { user_code },
      token: approver.access_token,
    });
    const { scope, scopes, resource } = answer.body;
    return { scope, scopes, resource };
  };
  const approve = ({ user_code }: { user_code: string }) =>
    app.api.call('approveDevice', { accessToken: approver.access_token, body: { user_code } });
  const poll = (form: Record<string, string>): Promise<Answer> =>
    app.ask('POST', '/token', { form: { grant_type: deviceCodeGrantType, ...form } });

  describe.each(['JSON', 'a form'])('asked for in %s', (dialect) => {
    const start = (members: Record<string, string>) =>
      dialect === 'JSON' ? asJson(members) : asForm(members);

    test.each([
      ['an empty scope', { scope: '' }, 'invalid_scope'],
      ['21 names', { scope: twentyOne }, 'invalid_scope'],
      ['authorization details', { authorization_details: '[{"type":"a"}]' }, 'invalid_request'],
      ['two spaces between names', { scope: 'profile  email' }, 'invalid_scope'],
      ['a malformed name', { scope: 'profile Email' }, 'invalid_scope'],
      ['a name that is too long', { scope: `a${'b'.repeat(64)}` }, 'invalid_scope'],
      ['a name that no service declares', { scope: 'profile tickets:delete' }, 'invalid_scope'],
      ['such a name beside everything', { scope: '* tickets:delete' }, 'invalid_scope'],
      ['a name of a revoked service', { scope: 'old:read' }, 'invalid_scope'],
      ['a scope that is too long', { scope: 'a'.repeat(4_097) }, 'invalid_request'],
      ['an empty resource', { resource: '' }, 'invalid_target'],
      ['a resource that no service declares', { resource: 'https://other.example' }, 'invalid_target'],
      ['a resource below a declared one', { resource: `${tickets}/1` }, 'invalid_target'],
      ['a resource that no database can store', { resource: 'https://other.example/\0' }, 'invalid_target'],
      ['a resource with a fragment', { resource: `${tickets}#a` }, 'invalid_target'],
      ['the resource of a revoked service', { resource: 'https://old.example/' }, 'invalid_target'],
      ['a resource that is too long', { resource: `https://${'a'.repeat(2_048)}` }, 'invalid_request'],
    ])('%s is refused', async (_, members, code) => {
      const answer = await start(members as Record<string, string>);
      expect(outcome(answer)).toBe(`400 ${code}`);
      expect(answer.body.error_description).toStartWith(Object.keys(members)[0]!);
    });

    test('20 names, the scopes that allow nothing, and a declared resource are accepted', async () => {
      const twenty = `openid offline_access tickets:read ${Array.from({ length: 17 }, () => 'email').join(' ')}`;
      const { status, body } = await start({ scope: twenty, resource: tickets });
      expect(status).toBe(200);
      expect(await verify(body)).toMatchObject({
        scope: 'openid offline_access tickets:read email',
        resource: tickets,
      });
    });
  });

  test('the approver sees each scope with its sentence and service, in the order of the request', async () => {
    const { body } = await asJson({ scope: 'tickets:write email openid', resource: builds });
    expect(await verify(body)).toEqual({
      scope: 'tickets:write email openid',
      scopes: [
        { name: 'tickets:write', description: 'Change your tickets', service: 'Tickets' },
        { name: 'email', description: 'See your email address', service: null },
        { name: 'openid', description: 'Sign you in', service: null },
      ],
      resource: builds,
    });
  });

  test.each([
    ['nothing', {}],
    ['everything', { scope: '*' }],
    ['everything and more', { scope: 'profile *' }],
  ])('a device that asks for %s asks for everything that the user can do', async (_, members) => {
    const { body } = await asJson(members);
    expect(await verify(body)).toEqual({
      scope: '*',
      scopes: [{ name: '*', description: 'Everything you can do', service: null }],
      resource: null,
    });
  });

  test('repeating a redemption whose response was lost returns the same scope', async () => {
    for (const scope of ['profile', '*']) {
      const { body } = await asJson({ scope });
      await approve(body);
      const redeem = () =>
        app.ask('POST', '/token', {
          json: { device_code: body.device_code },
          headers: { 'Idempotency-Key': 'once' },
        });
      const first = await redeem();
      expect([first.body.scope, (await redeem()).body]).toEqual([scope, first.body]);
    }
  });

  test('a poll for another scope or resource costs no interval, and learns that the code was denied or has expired', async () => {
    const { body: denied } = await asJson({});
    const wrong = async ({ device_code }: { device_code: string }, other: Record<string, string>) =>
      outcome(await poll({ device_code, ...other }));
    expect(await wrong(denied, { scope: 'profile' })).toBe('400 invalid_scope');
    expect(await wrong(denied, { resource: builds })).toBe('400 invalid_target');
    expect(await wrong(denied, {})).toBe('400 authorization_pending');
    await app.api.call('denyDevice', {
      accessToken: approver.access_token,
      body: { user_code: denied.user_code },
    });
    const { body: expired } = await asJson({});
    app.pass(600);
    expect(await wrong(denied, { scope: 'profile' })).toBe('400 access_denied');
    expect(await wrong(expired, { scope: 'profile' })).toBe('400 expired_token');
    approver = await app.login();
  });

  test('the security log shows what the user approved and denied', async () => {
    for (const decision of ['approveDevice', 'denyDevice'] as const) {
      const { body } = await asJson({ scope: 'tickets:read', resource: tickets });
      await app.api.call(decision, {
        accessToken: approver.access_token,
        body: { user_code: body.user_code },
      });
      const { events } = await app.api.call('listEvents', { accessToken: approver.access_token });
      expect(events[0]?.detail).toMatchObject({ scope: 'tickets:read', resource: tickets });
    }
  });
});
