import { endpoints } from '@latchkey/contract/endpoints';
import { refreshGrantType } from '@latchkey/contract/tokens';
import type { Context } from '../platform/context.ts';
import type { Api, Call, Grant } from '../platform/http/pipeline.ts';
import type { ClientInfo } from '../platform/values/client-info.ts';
import { refresh } from './refresh.ts';
import {
  listSessions,
  revokeByToken,
  revokeOwnSession,
  revokeSession,
  type WithdrawApproval,
} from './sessions.ts';

/** The refresh grant of the OAuth token endpoint. @see RFC 6749 section 6 */
export const refreshGrant: Grant = {
  grantType: refreshGrantType,
  parameter: 'refresh_token',
  redeem: async (ctx, refreshToken, call) => {
    const { tokens, detail } = await refresh(ctx, refreshToken, call.idempotencyKey, call.client);
    return { body: tokens, detail };
  },
};

/** Transitions of tables that capabilities above this one own. */
interface Transitions {
  readonly revokeAllSessions: (
    ctx: Context,
    userId: string,
    by: { readonly sessionId: string; readonly client: ClientInfo },
  ) => Promise<void>;
  readonly withdrawApproval: WithdrawApproval;
}

export function sessionRoutes(
  api: Api,
  ctx: Context,
  { revokeAllSessions, withdrawApproval }: Transitions,
): void {
  api.on(
    endpoints.refresh,
    (call) => refreshGrant.redeem(ctx, call.body.refresh_token, call),
    api.formGrants([refreshGrant]),
  );

  const end = async ({ caller, query, body, client }: Omit<Call<typeof endpoints.logout>, 'params'>) => {
    const onlyThis = query.scope === 'session' || body.scope === 'session';
    if (onlyThis) await revokeOwnSession(ctx, caller, client);
    else await revokeAllSessions(ctx, caller.userId, { sessionId: caller.sessionId, client });
    return { cookie: 'clear' as const };
  };
  api.on(endpoints.revoke, end, async ({ body, client }) => {
    await revokeByToken(ctx, body.token, client);
    return {};
  });
  api.on(endpoints.logout, end);

  api.on(endpoints.listSessions, async ({ caller, query }) => ({
    body: await listSessions(ctx, caller, query),
  }));

  api.on(endpoints.revokeSession, async ({ caller, params, client }) => {
    await revokeSession(ctx, caller, params.id, client, withdrawApproval);
    return caller.sessionId === params.id ? { cookie: 'clear' } : {};
  });
}
