import { endpoints } from '@latchkey/contract/endpoints';
import { limitingChanges } from '../../identity/account/account.ts';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { revokeKey } from '../../sessions/revocation.ts';
import { createKey, listKeys } from './access-keys.ts';

export function accessKeyRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.createKey, ({ caller, body, client }) =>
    limitingChanges(ctx, caller, client, () => createKey(ctx, caller, body, client)),
  );

  api.on(endpoints.listKeys, async ({ caller, query }) => ({ body: await listKeys(ctx, caller, query) }));

  api.on(endpoints.removeKey, async ({ caller, params, client }) => {
    const { headers } = await limitingChanges(ctx, caller, client, () =>
      revokeKey(ctx, caller, params.id, client),
    );
    return { headers };
  });
}
