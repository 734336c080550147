// Clients without a secret, which use oauth4webapi: an application that the operator registered as public, and one that describes
// itself at a URL of a listed host.

import { beforeAll, describe, expect, test } from 'bun:test';
import * as oauth from 'oauth4webapi';
import { loginByMail, request } from '#support/http.ts';
import { startProgram } from '#support/program.ts';
import { registerService, startService } from '#support/service.ts';
import { shared } from '#support/shared.ts';

const insecure = { [oauth.allowInsecureRequests]: true };
const program = shared(async () => startProgram());
const service = shared(() => startService({ env: { LATCHKEY_CLIENT_HOSTS: program.host } }));
let server: oauth.AuthorizationServer;
let token: string;

beforeAll(async () => {
  const issuer = new URL(service.url);
  server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
  token = (await loginByMail(service.url, 'ada@example.com')).access_token;
});

const clients: Readonly<Record<string, () => Promise<string>>> = {
  'a public application': () =>
    registerService(service, 'Notes', '--redirect', program.redirectUri, '--public'),
  'an external client': async () => program.clientId,
};

describe.each(Object.keys(clients))('%s', (name) => {
  test('signs in by form post, refreshes, reads the user, and is revoked', async () => {
    const client: oauth.Client = { client_id: await clients[name]!() };
    const [verifier, state, nonce] = [
      oauth.generateRandomCodeVerifier(),
      oauth.generateRandomState(),
      oauth.generateRandomNonce(),
    ];
    const parameters = {
      client_id: client.client_id,
      response_type: 'code',
      response_mode: 'form_post',
      redirect_uri: program.redirectUri,
      scope: 'openid email',
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...{ state, nonce },
    };
    const json = { ...parameters, scope: 'email openid' };
    const { body } = await request(service.url, 'POST', '/authorize/approve', { json, token });
    const callback = new URLSearchParams(body.form_post.fields);
    const grant = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      oauth.validateAuthResponse(server, client, callback, state),
      ...[program.redirectUri, verifier],
      insecure,
    );
    const checks = { expectedNonce: nonce, requireIdToken: true };
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, grant, checks);
    await oauth.validateApplicationLevelSignature(server, grant, insecure);

    const renewal = await oauth.refreshTokenGrantRequest(
      server,
      client,
      oauth.None(),
      tokens.refresh_token!,
      insecure,
    );
    const renewed = await oauth.processRefreshTokenResponse(server, client, renewal);
    const { sub } = oauth.getValidatedIdTokenClaims(renewed)!;
    const userinfo = () => oauth.userInfoRequest(server, client, renewed.access_token, insecure);
    const user = await oauth.processUserInfoResponse(server, client, sub, await userinfo());
    expect(user).toEqual({ sub, email: 'ada@example.com', email_verified: true });
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(server, client, oauth.None(), renewed.refresh_token!, insecure),
    );
    expect((await userinfo()).status).toBe(401);
  });
});
