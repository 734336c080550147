import { endpoints } from '@latchkey/contract/endpoints';
import { deviceCodeGrantType, type TokenSet } from '@latchkey/contract/tokens';
import type { Context } from '../../platform/context.ts';
import type { Call } from '../../platform/http/call.ts';
import {
  type Grant,
  redeemFormGrant,
  refuseAuthorizationDetails,
  requireParameter,
} from '../../platform/http/grants.ts';
import type { Api } from '../../platform/http/pipeline.ts';
import { byClient } from '../../platform/rate-limits/keys.ts';
import { decideDevice, startDeviceAuthorization, verifyDevice } from './device.ts';
import type { HeldPolls } from './held-polls.ts';
import { redeemDeviceCode } from './redeeming.ts';

/** The device-code grant of the OAuth token endpoint. @see RFC 8628 section 3.4 */
const deviceCodeGrant = (heldPolls: HeldPolls): Grant<TokenSet> => ({
  grantType: deviceCodeGrantType,
  redeem: async (ctx, { body, idempotencyKey, wait }) => {
    refuseAuthorizationDetails(body);
    const deviceCode = requireParameter(body, 'device_code');
    const request = { deviceCode, idempotencyKey, wait, repeated: body };
    const { tokens, ...reply } = await redeemDeviceCode(ctx, heldPolls, request);
    return { body: tokens, ...reply };
  },
});

type Start = typeof endpoints.startDeviceAuthorization;

/** The token endpoint accepts device codes, as JSON and as a form, and as a form also `otherGrants`. */
export function deviceRoutes(
  api: Api,
  ctx: Context,
  heldPolls: HeldPolls,
  otherGrants: readonly Grant[],
): void {
  const grant = deviceCodeGrant(heldPolls);
  const start = async ({ body, client }: Pick<Call<Start>, 'body' | 'client'>) => {
    refuseAuthorizationDetails(body);
    const { headers } = await ctx.limiter.take(byClient('device_authorizations', client));
    return { body: await startDeviceAuthorization(ctx, body, client), headers };
  };
  api.on(endpoints.startDeviceAuthorization, start, start);

  api.on(
    endpoints.redeemDeviceCode,
    (call) => grant.redeem(ctx, call),
    redeemFormGrant(ctx, [grant, ...otherGrants]),
  );

  api.on(endpoints.verifyDevice, async ({ body, caller, client }) => ({
    body: await verifyDevice(ctx, body.user_code, { caller, client }),
  }));

  api.on(endpoints.approveDevice, async ({ body, caller, client }) => {
    await decideDevice(ctx, heldPolls, 'approve', body.user_code, { caller, client });
    return {};
  });

  api.on(endpoints.denyDevice, async ({ body, caller, client }) => {
    await decideDevice(ctx, heldPolls, 'deny', body.user_code, { caller, client });
    return {};
  });
}
