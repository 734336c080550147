import { describe, expect, test } from 'bun:test';
import { deviceCodeGrantType, tokenSet } from '@latchkey/contract/tokens';
import { isLive, newAddress, outcome } from '#support/account.ts';
import { openApp } from '#support/app.ts';
import { decideDevice } from '#support/devices.ts';
import { shared } from '#support/shared.ts';

const grant_type = 'refresh_token';
const longName = 'ü'.repeat(100);

describe('form requests to the OAuth endpoints', () => {
  const app = shared(() => openApp('sqlite'));
  const send = (path: string, form: Record<string, string> | string) => app.ask('POST', path, { form });

  test('a client that knows only the RFCs can sign in, refresh and revoke', async () => {
    const asked = {
      client_id: 'cli',
      scope: 'openid profile',
      client_name: 'Generic',
      device_name: longName,
    };
    const { body: started } = await send('/device', asked);
    const request = { grant_type: deviceCodeGrantType, device_code: started.device_code, client_id: 'cli' };
    expect(outcome(await send('/token', request))).toBe('400 authorization_pending');
    const slow = await send('/token', request);
    expect([outcome(slow), slow.body.interval]).toEqual(['400 slow_down', 10]);
    const browser = await app.login(newAddress());
    const { client_name, device_name } = asked;
    const seen = await decideDevice(app, 'verify', started, browser);
    expect(seen.body).toMatchObject({ client_name, device_name });
    expect((await decideDevice(app, 'approve', started, browser)).status).toBe(204);

    const redeemed = await send('/token', request);
    expect(redeemed.headers.get('Cache-Control')).toBe('no-store');
    const tokens = tokenSet.strict().parse(redeemed.body);
    expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 14_400 });
    expect(outcome(await send('/token', request))).toBe('400 invalid_grant');

    const { refresh_token } = tokens;
    const grant = { grant_type, refresh_token, client_id: 'cli', scope: 'profile openid' };
    const refreshed = tokenSet.strict().parse((await send('/token', grant)).body);
    expect((await send('/token', grant)).body.refresh_token).toBe(refreshed.refresh_token);
    expect(await isLive(app, refreshed)).toBe(true);

    const hint = { token: refreshed.refresh_token, token_type_hint: 'refresh_token', client_id: 'cli' };
    expect(outcome(await send('/revoke', hint))).toBe('200');
    expect([await isLive(app, refreshed), await isLive(app, browser)]).toEqual([false, true]);
  });

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

  test('/revoke answers 200 to any other string and revokes nothing; without one a bearer token ends all of its user, as with JSON', async () => {
    const own = await app.login(newAddress());
    const cut = own.refresh_token.slice(0, -1);
    for (const token of ['x', 'lk_rt_', cut, `${own.access_token}=`, '<script>', '%00', ' '])
      expect(outcome(await send('/revoke', { token }))).toBe('200');
    expect(await isLive(app, own)).toBe(true);
    expect(outcome(await app.ask('POST', '/revoke', { form: '', token: own.access_token }))).toBe('204');
    expect(await isLive(app, own)).toBe(false);
  });
});
