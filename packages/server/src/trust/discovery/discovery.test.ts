import { expect, test } from 'bun:test';
import { openApp } from '#support/app.ts';

test('the metadata document lists every OAuth endpoint below its issuer, and each of them exists; the key set has public keys only; both may be cached for five minutes', async () => {
  const app = await openApp('sqlite');
  const answer = await app.ask('GET', '.well-known/oauth-authorization-server');
  const base = app.ctx.config.baseUrl;
  expect(answer.headers.get('Cache-Control')).toBe('public, max-age=300');
  expect(answer.body).toEqual({
    issuer: base,
    authorization_endpoint: `${base}/authorize`,
    userinfo_endpoint: `${base}/api/v1/auth/userinfo`,
    end_session_endpoint: `${base}/api/v1/auth/end_session`,
    token_endpoint: `${base}/api/v1/auth/token`,
    device_authorization_endpoint: `${base}/api/v1/auth/device`,
    revocation_endpoint: `${base}/api/v1/auth/revoke`,
    introspection_endpoint: `${base}/api/v1/auth/introspect`,
    jwks_uri: `${base}/.well-known/jwks.json`,
    scopes_supported: ['profile', 'email', 'organizations', 'openid', 'offline_access'],
    grant_types_supported: [
      'authorization_code',
      'urn:ietf:params:oauth:grant-type:device_code',
      'refresh_token',
      'urn:ietf:params:oauth:grant-type:token-exchange',
      'client_credentials',
    ],
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'form_post'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    revocation_endpoint_auth_methods_supported: ['none'],
    introspection_endpoint_auth_methods_supported: ['client_secret_basic'],
    introspection_signing_alg_values_supported: ['ES256'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    claims_parameter_supported: false,
    request_uri_parameter_supported: false,
    service_documentation: `${base}/docs`,
  });
  const withGet: Record<string, number> = {
    authorization_endpoint: 400,
    userinfo_endpoint: 401,
    end_session_endpoint: 303,
  };
  for (const name of Object.keys(answer.body).filter((name) => name.endsWith('_endpoint'))) {
    const path = answer.body[name].slice(base.length + 1);
    const status = withGet[name] ?? 405;
    expect([name, (await app.ask('GET', path)).status]).toEqual([name, status]);
  }
  const { body } = await app.ask('GET', '.well-known/openid-configuration');
  expect(body).toEqual(answer.body);

  const keySet = await app.ask('GET', '.well-known/jwks.json');
  expect(keySet.headers.get('Cache-Control')).toBe('public, max-age=300');
  expect(keySet.body.keys.map((key: object) => Object.keys(key).toSorted())).toEqual([
    ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'],
    ['alg', 'e', 'kid', 'kty', 'n', 'use'],
  ]);
});
