import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { revokeKey } from '../ending.ts';
import { limitingChanges } from '../sessions.ts';
import { createKey, listKeys } from './keys.ts';

export function accessKeyRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.createKey, (call) => limitingChanges(ctx, call, () => createKey(ctx, call, call.body)));

  api.on(endpoints.listKeys, async ({ caller, query }) => ({ body: await listKeys(ctx, caller, query) }));

  api.on(endpoints.removeKey, async (call) => {
    const { caller, params, client } = call;
    const { headers } = await limitingChanges(ctx, call, () => revokeKey(ctx, caller, params.id, client));
    return { headers };
  });
}
