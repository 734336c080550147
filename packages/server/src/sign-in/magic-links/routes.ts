import { endpoints } from '@latchkey/contract/endpoints';
import { signInResponse } from '../../identity/account/account.ts';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { previewMagicLink, requestMagicLink, signInWithCode, signInWithLink } from './magic-links.ts';

export function magicLinkRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.requestMagicLink, (call) => requestMagicLink(ctx, call.body.email, call));

  api.on(endpoints.previewMagicLink, ({ body, client }) => previewMagicLink(ctx, body.token, client));

  api.on(endpoints.verifyMagicLink, ({ body, ...call }) =>
    signInResponse(ctx, call, (origin) =>
      'request' in body
        ? signInWithCode(ctx, body.request, body.code, origin)
        : signInWithLink(ctx, body.token, body.email, origin),
    ),
  );
}
