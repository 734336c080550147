import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { previewEmailChange, requestEmailChange, verifyEmailChange } from './email-change.ts';

export function emailChangeRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.requestEmailChange, ({ caller, body, client }) =>
    requestEmailChange(ctx, caller, body.email, client),
  );

  api.on(endpoints.verifyEmailChange, ({ caller, body, client }) =>
    verifyEmailChange(ctx, body, caller, client),
  );

  api.on(endpoints.previewEmailChange, ({ caller, body, client }) =>
    previewEmailChange(ctx, body.token, caller, client),
  );
}
