import { endpoints } from '@latchkey/contract/endpoints';
import { passkeyPages, relatedOriginList } from '@latchkey/contract/passkeys';
import { signInResponse } from '../../identity/account/account.ts';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { serveStaticPath } from '../../platform/http/static-path.ts';
import { byClient } from '../../platform/rate-limits/limiter.ts';
import { limitingChanges } from '../../sessions/sessions.ts';
import { listPasskeys, removePasskey, renamePasskey } from './passkeys.ts';
import { registerPasskey, startRegistration } from './registration.ts';
import { signInWithPasskey, startSignIn } from './sign-in.ts';
import { expectedOrigins } from './verification.ts';

export function passkeyRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.startPasskeyRegistration, async ({ caller, client }) => {
    const { headers } = await ctx.limiter.take(byClient('passkey_challenges', client));
    return { body: await startRegistration(ctx, caller), headers };
  });

  api.on(endpoints.registerPasskey, async (call) => {
    const { headers } = await ctx.limiter.take(byClient('passkey_responses', call.client));
    return { body: await registerPasskey(ctx, call, call.body), headers };
  });

  api.on(endpoints.startPasskeyLogin, async ({ client }) => {
    const { headers } = await ctx.limiter.take(byClient('passkey_challenges', client));
    return { body: startSignIn(ctx), headers };
  });

  api.on(endpoints.loginWithPasskey, async ({ body, ...call }) => {
    const { headers } = await ctx.limiter.take(byClient('passkey_responses', call.client));
    const answer = await signInResponse(ctx, call, (origin) => signInWithPasskey(ctx, body, origin));
    return { ...answer, headers };
  });

  api.on(endpoints.listPasskeys, async ({ caller }) => ({
    body: { passkeys: await listPasskeys(ctx, caller) },
  }));

  api.on(endpoints.renamePasskey, (call) =>
    limitingChanges(ctx, call, () => renamePasskey(ctx, call, call.params.id, call.body.name)),
  );

  api.on(endpoints.removePasskey, (call) => removePasskey(ctx, call, call.params.id));

  const page = `${ctx.config.baseUrl}/account`;
  serveStaticPath(api.routes, {
    id: 'passkeyEndpoints',
    title: 'Get the passkey pages',
    group: 'discovery',
    path: '/.well-known/passkey-endpoints',
    summary: 'Pages where users add and manage passkeys, for password managers (W3C Passkey Endpoints)',
    type: 'application/json',
    schema: passkeyPages,
    handler: (exchange) => exchange.json({ enroll: page, manage: page }),
  });
  serveStaticPath(api.routes, {
    id: 'relatedOrigins',
    title: 'Get the related origins',
    group: 'discovery',
    path: '/.well-known/webauthn',
    summary: 'Origins that may use the passkeys of this service (WebAuthn Level 3 section 5.11)',
    type: 'application/json',
    schema: relatedOriginList,
    handler: (exchange) => exchange.json({ origins: expectedOrigins(ctx.config) }),
  });
}
