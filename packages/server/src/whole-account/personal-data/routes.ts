import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { deleteOwnAccount } from './personal-data.ts';

export function personalDataRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.deleteAccount, async ({ caller }) => {
    await deleteOwnAccount(ctx, caller);
    return { cookie: 'clear' };
  });
}
