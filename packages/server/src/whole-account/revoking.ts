// Ending a session that may not have begun: of an approved device that has not
// fetched its tokens yet, and of a code.

import type { Context } from '../platform/context.ts';
import { resourceNotFound } from '../platform/errors.ts';
import type { ClientInfo } from '../platform/values/client-address.ts';
import { endById, endByToken, endSession, type Revoker } from '../sessions/ending.ts';
import { isKeyId } from '../sessions/sessions.ts';
import { revokeCode } from '../sign-in/authorize/authorize.ts';
import { cancelDeviceAuthorization, type HeldPolls, withdrawApproval } from '../sign-in/device/device.ts';

/**
 * Revokes a session, or withdraws an approved device by the id of the session that it would start.
 * @throws {AuthError} `not_found`, also for another user's session, and for any key but the caller itself;
 * `invalid_token` if the session of the revoker has ended
 */
export async function revokeSession(ctx: Context, revoker: Revoker, sessionId: string, client: ClientInfo) {
  if (isKeyId(sessionId) && sessionId !== revoker.sessionId) throw resourceNotFound();
  // The approval first: if a device redeems it in between, there is a session to end.
  const isRevoked =
    (await withdrawApproval(ctx, revoker, sessionId, client)) ||
    (await endSession(ctx, revoker, sessionId, client));
  if (!isRevoked) throw resourceNotFound();
}

/**
 * Revokes a refresh token, access token, key, device code or authorization code, and the session that
 * came of it; ignores any other string.
 * @see RFC 7009 section 2.1
 */
export async function revokeToken(ctx: Context, heldPolls: HeldPolls, token: string, client: ClientInfo) {
  await endByToken(ctx, token, client);
  const started = await cancelDeviceAuthorization(ctx, heldPolls, token, client);
  if (started !== undefined) await endById(ctx, started, client);
  await revokeCode(ctx, token);
}
