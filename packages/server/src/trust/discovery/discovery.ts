import { endpoints } from '@latchkey/contract/endpoints';
import type { ServerMetadata } from '@latchkey/contract/services';
import { grantTypes } from '@latchkey/contract/tokens';
import { signingAlgorithm } from '../signing-keys/signing-keys.ts';

export const keySetPath = '/.well-known/jwks.json';

/**
 * The metadata from which a standard OAuth client configures itself. The scope for everything is not in it: some clients
 * ask for every scope that is listed.
 * @see RFC 8414 section 2
 */
export const serverMetadata = (baseUrl: string, scopes: readonly string[]): ServerMetadata => ({
  issuer: baseUrl,
  token_endpoint: baseUrl + endpoints.redeemDeviceCode.path,
  device_authorization_endpoint: baseUrl + endpoints.startDeviceAuthorization.path,
  revocation_endpoint: baseUrl + endpoints.revoke.path,
  introspection_endpoint: baseUrl + endpoints.introspect.path,
  jwks_uri: baseUrl + keySetPath,
  scopes_supported: [...scopes],
  grant_types_supported: [...grantTypes],
  response_types_supported: [],
  token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
  revocation_endpoint_auth_methods_supported: ['none'],
  introspection_endpoint_auth_methods_supported: ['client_secret_basic'],
  introspection_signing_alg_values_supported: [signingAlgorithm],
  service_documentation: `${baseUrl}/docs`,
});
