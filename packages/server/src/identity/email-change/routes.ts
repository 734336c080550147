import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { previewEmailChange, requestEmailChange, verifyEmailChange } from './email-change.ts';

export function emailChangeRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.requestEmailChange, async ({ login, body, requester }) => {
    const { sent, headers } = await requestEmailChange(ctx, login, body.email, requester);
    return { body: sent, headers };
  });

  api.on(endpoints.verifyEmailChange, async ({ login, body, requester }) => {
    const { profile, headers } = await verifyEmailChange(ctx, body, login, requester);
    return { body: profile, headers };
  });

  api.on(endpoints.previewEmailChange, async ({ login, body, requester }) => {
    const { preview, headers } = await previewEmailChange(ctx, body.token, login, requester);
    return { body: preview, headers };
  });
}
