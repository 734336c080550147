import { endpoints } from '@latchkey/contract/endpoints';
import type { TokenSet } from '@latchkey/contract/tokens';
import type { Context } from '../platform/context.ts';
import type { Call } from '../platform/http/call.ts';
import type { Api } from '../platform/http/pipeline.ts';
import {
  type Grant,
  refuseAuthorizationDetails,
  requireParameter,
} from '../platform/token-endpoint/grants.ts';
import type { Clients } from '../services/clients/clients.ts';
import {
  type CancelDeviceCode,
  endSession,
  type RevokedAllBy,
  revokeByToken,
  revokeSession,
  type WithdrawApproval,
} from './ending.ts';
import { refresh } from './refresh.ts';
import { type AddIdentityToken, listSessions } from './sessions.ts';

/** The refresh token grant. @see RFC 6749 section 6 */
export const refreshGrant = (addIdentityToken: AddIdentityToken): Grant<TokenSet> => ({
  redeem: async (ctx, call) => {
    refuseAuthorizationDetails(call.body);
    const token = requireParameter(call.body, 'refresh_token');
    const { tokens, sessionId, clientId, detail } = await refresh(ctx, token, call, call.body);
    // Only applications get identity tokens, and they name themselves.
    const body = clientId === undefined ? tokens : await addIdentityToken(sessionId, tokens, null);
    return { body, detail };
  },
});

/** Transitions of tables that capabilities above this one own. */
interface Transitions {
  readonly revokeAllSessions: (ctx: Context, userId: string, by: RevokedAllBy) => Promise<void>;
  readonly withdrawApproval: WithdrawApproval;
  readonly cancelDeviceCode: CancelDeviceCode;
  /** Spends an authorization code; ignores any other string. */
  readonly revokeCode: (ctx: Context, token: string) => Promise<void>;
  /** Authenticates a client that signs its requests. */
  readonly identifyClient: Clients['identify'];
}

export function sessionRoutes(
  api: Api,
  ctx: Context,
  { revokeAllSessions, withdrawApproval, cancelDeviceCode, revokeCode, identifyClient }: Transitions,
): void {
  /** Revokes the caller's session with `scope=session`, all sessions of the user without it. */
  const signOut = async ({ caller, query, body, client }: Omit<Call<typeof endpoints.logout>, 'params'>) => {
    const isOwnOnly = query.scope === 'session' || body.scope === 'session';
    if (isOwnOnly) await endSession(ctx, caller, caller.sessionId, client);
    else await revokeAllSessions(ctx, caller.userId, { sessionId: caller.sessionId, client });
    return { cookie: 'clear' as const };
  };
  api.on(endpoints.revoke, signOut, async (call) => {
    const { body, client } = await identifyClient(call);
    await revokeByToken(ctx, body.token, client, cancelDeviceCode);
    await revokeCode(ctx, body.token);
    return {};
  });
  api.on(endpoints.logout, signOut);

  api.on(endpoints.listSessions, async ({ caller, query }) => ({
    body: await listSessions(ctx, caller, query),
  }));

  api.on(endpoints.revokeSession, async ({ caller, params, client }) => {
    await revokeSession(ctx, caller, params.id, client, withdrawApproval);
    return caller.sessionId === params.id ? { cookie: 'clear' } : {};
  });
}
