import { endpoints } from '@latchkey/contract/endpoints';
import { signInResponse } from '../../identity/account/account.ts';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { loginWithCode, loginWithLink, requestMagicLink } from './magic-links.ts';

export function magicLinkRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.requestMagicLink, async ({ body, client, knownBrowserCookie }) => {
    const asker = { client, knownBrowserCookie };
    const { sent, headers } = await requestMagicLink(ctx, body.email, asker);
    return { body: sent, headers };
  });

  api.on(endpoints.verifyMagicLink, async ({ body, query, client, sessionCookie, knownBrowserCookie }) => {
    const inCookie = query.session === 'cookie';
    const facts = { client, replacesCookie: inCookie ? sessionCookie : undefined };
    const session =
      'request' in body
        ? await loginWithCode(ctx, body.request, body.code, facts)
        : await loginWithLink(ctx, body.token, body.email, facts);
    return signInResponse(ctx, session, inCookie, knownBrowserCookie);
  });
}
