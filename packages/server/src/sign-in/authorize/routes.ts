import { endpoints } from '@latchkey/contract/endpoints';
import type { TokenSet } from '@latchkey/contract/tokens';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import type { Grant } from '../../platform/token-endpoint/grant.ts';
import type { IssueIdentityToken } from '../../sessions/sessions.ts';
import { type AuthorizeOptions, approveRequest, denyRequest, verifyRequest } from './authorize.ts';
import { redeemCode } from './redeeming.ts';

/** The authorization code grant of the OAuth token endpoint. @see RFC 6749 section 4.1.3 */
export const authorizationCodeGrant = (issueIdentityToken: IssueIdentityToken): Grant<TokenSet> => ({
  redeem: async (ctx, call) => {
    const { tokens, sessionId, nonce, detail } = await redeemCode(ctx, call);
    const id_token = await issueIdentityToken(sessionId, tokens, nonce);
    return { body: id_token === undefined ? tokens : { ...tokens, id_token }, detail };
  },
});

export function authorizeRoutes(api: Api, ctx: Context, options: AuthorizeOptions): void {
  api.on(endpoints.verifyAuthorization, async ({ body, caller, client }) => ({
    body: await verifyRequest(ctx, options, body, { caller, client }),
  }));

  api.on(endpoints.approveAuthorization, async ({ body, caller, client }) => ({
    body: await approveRequest(ctx, options, body, { caller, client }),
  }));

  api.on(endpoints.denyAuthorization, async ({ body, caller, client }) => ({
    body: await denyRequest(ctx, options, body, { caller, client }),
  }));
}
