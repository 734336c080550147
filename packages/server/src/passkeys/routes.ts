import { endpoints } from '@latchkey/contract/endpoints';
import { loginAnswer } from '../account/account.ts';
import type { Context } from '../context.ts';
import type { Api } from '../http/api.ts';
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
  api.on(endpoints.startPasskeyRegistration, async ({ login }) => ({
    body: await startRegistration(ctx, login),
  }));

  api.on(endpoints.registerPasskey, async ({ login, body, requester }) => ({
    body: await registerPasskey(ctx, login, body, requester),
  }));

  api.on(endpoints.startPasskeyLogin, async () => ({ body: startLogin(ctx) }));

  api.on(endpoints.loginWithPasskey, async ({ body, query, requester, sessionCookie }) => {
    const inCookie = query.session === 'cookie';
    const facts = { requester, replacesCookie: inCookie ? sessionCookie : undefined };
    return loginAnswer(ctx, await loginWithPasskey(ctx, body, facts), inCookie);
  });

  api.on(endpoints.listPasskeys, async ({ login }) => ({
    body: { passkeys: await listPasskeys(ctx, login) },
  }));

  api.on(endpoints.renamePasskey, async ({ login, params, body, requester }) => ({
    body: await renamePasskey(ctx, login, params.id, body.name, requester),
  }));

  api.on(endpoints.removePasskey, async ({ login, params, requester }) => {
    await removePasskey(ctx, login, params.id, requester);
    return {};
  });

  api.app.get('/.well-known/passkey-endpoints', (c) => c.json(passkeyPages(ctx.config)));
  api.app.get('/.well-known/webauthn', (c) => c.json(relatedOrigins(ctx.config)));
}
