import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { disownNotice, previewNotice } from './disowning.ts';

export function disowningRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.previewNotice, async ({ body }) => ({ body: await previewNotice(ctx, body.token) }));
  api.on(endpoints.disownNotice, async ({ body, client }) => ({
    body: await disownNotice(ctx, body, client),
  }));
}
