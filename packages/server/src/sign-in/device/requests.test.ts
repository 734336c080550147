// What a device may ask for, and the forms in which OAuth clients ask.

import { beforeAll, expect, test } from 'bun:test';
import { deviceCodeGrantType } from '@latchkey/contract/tokens';
import { isLive, newAddress, outcome } from '#support/account.ts';
import { openApp, type Tokens } from '#support/app.ts';
import { decideDevice, startDevice } from '#support/devices.ts';
import { loggedEvents } from '#support/security-log.ts';
import { declareService } from '#support/services.ts';
import { shared } from '#support/shared.ts';

const app = shared(() => openApp('sqlite'));
const tickets = 'https://tickets.example/api';
let approver: Tokens;
beforeAll(async () => {
  const scopes = [
    { name: 'tickets:read', sentence: 'Read your tickets' },
    { name: 'tickets:write', sentence: 'Change your tickets' },
  ];
  await declareService(app.ctx, { name: 'Tickets', scopes, resource: tickets });
  approver = await app.login();
});

/** What a device asks for, as its approver sees it. */
const asked = async (json: object) =>
  (await decideDevice(app, 'verify', await startDevice(app, json), approver)).body;
const send = (path: string, form: Record<string, string> | string) => app.ask('POST', path, { form });

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
  expect(await asked({ scope: 'tickets:write email openid', resource: tickets })).toMatchObject({
    scope: 'tickets:write email openid',
    scopes: [
      { name: 'tickets:write', description: 'Change your tickets', service: 'Tickets' },
      { name: 'email', description: 'See your email address', service: null },
      { name: 'openid', description: 'Sign you in', service: null },
    ],
    resource: tickets,
  });
  const wanted = { scope: 'tickets:read', resource: tickets };
  for (const decision of ['approve', 'deny'] as const) {
    await decideDevice(app, decision, await startDevice(app, wanted), approver);
    const [event] = await loggedEvents(app, approver);
    expect(event?.detail).toMatchObject(wanted);
  }
});

test('a device that asks for nothing, for * or for more asks for everything that the user can do', async () => {
  const scopes = [{ name: '*', description: 'Everything you can do', service: null }];
  for (const members of [{}, { scope: '*' }, { scope: 'profile *' }])
    expect(await asked(members)).toMatchObject({ scope: '*', scopes, resource: null });
});

// A whole sign-in by forms: trust/discovery/standard-client.test.ts.
test('other grants, and those of /token at /refresh, are refused whatever else the form has, and spend nothing', async () => {
  const { refresh_token } = await app.login(newAddress());
  const { device_code } = (await send('/device', '')).body;
  const unknown = ['password', 'Client_Credentials', 'Refresh_Token', 'device_code', 'urn:x'];
  for (const [path, grants] of [
    ['/token', unknown],
    ['/refresh', [...unknown, deviceCodeGrantType]],
  ] as const) {
    for (const grant_type of grants) {
      const answer = await send(path, { grant_type, refresh_token, device_code });
      expect([path, grant_type, outcome(answer)]).toEqual([path, grant_type, '400 unsupported_grant_type']);
    }
  }
  const grant_type = 'refresh_token';
  const { body } = await send('/refresh', { grant_type, refresh_token });
  // A media type may have any letter case and parameters.
  const headers = { 'Content-Type': 'Application/X-WWW-Form-Urlencoded; Charset=UTF-8' };
  const raw = new URLSearchParams({ grant_type, refresh_token: body.refresh_token }).toString();
  expect(outcome(await app.ask('POST', '/token', { raw, headers }))).toBe('200');
});

test.each([
  ['/token', 'grant_type', 'device_code=lk_dc_x'],
  ['/token', 'grant_type', ''],
  ['/token', 'device_code', `grant_type=${deviceCodeGrantType}`],
  ['/token', 'refresh_token', 'grant_type=refresh_token'],
  ['/token', 'refresh_token', 'grant_type=refresh_token&device_code=lk_dc_x'],
  ['/token', 'refresh_token', 'grant_type=refresh_token&refresh_token='],
  ['/refresh', 'grant_type', 'refresh_token=lk_rt_x'],
  ['/refresh', 'refresh_token', 'grant_type=refresh_token'],
  ['/revoke', 'token', 'token_type_hint=refresh_token'],
  ['/revoke', 'token', ''],
  ['/device', 'device_name', `device_name=${'ü'.repeat(100)}d`],
])('the error of %s names %s for the form "%s"', async (path, field, form) => {
  const answer = await send(path, form);
  expect(outcome(answer)).toBe('400 invalid_request');
  expect(answer.body.error_description).toContain(field);
});

// What else is revoked: tests/invariants/no-statement.test.ts.
test('/revoke with an empty form ends all of the user of a bearer token, as without a body', async () => {
  const own = await app.login(newAddress());
  expect(outcome(await app.ask('POST', '/revoke', { form: '', token: own.access_token }))).toBe('204');
  expect(await isLive(app, own)).toBe(false);
});
