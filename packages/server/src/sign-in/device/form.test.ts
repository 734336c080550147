import { describe, expect, test } from 'bun:test';
import { deviceCodeGrantType, tokenSet } from '@latchkey/contract/tokens';
import { newAddress, outcome } from '../../../../../tests/support/account.ts';
import { openApp, type Tokens } from '../../../../../tests/support/app.ts';
import { shared } from '../../../../../tests/support/shared.ts';

describe('form requests to the OAuth endpoints', () => {
  const app = shared(() => openApp('sqlite'));

  const send = (path: string, form: Record<string, string> | string) => app.ask('POST', path, { form });
  const start = async (): Promise<{ device_code: string; user_code: string }> =>
    (await send('/device', { client_id: 'cli' })).body;
  const approve = async (user_code: string, { access_token: token }: Tokens) =>
    expect((await app.ask('POST', '/device/approve', { json: { user_code }, token })).status).toBe(204);
  const statusOf = async ({ access_token: token }: Tokens) => (await app.ask('GET', '/me', { token })).status;

  test('a client that knows only the RFCs can sign in, refresh and revoke', async () => {
    const started = await send('/device', {
      client_id: 'cli',
      scope: 'openid profile',
      client_name: 'Generic',
    });
    expect(started.status).toBe(200);
    const { device_code, user_code } = started.body;
    const request = { grant_type: deviceCodeGrantType, device_code, client_id: 'cli' };
    expect(outcome(await send('/token', request))).toBe('400 authorization_pending');
    const slow = await send('/token', request);
    expect([outcome(slow), slow.body.interval]).toEqual(['400 slow_down', 10]);
    const browser = await app.login(newAddress());
    const seen = await app.ask('POST', '/device/verify', {
      json: { user_code },
      token: browser.access_token,
    });
    expect(seen.body.client_name).toBe('Generic');
    await approve(user_code, browser);

    const redeemed = await send('/token', request);
    expect(redeemed.headers.get('Cache-Control')).toBe('no-store');
    const tokens = tokenSet.strict().parse(redeemed.body);
    expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 14_400 });
    expect(outcome(await send('/token', request))).toBe('400 invalid_grant');

    const { refresh_token } = tokens;
    const grant = { grant_type: 'refresh_token', refresh_token, client_id: 'cli', scope: 'profile openid' };
    const refreshed = tokenSet.strict().parse((await send('/token', grant)).body);
    expect((await send('/token', grant)).body.refresh_token).toBe(refreshed.refresh_token);
    expect(await statusOf(refreshed)).toBe(200);

    const hint = { token: refreshed.refresh_token, token_type_hint: 'refresh_token', client_id: 'cli' };
    expect(outcome(await send('/revoke', hint))).toBe('200');
    expect(await statusOf(refreshed)).toBe(401);
    expect(await statusOf(browser)).toBe(200);
  });

  test('/refresh accepts only the refresh_token grant', async () => {
    const { refresh_token } = await app.login(newAddress());
    const answer = await send('/refresh', { grant_type: 'refresh_token', refresh_token });
    expect(outcome(answer)).toBe('200');
    const next = answer.body.refresh_token;
    const { device_code } = await start();
    const other = { grant_type: deviceCodeGrantType, device_code, refresh_token: next };
    expect(outcome(await send('/refresh', other))).toBe('400 unsupported_grant_type');
    expect(outcome(await send('/refresh', { grant_type: 'refresh_token', refresh_token: next }))).toBe('200');
  });

  test.each(['password', 'Client_Credentials', 'Refresh_Token', 'device_code', 'urn:x'])(
    'the grant type %s is refused, whatever other parameters the form has',
    async (grant_type) => {
      const { refresh_token } = await app.login(newAddress());
      const { device_code } = await start();
      for (const path of ['/token', '/refresh']) {
        const answer = await send(path, { grant_type, refresh_token, device_code });
        expect(outcome(answer)).toBe('400 unsupported_grant_type');
      }
      expect(outcome(await send('/token', { grant_type: 'refresh_token', refresh_token }))).toBe('200');
    },
  );

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
    ['/device', 'device_name', `device_name=${'d'.repeat(101)}`],
  ])('the error of %s names %s for the form "%s"', async (path, field, form) => {
    const answer = await send(path, form);
    expect(outcome(answer)).toBe('400 invalid_request');
    expect(answer.body.error_description).toContain(field);
  });

  test('a form with a repeated parameter spends no token and revokes no session', async () => {
    const tokens = await app.login(newAddress());
    const { refresh_token } = tokens;
    const twice = `refresh_token=${refresh_token}`;
    expect(outcome(await send('/token', `grant_type=refresh_token&${twice}&${twice}`))).toBe(
      '400 invalid_request',
    );
    expect(outcome(await send('/revoke', `token=${refresh_token}&token=x`))).toBe('400 invalid_request');
    expect(await statusOf(tokens)).toBe(200);
    expect(outcome(await send('/refresh', { grant_type: 'refresh_token', refresh_token }))).toBe('200');
  });

  test('/device accepts names of 100 characters, and an empty form', async () => {
    const device_name = 'ü'.repeat(100);
    expect(outcome(await send('/device', { device_name }))).toBe('200');
    expect(outcome(await send('/device', ''))).toBe('200');
  });

  test('/revoke answers 200 to any other string and revokes nothing', async () => {
    const own = await app.login(newAddress());
    const { device_code } = await start();
    const cut = own.refresh_token.slice(0, -1);
    for (const token of ['x', 'lk_rt_', cut, `${own.access_token}=`, device_code, '<script>', '%00', ' ']) {
      expect(outcome(await send('/revoke', { token }))).toBe('200');
    }
    expect(await statusOf(own)).toBe(200);
  });

  test('/revoke with an empty form and a bearer token revokes all sessions of its user, as with JSON', async () => {
    const own = await app.login(newAddress());
    const answer = await app.ask('POST', '/revoke', { form: '', token: own.access_token });
    expect(outcome(answer)).toBe('204');
    expect(await statusOf(own)).toBe(401);
  });

  test('the media type of a form may have any letter case and parameters', async () => {
    const { refresh_token } = await app.login(newAddress());
    const answer = await app.ask('POST', '/token', {
      raw: new URLSearchParams({ grant_type: 'refresh_token', refresh_token }).toString(),
      headers: { 'Content-Type': 'Application/X-WWW-Form-Urlencoded; Charset=UTF-8' },
    });
    expect(outcome(answer)).toBe('200');
  });
});
