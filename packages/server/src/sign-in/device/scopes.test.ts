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

  // What is unknown, malformed, too much or withdrawn: tests/invariants/properties.test.ts and services/declarations.test.ts.
  test('scopes that allow nothing are accepted, in JSON and in a form; authorization details are refused', async () => {
    const members = { scope: 'openid offline_access tickets:read', resource: tickets, device_name: 'ü' };
    for (const sent of [{ json: members }, { form: members }]) {
      const { body } = await app.ask('POST', '/device', sent);
      expect((await decideDevice(app, 'verify', body, approver)).body).toMatchObject(members);
    }
    const refused = await app.ask('POST', '/device', { json: { authorization_details: '[{"type":"a"}]' } });
    expect(outcome(refused)).toBe('400 invalid_request');
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
