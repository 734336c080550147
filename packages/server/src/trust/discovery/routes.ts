import { codeChallengeMethod, responseModes, responseType } from '@latchkey/contract/authorize';
import { endpoints } from '@latchkey/contract/endpoints';
import { endSessionPath } from '@latchkey/contract/openid';
import { listedScopes } from '@latchkey/contract/scopes';
import { keySet, serverMetadata as metadataSchema, type ServerMetadata } from '@latchkey/contract/services';
import { deviceCodeGrantType, federationGrantType, grantTypes } from '@latchkey/contract/tokens';
import type { Config } from '../../platform/config/config.ts';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import type { Handler } from '../../platform/http/server.ts';
import { serveStaticPath } from '../../platform/http/static-path.ts';
import { assertionAlgorithms } from '../../platform/outgoing/key-set.ts';
import {
  identityAlgorithm,
  keySetMaxAgeSeconds,
  type SigningKeys,
  signingAlgorithm,
} from '../signing-keys/signing-keys.ts';

const keySetPath = '/.well-known/jwks.json';

/**
 * The metadata from which standard OAuth and OpenID clients configure themselves. It omits the scope for
 * everything, because some clients request every scope that is listed.
 * @see RFC 8414 section 2, OpenID Connect Discovery section 3
 */
const serverMetadata = (config: Config): ServerMetadata => {
  const { baseUrl, clientHosts, deviceLogin, trustedIssuers } = config;
  const withoutUse: readonly string[] = [
    ...(deviceLogin === 'off' ? [deviceCodeGrantType] : []),
    ...(trustedIssuers.length === 0 ? [federationGrantType] : []),
  ];
  const signing = clientHosts.length === 0 ? [] : ['private_key_jwt'];
  return {
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}/authorize`,
    userinfo_endpoint: baseUrl + endpoints.getUserinfo.path,
    end_session_endpoint: `${baseUrl}${endSessionPath}`,
    token_endpoint: baseUrl + endpoints.issueToken.path,
    ...(deviceLogin === 'off'
      ? {}
      : { device_authorization_endpoint: baseUrl + endpoints.startDeviceAuthorization.path }),
    revocation_endpoint: baseUrl + endpoints.revoke.path,
    introspection_endpoint: baseUrl + endpoints.introspect.path,
    jwks_uri: baseUrl + keySetPath,
    scopes_supported: [...listedScopes],
    grant_types_supported: grantTypes.filter((type) => !withoutUse.includes(type)),
    response_types_supported: [responseType],
    response_modes_supported: [...responseModes],
    code_challenge_methods_supported: [codeChallengeMethod],
    authorization_response_iss_parameter_supported: true,
    ...(clientHosts.length === 0 ? {} : { client_id_metadata_document_supported: true }),
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post', ...signing],
    revocation_endpoint_auth_methods_supported: ['none', ...signing],
    ...(signing.length === 0
      ? {}
      : {
          token_endpoint_auth_signing_alg_values_supported: [...assertionAlgorithms],
          revocation_endpoint_auth_signing_alg_values_supported: [...assertionAlgorithms],
        }),
    introspection_endpoint_auth_methods_supported: ['client_secret_basic'],
    introspection_signing_alg_values_supported: [signingAlgorithm],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [identityAlgorithm],
    claims_parameter_supported: false,
    request_uri_parameter_supported: false,
    service_documentation: `${baseUrl}/docs`,
  };
};

const cacheable = { 'Cache-Control': `public, max-age=${keySetMaxAgeSeconds}` };

/** The well-known documents that OAuth clients and verifiers of signatures start from. */
export function discoveryRoutes(api: Api, ctx: Context, keys: SigningKeys): void {
  const metadata = serverMetadata(ctx.config);
  const handler: Handler = (exchange) => exchange.json(metadata, 200, cacheable);
  serveStaticPath(api.routes, {
    id: 'serverMetadata',
    title: 'Get the server metadata',
    group: 'discovery',
    path: '/.well-known/oauth-authorization-server',
    summary: 'OAuth authorization server metadata (RFC 8414), also at /.well-known/openid-configuration',
    type: 'application/json',
    schema: metadataSchema,
    handler,
  });
  api.routes.get('/.well-known/openid-configuration', handler);

  serveStaticPath(api.routes, {
    id: 'keySet',
    title: 'Get the public keys',
    group: 'discovery',
    path: keySetPath,
    summary:
      'Public keys that verify identity tokens, signed introspection responses and events of the feed (RFC 7517)',
    type: 'application/json',
    schema: keySet,
    handler: async (exchange) => exchange.json({ keys: await keys.published() }, 200, cacheable),
  });
}
