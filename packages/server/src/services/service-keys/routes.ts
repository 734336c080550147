import { endpoints } from '@latchkey/contract/endpoints';
import { introspectionJwtType, keySet, serverMetadata as metadataSchema } from '@latchkey/contract/services';
import type { Context } from '../../platform/context.ts';
import { prefers } from '../../platform/http/accept.ts';
import type { Call } from '../../platform/http/call.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { documentStaticPath } from '../../platform/http/static-path.ts';
import { keySetMaxAgeSeconds, type SigningKeys } from '../signing-keys/signing-keys.ts';
import { keySetPath, serverMetadata } from './metadata.ts';
import { introspect, signIntrospection } from './service-keys.ts';

type Introspect = Pick<Call<typeof endpoints.introspect>, 'body' | 'service' | 'accept'>;

const cacheable = { 'Cache-Control': `public, max-age=${keySetMaxAgeSeconds}` };

/** Introspection, and the documents that standard clients and verifiers start from. */
export function serviceRoutes(api: Api, ctx: Context, keys: SigningKeys): void {
  const answer = async ({ body, service, accept }: Introspect) => {
    const found = await introspect(ctx, body.token);
    const detail = found.active ? found.token_use : ('inactive' as const);
    if (!prefers(accept, introspectionJwtType)) return { body: found, detail };
    const text = await signIntrospection(ctx, keys, service, found);
    return { signed: { type: introspectionJwtType, text }, detail };
  };
  api.on(endpoints.introspect, answer, answer);

  const metadata = serverMetadata(ctx.config.baseUrl);
  documentStaticPath(api.routes, {
    id: 'serverMetadata',
    path: '/.well-known/oauth-authorization-server',
    summary: 'What a standard OAuth client must know (RFC 8414)',
    type: 'application/json',
    schema: metadataSchema,
  });
  api.routes.get('/.well-known/oauth-authorization-server', (exchange) =>
    exchange.json(metadata, 200, cacheable),
  );

  documentStaticPath(api.routes, {
    id: 'keySet',
    path: keySetPath,
    summary: 'The public keys that signed introspections verify under (RFC 7517)',
    type: 'application/json',
    schema: keySet,
  });
  api.routes.get(keySetPath, async (exchange) =>
    exchange.json({ keys: [...(await keys.published())] }, 200, cacheable),
  );
}
