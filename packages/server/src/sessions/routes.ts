import { endpoints } from '@latchkey/contract/endpoints';
import { refreshGrantType } from '@latchkey/contract/tokens';
import type { Context } from '../platform/context.ts';
import type { Api, Call, Grant } from '../platform/http/pipeline.ts';
import { refresh } from './refresh.ts';
import {
  listSessions,
  revokeAllSessions,
  revokeByToken,
  revokeOwnSession,
  revokeSession,
} from './sessions.ts';

/** The refresh grant of the OAuth token endpoint. @see RFC 6749 section 6 */
export const refreshGrant: Grant = {
  grantType: refreshGrantType,
  parameter: 'refresh_token',
  redeem: async (ctx, refreshToken, call) => {
    const { tokens, detail } = await refresh(ctx, refreshToken, call.idempotencyKey, call.requester);
    return { body: tokens, detail };
  },
};

export function sessionRoutes(api: Api, ctx: Context): void {
  api.on(
    endpoints.refresh,
    (call) => refreshGrant.redeem(ctx, call.body.refresh_token, call),
    api.formGrants([refreshGrant]),
  );

  const end = async ({ login, query, body, requester }: Omit<Call<typeof endpoints.logout>, 'params'>) => {
    const onlyThis = query.scope === 'session' || body.scope === 'session';
    if (onlyThis) await revokeOwnSession(ctx, login, requester);
    else await revokeAllSessions(ctx, login.userId, { sessionId: login.sessionId, requester });
    return { cookie: 'clear' as const };
  };
  api.on(endpoints.revoke, end, async ({ body, requester }) => {
    await revokeByToken(ctx, body.token, requester);
    return {};
  });
  api.on(endpoints.logout, end);

  api.on(endpoints.listSessions, async ({ login, query }) => ({
    body: await listSessions(ctx, login, query),
  }));

  api.on(endpoints.revokeSession, async ({ login, params, requester }) => {
    await revokeSession(ctx, login, params.id, requester);
    return login.sessionId === params.id ? { cookie: 'clear' } : {};
  });
}
