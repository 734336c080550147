import { describe, expect, test } from 'bun:test';
import { deviceCodeGrantType } from '@latchkey/contract/tokens';
import { isLive, newAddress, outcome } from '#support/account.ts';
import { openApp } from '#support/app.ts';
import { shared } from '#support/shared.ts';

const grant_type = 'refresh_token';
const longName = 'ü'.repeat(100);

describe('form requests to the OAuth endpoints', () => {
  const app = shared(() => openApp('sqlite'));
  const send = (path: string, form: Record<string, string> | string) => app.ask('POST', path, { form });

  // A whole sign-in by forms: trust/discovery/standard-client.test.ts.
  test('other grants, and those of /token at /refresh, are refused whatever else the form has, and spend nothing', async () => {
    const { refresh_token } = await app.login(newAddress());
    const { device_code } = (await send('/device', '')).body;
    const unknown = ['password', 'Client_Credentials', 'Refresh_Token', 'device_code', 'urn:x'];
    for (const [path, grants] of [
      ['/token', unknown],
      ['/refresh', [...unknown, deviceCodeGrantType]],
    ] as const) {
      for (const grant of grants) {
        const answer = await send(path, { grant_type: grant, refresh_token, device_code });
        expect([path, grant, outcome(answer)]).toEqual([path, grant, '400 unsupported_grant_type']);
      }
    }
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
    ['/device', 'device_name', `device_name=${longName}d`],
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
});
