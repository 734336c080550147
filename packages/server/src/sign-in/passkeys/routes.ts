import { endpoints } from '@latchkey/contract/endpoints';
import { passkeyEndpoints, relatedOriginList } from '@latchkey/contract/passkeys';
import { limitingChanges, loginAnswer } from '../../identity/account/account.ts';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { describeDocument } from '../../platform/http/documents.ts';
import { byClient } from '../../platform/rate-limits/by-client.ts';
import {
  listPasskeys,
  loginWithPasskey,
  passkeyPages,
  registerPasskey,
  relatedOrigins,
  removePasskey,
  renamePasskey,
  startLogin,
  startRegistration,
} from './passkeys.ts';

export function passkeyRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.startPasskeyRegistration, async ({ login, requester }) => {
    const { headers } = await ctx.limiter.take(byClient('passkey_challenges', requester));
    return { body: await startRegistration(ctx, login), headers };
  });

  api.on(endpoints.registerPasskey, async ({ login, body, requester }) => {
    const { headers } = await ctx.limiter.take(byClient('passkey_responses', requester));
    return { body: await registerPasskey(ctx, login, body, requester), headers };
  });

  api.on(endpoints.startPasskeyLogin, async ({ requester }) => {
    const { headers } = await ctx.limiter.take(byClient('passkey_challenges', requester));
    return { body: startLogin(ctx), headers };
  });

  api.on(
    endpoints.loginWithPasskey,
    async ({ body, query, requester, sessionCookie, knownBrowserCookie }) => {
      const inCookie = query.session === 'cookie';
      const facts = { requester, replacesCookie: inCookie ? sessionCookie : undefined };
      const { headers } = await ctx.limiter.take(byClient('passkey_responses', requester));
      const session = await loginWithPasskey(ctx, body, facts);
      return { ...(await loginAnswer(ctx, session, inCookie, knownBrowserCookie)), headers };
    },
  );

  api.on(endpoints.listPasskeys, async ({ login }) => ({
    body: { passkeys: await listPasskeys(ctx, login) },
  }));

  api.on(endpoints.renamePasskey, async ({ login, params, body, requester }) => {
    const { changed, headers } = await limitingChanges(ctx, login, requester, () =>
      renamePasskey(ctx, login, params.id, body.name, requester),
    );
    return { body: changed, headers };
  });

  api.on(endpoints.removePasskey, async ({ login, params, requester }) => {
    await removePasskey(ctx, login, params.id, requester);
    return {};
  });

  describeDocument(api.routes, {
    id: 'passkeyEndpoints',
    path: '/.well-known/passkey-endpoints',
    summary: 'Where a person adds and manages passkeys, for password managers (passkey endpoints)',
    type: 'application/json',
    schema: passkeyEndpoints,
  });
  api.routes.get('/.well-known/passkey-endpoints', (exchange) => exchange.json(passkeyPages(ctx.config)));
  describeDocument(api.routes, {
    id: 'relatedOrigins',
    path: '/.well-known/webauthn',
    summary: 'The origins that the passkeys of this service may be used at (WebAuthn Level 3 section 5.11)',
    type: 'application/json',
    schema: relatedOriginList,
  });
  api.routes.get('/.well-known/webauthn', (exchange) => exchange.json(relatedOrigins(ctx.config)));
}
