// A standard OAuth client, configured by nothing but the issuer, against the real process.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import * as oauth from 'oauth4webapi';
import { loginByMail, request } from '../../../../../tests/support/http.ts';
import { startPostgres } from '../../../../../tests/support/postgres.ts';
import { runOperator, startService, type TestService } from '../../../../../tests/support/service.ts';

const insecure = { [oauth.allowInsecureRequests]: true };
const client: oauth.Client = { client_id: 'a-standard-client' };
const noSecret = oauth.None();

for (const dialect of ['sqlite', 'postgres'] as const) {
  describe(`a standard OAuth client (${dialect})`, () => {
    let service: TestService;
    let server: oauth.AuthorizationServer;

    beforeAll(async () => {
      const databaseUrl = dialect === 'postgres' ? await (await startPostgres()).createDatabase() : undefined;
      service = await startService({
        env: { LATCHKEY_DEVICE_POLL_INTERVAL: '1' },
        ...(databaseUrl === undefined ? {} : { databaseUrl }),
      });
      const issuer = new URL(service.url);
      const answer = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
      server = await oauth.processDiscoveryResponse(issuer, answer);
    });
    afterAll(() => service.stop());

    const poll = async (device_code: string) =>
      oauth.processDeviceCodeResponse(
        server,
        client,
        await oauth.deviceCodeGrantRequest(server, client, noSecret, device_code, insecure),
      );

    async function signIn() {
      const started = await oauth.deviceAuthorizationRequest(
        server,
        client,
        noSecret,
        { scope: 'openid profile' },
        insecure,
      );
      const { device_code, user_code } = await oauth.processDeviceAuthorizationResponse(
        server,
        client,
        started,
      );
      const pending = await poll(device_code).catch((error: oauth.ResponseBodyError) => error);
      expect(pending).toMatchObject({ error: 'authorization_pending', status: 400 });
      const { access_token: token } = await loginByMail(service.url, 'ada@example.com');
      const approved = await request(service.url, 'POST', '/device/approve', { json: { user_code }, token });
      expect(approved.status).toBe(204);
      const tokens = await poll(device_code);
      expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 14_400 });
      return tokens;
    }

    async function serviceClient(): Promise<{ client: oauth.Client; secret: string }> {
      const { stdout, code } = await runOperator(service.env, 'services', 'create', 'projects');
      expect(code).toBe(0);
      const [, id, secret] = /^(svc_[\w-]+):(lk_sk_[\w-]+)$/.exec(stdout.trimEnd().split('\n').at(-1)!)!;
      return { client: { client_id: id! }, secret: secret! };
    }

    const introspect = async (
      { client, secret }: Awaited<ReturnType<typeof serviceClient>>,
      token: string,
      requestJwtResponse: boolean,
    ) => {
      const answer = await oauth.introspectionRequest(
        server,
        client,
        oauth.ClientSecretBasic(secret),
        token,
        {
          requestJwtResponse,
          ...insecure,
        },
      );
      const found = await oauth.processIntrospectionResponse(server, client, answer);
      if (requestJwtResponse) await oauth.validateApplicationLevelSignature(server, answer, insecure);
      return found;
    };

    test('signs in, refreshes and revokes, and introspection shows each step at once', async () => {
      const tokens = await signIn();
      const projects = await serviceClient();
      for (const signed of [false, true]) {
        const found = await introspect(projects, tokens.access_token, signed);
        expect(found).toMatchObject({ active: true, iss: service.url, token_type: 'Bearer' });
      }

      const refreshed = await oauth.processRefreshTokenResponse(
        server,
        client,
        await oauth.refreshTokenGrantRequest(server, client, noSecret, tokens.refresh_token!, insecure),
      );
      const me = await oauth.protectedResourceRequest(
        refreshed.access_token,
        'GET',
        new URL('/api/v1/auth/me', service.url),
        undefined,
        undefined,
        insecure,
      );
      const profile = await me.json();
      expect(profile).toMatchObject({ name: 'ada' });
      // The client did not ask for the scope email.
      expect(profile).not.toHaveProperty('email');

      const revoked = await oauth.revocationRequest(
        server,
        client,
        noSecret,
        refreshed.refresh_token!,
        insecure,
      );
      await oauth.processRevocationResponse(revoked);
      for (const signed of [false, true])
        expect(await introspect(projects, refreshed.access_token, signed)).toEqual({ active: false });
    });
  });
}
