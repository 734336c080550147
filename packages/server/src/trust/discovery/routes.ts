import { keySet, serverMetadata as metadataSchema } from '@latchkey/contract/services';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { documentStaticPath } from '../../platform/http/static-path.ts';
import { listScopes } from '../../services/scopes/scopes.ts';
import { keySetMaxAgeSeconds, type SigningKeys } from '../signing-keys/signing-keys.ts';
import { keySetPath, serverMetadata } from './discovery.ts';

const cacheable = { 'Cache-Control': `public, max-age=${keySetMaxAgeSeconds}` };

/** The well-known documents that OAuth clients and verifiers of signatures start from. */
export function discoveryRoutes(api: Api, ctx: Context, keys: SigningKeys): void {
  documentStaticPath(api.routes, {
    id: 'serverMetadata',
    title: 'Get the server metadata',
    group: 'discovery',
    path: '/.well-known/oauth-authorization-server',
    summary: 'OAuth authorization server metadata (RFC 8414)',
    type: 'application/json',
    schema: metadataSchema,
  });
  api.routes.get('/.well-known/oauth-authorization-server', async (exchange) => {
    const { scopes } = await listScopes(ctx.db.read);
    const names = scopes.map(({ name }) => name);
    return exchange.json(serverMetadata(ctx.config.baseUrl, names), 200, cacheable);
  });

  documentStaticPath(api.routes, {
    id: 'keySet',
    title: 'Get the public keys',
    group: 'discovery',
    path: keySetPath,
    summary: 'Public keys that verify signed introspection responses and events of the feed (RFC 7517)',
    type: 'application/json',
    schema: keySet,
  });
  api.routes.get(keySetPath, async (exchange) =>
    exchange.json({ keys: [...(await keys.published())] }, 200, cacheable),
  );
}
