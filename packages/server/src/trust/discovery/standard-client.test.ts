// The two standard clients of JavaScript, configured by nothing but the issuer.

import { expect, test } from 'bun:test';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { openApp } from '#support/app.ts';
import { declareService, ticketsDeclared } from '#support/services.ts';

test('a standard client gets the scope and resource it asked for, refreshes and revokes, and introspection shows each step at once', async () => {
  const app = await openApp('sqlite', { settings: { LATCHKEY_DEVICE_POLL_INTERVAL: '1' } });
  const fetch: openid.CustomFetch = (url, { method, headers, body }) =>
    app.fetch(url, { method, headers, body: body === undefined || body === null ? null : String(body) });
  const { id: client_id, secret } = await declareService(app.ctx, ticketsDeclared);
  const config = await openid.discovery(
    new URL(app.ctx.config.baseUrl),
    'a-standard-client',
    undefined,
    openid.None(),
    { algorithm: 'oauth2', execute: [openid.allowInsecureRequests], [openid.customFetch]: fetch },
  );

  /** As the service of the tickets learns it, from JSON or a verified JWT. */
  async function introspected(token: string, requestJwtResponse: boolean) {
    const server = config.serverMetadata();
    const client = { client_id, [oauth.clockSkew]: Math.round((app.ctx.clock() - Date.now()) / 1000) };
    const options = { [oauth.allowInsecureRequests]: true, [oauth.customFetch]: fetch, requestJwtResponse };
    const auth = oauth.ClientSecretBasic(secret);
    const answer = await oauth.introspectionRequest(server, client, auth, token, options);
    const found = await oauth.processIntrospectionResponse(server, client, answer);
    if (requestJwtResponse) await oauth.validateApplicationLevelSignature(server, answer, options);
    return found;
  }

  const { resource } = ticketsDeclared;
  const asked = { scope: 'openid tickets:read', resource };
  const started = await openid.initiateDeviceAuthorization(config, asked);
  const { access_token: accessToken } = await app.login();
  await app.api.call('approveDevice', { accessToken, body: { user_code: started.user_code } });
  const tokens = await openid.pollDeviceAuthorizationGrant(config, started);
  expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 14_400, scope: asked.scope });
  const found = { active: true, token_type: 'Bearer', scope: asked.scope, aud: resource };
  for (const signed of [false, true])
    expect(await introspected(tokens.access_token, signed)).toMatchObject(found);
  const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token!, asked);
  expect(refreshed.scope).toBe(asked.scope);
  await openid.tokenRevocation(config, refreshed.refresh_token!);
  for (const signed of [false, true])
    expect(await introspected(refreshed.access_token, signed)).toEqual({ active: false });
});
