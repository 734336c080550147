import { endpoints } from '@latchkey/contract/endpoints';
import { changeDisabled, revokeAllSessions } from '../identity/account/account.ts';
import { getUser } from '../identity/account/users.ts';
import type { Context } from '../platform/context.ts';
import type { Call } from '../platform/http/call.ts';
import type { Api } from '../platform/http/pipeline.ts';
import { noClient } from '../platform/values/client-address.ts';
import type { Clients } from '../services/clients.ts';
import { endSession } from '../sessions/ending.ts';
import type { HeldPolls } from '../sign-in/device/device.ts';
import { disownNotice, previewNotice } from './disowning.ts';
import { listUserEmails, listUserEvents, listUserSessions, reportOnAddress } from './operators.ts';
import { deleteOwnAccount } from './personal-data.ts';
import { revokeSession, revokeToken } from './revoking.ts';

/** What users do with their whole account or with a session of it, and readers of a notice. */
export function wholeAccountRoutes(
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

  api.answer(endpoints.previewNotice, ({ body }) => previewNotice(ctx, body.token));
  api.answer(endpoints.disownNotice, ({ body, client }) => disownNotice(ctx, body, client));

  api.on(endpoints.deleteAccount, async ({ caller }) => {
    await deleteOwnAccount(ctx, caller);
    return { cookie: 'clear' };
  });
}

/** What a service with the right `operate` sees of a user and may do. Every act names the service in the user's security log. */
export function operatorRoutes(api: Api, ctx: Context): void {
  type Changed =
    | typeof endpoints.disableUser
    | typeof endpoints.enableUser
    | typeof endpoints.revokeUserSessions;
  const onUser = (endpoint: Changed, act: (userId: string, serviceId: string) => Promise<unknown>): void =>
    api.on(endpoint, async ({ service, params }) => {
      await getUser(ctx, params.user_id);
      await act(params.user_id, service.id);
    });
  onUser(endpoints.disableUser, (userId, by) => changeDisabled(ctx, userId, true, by));
  onUser(endpoints.enableUser, (userId, by) => changeDisabled(ctx, userId, false, by));
  onUser(endpoints.revokeUserSessions, (userId, by) => revokeAllSessions(ctx, userId, by));

  api.on(endpoints.revokeUserSession, ({ service, params: { user_id: userId, session_id } }) =>
    revokeSession(ctx, { userId, serviceId: service.id }, session_id, noClient),
  );

  api.answer(endpoints.reportOnAddress, ({ body }) => reportOnAddress(ctx, body.email));

  api.answer(endpoints.listUserSessions, ({ params, query }) => listUserSessions(ctx, params.user_id, query));

  api.answer(endpoints.listUserEvents, ({ params, query }) => listUserEvents(ctx, params.user_id, query));

  api.answer(endpoints.listUserEmails, ({ params, query }) => listUserEmails(ctx, params.user_id, query));
}
