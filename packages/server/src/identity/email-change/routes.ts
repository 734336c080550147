import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { previewEmailChange, requestEmailChange, verifyEmailChange } from './email-change.ts';

export function emailChangeRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.requestEmailChange, (call) => requestEmailChange(ctx, call, call.body.email));

  api.on(endpoints.verifyEmailChange, ({ caller, body, client }) =>
    verifyEmailChange(ctx, body, caller, client),
  );

  api.on(endpoints.previewEmailChange, (call) => previewEmailChange(ctx, call, call.body.token));
}
