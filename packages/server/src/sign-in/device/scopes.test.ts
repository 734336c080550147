import { beforeAll, describe, expect, test } from 'bun:test';
import { outcome } from '#support/account.ts';
import { openApp, type Tokens } from '#support/app.ts';
import { type DeviceCodes, decideDevice, startDevice } from '#support/devices.ts';
import { loggedEvents } from '#support/security-log.ts';
import { declareService } from '#support/services.ts';
import { shared } from '#support/shared.ts';

const tickets = 'https://tickets.example/api';
const builds = 'https://builds.example/api';

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
    approver = await app.login();
  });

  const start = (json: object = {}) => startDevice(app, json);
  /** What a device asks for, as its approver sees it. */
  const asked = async (codes: DeviceCodes) => {
    const { scope, scopes, resource } = (await decideDevice(app, 'verify', codes, approver)).body;
    return { scope, scopes, resource };
  };

  describe.each(['JSON', 'a form'])('asked for in %s', (dialect) => {
    const send = (members: Record<string, string>) =>
      app.ask('POST', '/device', dialect === 'JSON' ? { json: members } : { form: members });

    // What else polls for, and what is malformed, unknown or withdrawn: tests/invariants/properties.test.ts and services/declarations.test.ts.
    test.each([
      ['authorization details', { authorization_details: '[{"type":"a"}]' }, 'invalid_request'],
      ['a malformed name', { scope: 'profile Email' }, 'invalid_scope'],
      ['a name that is too long', { scope: `a${'b'.repeat(64)}` }, 'invalid_scope'],
      ['a resource below a declared one', { resource: `${tickets}/1` }, 'invalid_target'],
      ['a resource that no database can store', { resource: 'https://other.example/\0' }, 'invalid_target'],
      ['a resource with a fragment', { resource: `${tickets}#a` }, 'invalid_target'],
    ])('%s is refused', async (_, members, code) => {
      const answer = await send(members as Record<string, string>);
      expect(outcome(answer)).toBe(`400 ${code}`);
      expect(answer.body.error_description).toStartWith(Object.keys(members)[0]!);
    });

    test('20 names, the scopes that allow nothing, a declared resource, and the names of program and device are accepted', async () => {
      const twenty = `openid offline_access tickets:read ${Array.from({ length: 17 }, () => 'email').join(' ')}`;
      const members = { resource: tickets, client_name: 'Generic', device_name: 'ü'.repeat(100) };
      const { status, body } = await send({ scope: twenty, ...members });
      expect(status).toBe(200);
      const seen = await decideDevice(app, 'verify', body, approver);
      expect(seen.body).toMatchObject({ scope: 'openid offline_access tickets:read email', ...members });
    });
  });

  test('the approver sees each scope with its sentence and service, in the order of the request, and in the log what was approved or denied', async () => {
    const codes = await start({ scope: 'tickets:write email openid', resource: builds });
    expect(await asked(codes)).toEqual({
      scope: 'tickets:write email openid',
      scopes: [
        { name: 'tickets:write', description: 'Change your tickets', service: 'Tickets' },
        { name: 'email', description: 'See your email address', service: null },
        { name: 'openid', description: 'Sign you in', service: null },
      ],
      resource: builds,
    });
    for (const decision of ['approve', 'deny'] as const) {
      await decideDevice(app, decision, await start({ scope: 'tickets:read', resource: tickets }), approver);
      const [event] = await loggedEvents(app, approver);
      expect(event?.detail).toMatchObject({ scope: 'tickets:read', resource: tickets });
    }
  });

  test('a device that asks for nothing, for * or for more asks for everything that the user can do', async () => {
    for (const members of [{}, { scope: '*' }, { scope: 'profile *' }])
      expect(await asked(await start(members))).toEqual({
        scope: '*',
        scopes: [{ name: '*', description: 'Everything you can do', service: null }],
        resource: null,
      });
  });
});
