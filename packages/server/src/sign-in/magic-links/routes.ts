import { endpoints } from '@latchkey/contract/endpoints';
import { signInResponse } from '../../identity/account/account.ts';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { previewMagicLink, requestMagicLink, signInWithCode, signInWithLink } from './magic-links.ts';

export function magicLinkRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.requestMagicLink, async ({ body, client, language, knownBrowserCookie }) => {
    const origin = { client, language, knownBrowserCookie };
    const { sent, headers } = await requestMagicLink(ctx, body.email, origin);
    return { body: sent, headers };
  });

  api.on(endpoints.previewMagicLink, async ({ body, client }) => {
    const { preview, headers } = await previewMagicLink(ctx, body.token, client);
    return { body: preview, headers };
  });

  api.on(endpoints.verifyMagicLink, async ({ body, query, client, sessionCookie, knownBrowserCookie }) => {
    const inCookie = query.session === 'cookie';
    const origin = { client, replacesCookie: inCookie ? sessionCookie : undefined };
    const session =
      'request' in body
        ? await signInWithCode(ctx, body.request, body.code, origin)
        : await signInWithLink(ctx, body.token, body.email, origin);
    return signInResponse(ctx, session, inCookie, knownBrowserCookie);
  });
}
