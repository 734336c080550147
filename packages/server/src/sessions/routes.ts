import { endpoints } from '@latchkey/contract/endpoints';
import type { TokenSet } from '@latchkey/contract/tokens';
import type { Context } from '../platform/context.ts';
import type { Api } from '../platform/http/pipeline.ts';
import {
  type Grant,
  refuseAuthorizationDetails,
  requireParameter,
} from '../platform/token-endpoint/grants.ts';
import { refresh } from './refresh.ts';
import { type AddIdentityToken, listSessions } from './sessions.ts';

/** The refresh token grant. @see RFC 6749 section 6 */
export const refreshGrant = (addIdentityToken: AddIdentityToken): Grant<TokenSet> => ({
  redeem: async (ctx, call) => {
    refuseAuthorizationDetails(call.body);
    const token = requireParameter(call.body, 'refresh_token');
    const { tokens, sessionId, clientId, detail } = await refresh(ctx, token, call);
    // Only applications get identity tokens, and they name themselves.
    const body = clientId === undefined ? tokens : await addIdentityToken(sessionId, tokens, null);
    return { body, detail };
  },
});

export function sessionRoutes(api: Api, ctx: Context): void {
  api.answer(endpoints.listSessions, ({ caller, query }) => listSessions(ctx, caller, query));
}
