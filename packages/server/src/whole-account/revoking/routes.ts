import { endpoints } from '@latchkey/contract/endpoints';
import { revokeAllSessions } from '../../identity/account/account.ts';
import type { Context } from '../../platform/context.ts';
import type { Call } from '../../platform/http/call.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import type { Clients } from '../../services/clients/clients.ts';
import { endSession } from '../../sessions/ending.ts';
import type { HeldPolls } from '../../sign-in/device/device.ts';
import { revokeSession, revokeToken } from './revoking.ts';

export function revokingRoutes(
  api: Api,
  ctx: Context,
  { clients, heldPolls }: { readonly clients: Clients; readonly heldPolls: HeldPolls },
): void {
  /** Revokes the caller's session with `scope=session`, all sessions of the user without it. */
  const signOut = async ({ caller, query, body, client }: Omit<Call<typeof endpoints.logout>, 'params'>) => {
    const isOwnOnly = query.scope === 'session' || body.scope === 'session';
    if (isOwnOnly) await endSession(ctx, caller, caller.sessionId, client);
    else await revokeAllSessions(ctx, caller.userId, { sessionId: caller.sessionId, client });
    return { cookie: 'clear' as const };
  };
  api.on(endpoints.revoke, signOut, async (call) => {
    const { body, client } = await clients.identify(call);
    await revokeToken(ctx, heldPolls, body.token, client);
  });
  api.on(endpoints.logout, signOut);

  api.on(endpoints.revokeSession, async ({ caller, params, client }) => {
    await revokeSession(ctx, caller, params.id, client);
    return caller.sessionId === params.id ? { cookie: 'clear' } : {};
  });
}
