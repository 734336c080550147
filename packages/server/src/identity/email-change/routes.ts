import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { previewEmailChange, requestEmailChange, verifyEmailChange } from './email-change.ts';

export function emailChangeRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.requestEmailChange, async ({ caller, body, client }) => {
    const { sent, headers } = await requestEmailChange(ctx, caller, body.email, client);
    return { body: sent, headers };
  });

  api.on(endpoints.verifyEmailChange, async ({ caller, body, client }) => {
    const { profile, headers } = await verifyEmailChange(ctx, body, caller, client);
    return { body: profile, headers };
  });

  api.on(endpoints.previewEmailChange, async ({ caller, body, client }) => {
    const { preview, headers } = await previewEmailChange(ctx, body.token, caller, client);
    return { body: preview, headers };
  });
}
