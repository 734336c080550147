import { endpoints } from '@latchkey/contract/endpoints';
import { passkeyEndpoints, relatedOriginList } from '@latchkey/contract/passkeys';
import { limitingChanges, signInResponse } from '../../identity/account/account.ts';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { documentStaticPath } from '../../platform/http/static-path.ts';
import { byClient } from '../../platform/rate-limits/limiter.ts';
import { expectedOrigins } from './client-data.ts';
import { listPasskeys, removePasskey, renamePasskey } from './passkeys.ts';
import { registerPasskey, startRegistration } from './registration.ts';
import { signInWithPasskey, startSignIn } from './sign-in.ts';

export function passkeyRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.startPasskeyRegistration, async ({ caller, client }) => {
    const { headers } = await ctx.limiter.take(byClient('passkey_challenges', client));
    return { body: await startRegistration(ctx, caller), headers };
  });

  api.on(endpoints.registerPasskey, async ({ caller, body, client }) => {
    const { headers } = await ctx.limiter.take(byClient('passkey_responses', client));
    return { body: await registerPasskey(ctx, caller, body, client), headers };
  });

  api.on(endpoints.startPasskeyLogin, async ({ client }) => {
    const { headers } = await ctx.limiter.take(byClient('passkey_challenges', client));
    return { body: startSignIn(ctx), headers };
  });

  api.on(endpoints.loginWithPasskey, async ({ body, query, client, sessionCookie, knownBrowserCookie }) => {
    const inCookie = query.session === 'cookie';
    const origin = { client, replacesCookie: inCookie ? sessionCookie : undefined };
    const { headers } = await ctx.limiter.take(byClient('passkey_responses', client));
    const session = await signInWithPasskey(ctx, body, origin);
    return { ...(await signInResponse(ctx, session, inCookie, knownBrowserCookie)), headers };
  });

  api.on(endpoints.listPasskeys, async ({ caller }) => ({
    body: { passkeys: await listPasskeys(ctx, caller) },
  }));

  api.on(endpoints.renamePasskey, async ({ caller, params, body, client }) => {
    const { changed, headers } = await limitingChanges(ctx, caller, client, () =>
      renamePasskey(ctx, caller, params.id, body.name, client),
    );
    return { body: changed, headers };
  });

  api.on(endpoints.removePasskey, async ({ caller, params, client }) => {
    await removePasskey(ctx, caller, params.id, client);
    return {};
  });

  documentStaticPath(api.routes, {
    id: 'passkeyEndpoints',
    title: 'Get the passkey pages',
    group: 'discovery',
    path: '/.well-known/passkey-endpoints',
    summary: 'Pages where users add and manage passkeys, for password managers (W3C Passkey Endpoints)',
    type: 'application/json',
    schema: passkeyEndpoints,
  });
  const page = `${ctx.config.baseUrl}/account`;
  const pages = { enroll: page, manage: page };
  api.routes.get('/.well-known/passkey-endpoints', (exchange) => exchange.json(pages));
  documentStaticPath(api.routes, {
    id: 'relatedOrigins',
    title: 'Get the related origins',
    group: 'discovery',
    path: '/.well-known/webauthn',
    summary: 'Origins that may use the passkeys of this service (WebAuthn Level 3 section 5.11)',
    type: 'application/json',
    schema: relatedOriginList,
  });
  const origins = expectedOrigins(ctx.config);
  api.routes.get('/.well-known/webauthn', (exchange) => exchange.json({ origins }));
}
