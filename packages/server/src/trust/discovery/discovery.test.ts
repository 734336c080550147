import { expect, test } from 'bun:test';
import { onBothDatabases } from '../../../../../tests/support/app.ts';

onBothDatabases('discovery', (open) => {
  test('the metadata document lists every OAuth endpoint below its issuer, and each of them exists', async () => {
    const app = await open();
    const answer = await app.ask('GET', '.well-known/oauth-authorization-server');
    const base = app.ctx.config.baseUrl;
    expect(answer.headers.get('Cache-Control')).toBe('public, max-age=300');
    expect(answer.body).toEqual({
      issuer: base,
      token_endpoint: `${base}/api/v1/auth/token`,
      device_authorization_endpoint: `${base}/api/v1/auth/device`,
      revocation_endpoint: `${base}/api/v1/auth/revoke`,
      introspection_endpoint: `${base}/api/v1/auth/introspect`,
      jwks_uri: `${base}/.well-known/jwks.json`,
      scopes_supported: ['profile', 'email', 'organizations', 'openid', 'offline_access'],
      grant_types_supported: [
        'urn:ietf:params:oauth:grant-type:device_code',
        'refresh_token',
        'urn:ietf:params:oauth:grant-type:token-exchange',
        'client_credentials',
      ],
      response_types_supported: [],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
      revocation_endpoint_auth_methods_supported: ['none'],
      introspection_endpoint_auth_methods_supported: ['client_secret_basic'],
      introspection_signing_alg_values_supported: ['ES256'],
      service_documentation: `${base}/docs`,
    });
    for (const name of Object.keys(answer.body).filter((name) => name.endsWith('_endpoint'))) {
      const path = answer.body[name].slice(base.length + 1);
      expect([name, (await app.ask('GET', path)).status]).toEqual([name, 405]);
    }
    await app.close();
  });

  test('the key set has public keys only and may be cached for five minutes', async () => {
    const app = await open();
    const answer = await app.ask('GET', '.well-known/jwks.json');
    expect(answer.headers.get('Cache-Control')).toBe('public, max-age=300');
    expect(answer.body.keys).toHaveLength(1);
    expect(Object.keys(answer.body.keys[0]).toSorted()).toEqual([
      'alg',
      'crv',
      'kid',
      'kty',
      'use',
      'x',
      'y',
    ]);
    await app.close();
  });
});
