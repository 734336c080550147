import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { callerHas } from '../../platform/values/entity-tag.ts';
import { getProfile, limitingChanges, type TaggedProfile, updateProfile } from './account.ts';

const reply = ({ profile, etag }: TaggedProfile) => ({ body: profile, headers: { ETag: etag } });

export function accountRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.getProfile, async ({ login, ifNoneMatch }) => {
    const { body, headers } = reply(await getProfile(ctx.db.read, login.userId));
    const unchanged = ifNoneMatch !== null && callerHas(ifNoneMatch, headers.ETag);
    return unchanged ? { status: 304, headers } : { body, headers };
  });

  api.on(endpoints.updateProfile, async ({ login, body, ifMatch, requester }) => {
    const { changed, headers } = await limitingChanges(ctx, login, requester, () =>
      updateProfile(ctx, login, body, ifMatch, requester),
    );
    const answer = reply(changed);
    return { ...answer, headers: { ...headers, ...answer.headers } };
  });
}
