import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { ifNoneMatchIncludes } from '../../platform/values/entity-tag.ts';
import { getProfile, limitingChanges } from './account.ts';
import { type TaggedProfile, updateProfile } from './profile.ts';

const reply = ({ profile, etag }: TaggedProfile) => ({ body: profile, headers: { ETag: etag } });

export function accountRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.getProfile, async ({ caller, ifNoneMatch }) => {
    const { body, headers } = reply(await getProfile(ctx.db.read, caller.userId));
    const unchanged = ifNoneMatch !== null && ifNoneMatchIncludes(ifNoneMatch, headers.ETag);
    return unchanged ? { status: 304, headers } : { body, headers };
  });

  api.on(endpoints.updateProfile, async ({ caller, body, ifMatch, client }) => {
    const { changed, headers } = await limitingChanges(ctx, caller, client, () =>
      updateProfile(ctx, caller, body, ifMatch, client),
    );
    const updated = reply(changed);
    return { ...updated, headers: { ...headers, ...updated.headers } };
  });
}
