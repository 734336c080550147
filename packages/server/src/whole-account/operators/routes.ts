import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import {
  listUserEmails,
  listUserEvents,
  listUserSessions,
  revokeAllSessionsBy,
  revokeSessionBy,
  setDisabledBy,
} from './operators.ts';

export function operatorRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.disableUser, async ({ service, params }) => {
    await setDisabledBy(ctx, service, params.user_id, true);
    return {};
  });

  api.on(endpoints.enableUser, async ({ service, params }) => {
    await setDisabledBy(ctx, service, params.user_id, false);
    return {};
  });

  api.on(endpoints.listUserSessions, async ({ params, query }) => ({
    body: await listUserSessions(ctx, params.user_id, query),
  }));

  api.on(endpoints.revokeUserSessions, async ({ service, params }) => {
    await revokeAllSessionsBy(ctx, service, params.user_id);
    return {};
  });

  api.on(endpoints.revokeUserSession, async ({ service, params }) => {
    await revokeSessionBy(ctx, service, params.user_id, params.session_id);
    return {};
  });

  api.on(endpoints.listUserEvents, async ({ params, query }) => ({
    body: await listUserEvents(ctx, params.user_id, query),
  }));

  api.on(endpoints.listUserEmails, async ({ params, query }) => ({
    body: await listUserEmails(ctx, params.user_id, query),
  }));
}
