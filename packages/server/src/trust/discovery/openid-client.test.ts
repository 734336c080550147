// The two standard clients of JavaScript with scopes and resources, configured by nothing but the issuer.

import { beforeAll, describe, expect, test } from 'bun:test';
import * as openid from 'openid-client';
import { openApp } from '../../../../../tests/support/app.ts';
import { declareService } from '../../../../../tests/support/services.ts';
import { shared } from '../../../../../tests/support/shared.ts';

const tickets = 'https://tickets.example/api';
const builds = 'https://builds.example/api';

describe('a standard client that asks for a scope', () => {
  const app = shared(() => openApp('sqlite', { settings: { LATCHKEY_DEVICE_POLL_INTERVAL: '1' } }));
  let config: openid.Configuration;
  let service: openid.Configuration;
  let approver: string;
  beforeAll(async () => {
    const { authorization } = await declareService(app.ctx, {
      scopes: [{ name: 'tickets:read', sentence: 'Read your tickets' }],
      resource: tickets,
    });
    await declareService(app.ctx, { name: 'Builds', resource: builds });
    const fetch: openid.CustomFetch = (url, { method, headers, body }) =>
      app.fetch(url, { method, headers, body: body === undefined || body === null ? null : String(body) });
    const discover = (id: string, authentication: openid.ClientAuth) =>
      openid.discovery(new URL(app.ctx.config.baseUrl), id, undefined, authentication, {
        algorithm: 'oauth2',
        execute: [openid.allowInsecureRequests],
        [openid.customFetch]: fetch,
      });
    config = await discover('a-standard-client', openid.None());
    const [id = '', secret = ''] = atob(authorization.slice('Basic '.length)).split(':');
    service = await discover(id, openid.ClientSecretBasic(secret));
    approver = (await app.login()).access_token;
  });

  async function signIn(parameters: Record<string, string>) {
    const started = await openid.initiateDeviceAuthorization(config, parameters);
    const body = { user_code: started.user_code };
    await app.api.call('approveDevice', { accessToken: approver, body });
    return openid.pollDeviceAuthorizationGrant(config, started);
  }

  test('gets the scope and resource it asked for, refreshes and revokes', async () => {
    const tokens = await signIn({ scope: 'openid tickets:read', resource: tickets });
    expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'openid tickets:read' });
    const found = await openid.tokenIntrospection(service, tokens.access_token);
    expect(found).toMatchObject({ active: true, scope: 'openid tickets:read', aud: tickets });

    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token!, {
      scope: 'openid tickets:read',
      resource: tickets,
    });
    expect(refreshed.scope).toBe('openid tickets:read');
    await openid.tokenRevocation(config, refreshed.refresh_token!);
    expect(await openid.tokenIntrospection(service, refreshed.access_token)).toEqual({ active: false });
  });

  test('with the scope openid profile reads the profile without the email address', async () => {
    const { access_token } = await signIn({ scope: 'openid profile' });
    const url = new URL('/api/v1/auth/me', app.ctx.config.baseUrl);
    const profile = await (await openid.fetchProtectedResource(config, access_token, url, 'GET')).json();
    expect(profile).toMatchObject({ name: 'ada' });
    expect(profile).not.toHaveProperty('email');
    const sessions = new URL('/api/v1/auth/sessions', url);
    const refused = await openid
      .fetchProtectedResource(config, access_token, sessions, 'GET')
      .catch((error) => error);
    expect(refused).toBeInstanceOf(openid.WWWAuthenticateChallengeError);
    expect(refused.cause[0].parameters).toMatchObject({ error: 'insufficient_scope', scope: '*' });
  });
});
