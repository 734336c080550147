import { keySet, serverMetadata as metadataSchema } from '@latchkey/contract/services';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { documentStaticPath } from '../../platform/http/static-path.ts';
import { keySetMaxAgeSeconds, type SigningKeys } from '../signing-keys/signing-keys.ts';
import { keySetPath, serverMetadata } from './discovery.ts';

const cacheable = { 'Cache-Control': `public, max-age=${keySetMaxAgeSeconds}` };

/** The same document, for OAuth and for OpenID clients. */
const metadataPaths = [
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
] as const;

/** The well-known documents that OAuth clients and verifiers of signatures start from. */
export function discoveryRoutes(api: Api, ctx: Context, keys: SigningKeys): void {
  documentStaticPath(api.routes, {
    id: 'serverMetadata',
    title: 'Get the server metadata',
    group: 'discovery',
    path: metadataPaths[0],
    summary: 'OAuth authorization server metadata (RFC 8414), also at /.well-known/openid-configuration',
    type: 'application/json',
    schema: metadataSchema,
  });
  const metadata = serverMetadata(ctx.config);
  for (const path of metadataPaths)
    api.routes.get(path, (exchange) => exchange.json(metadata, 200, cacheable));

  documentStaticPath(api.routes, {
    id: 'keySet',
    title: 'Get the public keys',
    group: 'discovery',
    path: keySetPath,
    summary:
      'Public keys that verify identity tokens, signed introspection responses and events of the feed (RFC 7517)',
    type: 'application/json',
    schema: keySet,
  });
  api.routes.get(keySetPath, async (exchange) =>
    exchange.json({ keys: [...(await keys.published())] }, 200, cacheable),
  );
}
