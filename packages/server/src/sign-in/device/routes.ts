import { endpoints } from '@latchkey/contract/endpoints';
import { deviceCodeGrantType, type TokenSet } from '@latchkey/contract/tokens';
import type { Context } from '../../platform/context.ts';
import type { Call } from '../../platform/http/call.ts';
import { type Grant, redeemFormGrant, requireParameter } from '../../platform/http/grants.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { byClient } from '../../platform/rate-limits/keys.ts';
import { decideDevice, redeemDeviceCode, startDeviceAuthorization, verifyDevice } from './device.ts';

/** The device-code grant of the OAuth token endpoint. @see RFC 8628 section 3.4 */
export const deviceCodeGrant: Grant<TokenSet> = {
  grantType: deviceCodeGrantType,
  redeem: async (ctx, { body, idempotencyKey }) => {
    const deviceCode = requireParameter(body, 'device_code');
    const { tokens, detail } = await redeemDeviceCode(ctx, deviceCode, idempotencyKey);
    return { body: tokens, detail };
  },
};

type Start = typeof endpoints.startDeviceAuthorization;

/** `grants` are what the token endpoint accepts as a form. As JSON it accepts only device codes. */
export function deviceRoutes(api: Api, ctx: Context, grants: readonly Grant[]): void {
  const start = async ({ body, client }: Pick<Call<Start>, 'body' | 'client'>) => {
    const { headers } = await ctx.limiter.take(byClient('device_authorizations', client));
    return { body: await startDeviceAuthorization(ctx, body, client), headers };
  };
  api.on(endpoints.startDeviceAuthorization, start, start);

  api.on(
    endpoints.redeemDeviceCode,
    (call) => deviceCodeGrant.redeem(ctx, call),
    redeemFormGrant(ctx, grants),
  );

  api.on(endpoints.verifyDevice, async ({ body, caller, client }) => ({
    body: await verifyDevice(ctx, body.user_code, { caller, client }),
  }));

  api.on(endpoints.approveDevice, async ({ body, caller, client }) => {
    await decideDevice(ctx, 'approve', body.user_code, { caller, client });
    return {};
  });

  api.on(endpoints.denyDevice, async ({ body, caller, client }) => {
    await decideDevice(ctx, 'deny', body.user_code, { caller, client });
    return {};
  });
}
