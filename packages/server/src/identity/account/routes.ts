import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { emailKeyOf } from '../../platform/values/email-key.ts';
import { ifNoneMatchIncludes } from '../../platform/values/entity-tag.ts';
import { limitingChanges } from '../../sessions/sessions.ts';
import { updateProfile, visibleTo } from './profile.ts';
import { getUser, listUsers, lookupUser } from './users.ts';

export function accountRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.getProfile, async ({ caller, ifNoneMatch }) => {
    const { profile, etag } = visibleTo(caller);
    const headers = { ETag: etag };
    const unchanged = ifNoneMatch !== null && ifNoneMatchIncludes(ifNoneMatch, etag);
    return unchanged ? { status: 304, headers } : { body: profile, headers };
  });

  api.on(endpoints.updateProfile, async (call) => {
    const changed = await limitingChanges(ctx, call, () => updateProfile(ctx, call, call.body, call.ifMatch));
    const { profile, etag } = changed.body;
    return { body: profile, headers: { ...changed.headers, ETag: etag } };
  });

  api.answer(endpoints.getUser, ({ params }) => getUser(ctx, params.user_id));

  api.answer(endpoints.listUsers, ({ query }) => listUsers(ctx, query));

  api.answer(endpoints.lookupUser, ({ body }) => lookupUser(ctx, emailKeyOf(body.email)));
}
