import type { DeviceAuthorizationRequest } from '@latchkey/contract/device';
import { endpoints } from '@latchkey/contract/endpoints';
import type { TokenSet } from '@latchkey/contract/tokens';
import type { Context } from '../../platform/context.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { byClient } from '../../platform/rate-limits/limiter.ts';
import {
  type Grant,
  refuseAuthorizationDetails,
  requireParameter,
} from '../../platform/token-endpoint/grants.ts';
import type { ClientInfo } from '../../platform/values/client-address.ts';
import { approveDevice, denyDevice, startDeviceAuthorization, verifyDevice } from './device.ts';
import type { HeldPolls } from './held-polls.ts';
import { redeemDeviceCode } from './redeeming.ts';

/** The device-code grant. @see RFC 8628 section 3.4 */
export const deviceCodeGrant = (heldPolls: HeldPolls): Grant<TokenSet> => ({
  redeem: async (ctx, call) => {
    refuseAuthorizationDetails(call.body);
    const deviceCode = requireParameter(call.body, 'device_code');
    const { tokens, ...reply } = await redeemDeviceCode(ctx, heldPolls, deviceCode, call);
    return { body: tokens, ...reply };
  },
});

export function deviceRoutes(api: Api, ctx: Context, heldPolls: HeldPolls): void {
  const start = async ({ body, client }: { body: DeviceAuthorizationRequest; client: ClientInfo }) => {
    refuseAuthorizationDetails(body);
    const { headers } = await ctx.limiter.take(byClient('device_authorizations', client));
    return { body: await startDeviceAuthorization(ctx, body, client), headers };
  };
  api.on(endpoints.startDeviceAuthorization, start, start);

  api.answer(endpoints.verifyDevice, (call) => verifyDevice(ctx, call.body.user_code, call));

  api.on(endpoints.approveDevice, async (call) => {
    const confirmation = await approveDevice(ctx, heldPolls, call.body, call);
    return confirmation ? { body: confirmation } : { status: 204 };
  });

  api.on(endpoints.denyDevice, (call) => denyDevice(ctx, heldPolls, call.body.user_code, call));
}
