import { endpoints } from '@latchkey/contract/endpoints';
import { changeDisabled, revokeAllSessions } from '../../identity/account/account.ts';
import { getUser } from '../../identity/account/users.ts';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { noClient } from '../../platform/values/client-address.ts';
import { revokeSession } from '../revoking/revoking.ts';
import { listUserEmails, listUserEvents, listUserSessions, reportOnAddress } from './operators.ts';

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

  api.on(endpoints.reportOnAddress, async ({ body }) => ({ body: await reportOnAddress(ctx, body.email) }));

  api.on(endpoints.listUserSessions, async ({ params, query }) => ({
    body: await listUserSessions(ctx, params.user_id, query),
  }));

  api.on(endpoints.listUserEvents, async ({ params, query }) => ({
    body: await listUserEvents(ctx, params.user_id, query),
  }));

  api.on(endpoints.listUserEmails, async ({ params, query }) => ({
    body: await listUserEmails(ctx, params.user_id, query),
  }));
}
