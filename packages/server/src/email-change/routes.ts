import { endpoints } from '@latchkey/contract/endpoints';
import type { Context } from '../context.ts';
import type { Api } from '../http/api.ts';
import { requestEmailChange, verifyEmailChange } from './email-change.ts';

export function emailChangeRoutes(api: Api, ctx: Context): void {
  api.on(endpoints.requestEmailChange, async ({ login, body, requester }) => {
    const { sent, headers } = await requestEmailChange(ctx, login, body.email, requester);
    return { body: sent, headers };
  });

  api.on(endpoints.verifyEmailChange, async ({ body, requester }) => ({
    body: await verifyEmailChange(ctx, body.token, requester),
  }));
}
