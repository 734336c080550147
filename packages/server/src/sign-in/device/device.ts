import { formatCode, normalizeCode } from '@latchkey/contract/codes';
import type { DeviceAuthorizationRequest, PendingDevice } from '@latchkey/contract/device';
import type { TokenSet } from '@latchkey/contract/tokens';
import { lockAccount } from '../../identity/account/account.ts';
import type { Caller, Context } from '../../platform/context.ts';
import { randomCode } from '../../platform/crypto/codes.ts';
import { mintHandle, readHandle, subjectBytes } from '../../platform/crypto/handle.ts';
import { idempotencyHash, sha256 } from '../../platform/crypto/hash.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError } from '../../platform/errors.ts';
import { byClient } from '../../platform/rate-limits/by-client.ts';
import { sameNetwork } from '../../platform/values/client-address.ts';
import type { ClientInfo } from '../../platform/values/client-info.ts';
import { recordEvent, recordingRateLimits } from '../../security-log/events/events.ts';
import { repeatFirstTokens, sessionIdFor, startSession, tokensOf } from '../../sessions/sessions.ts';
import { pollOutcome, slowDownSeconds } from './polling.ts';
import * as store from './store.ts';

/** How often another user code is drawn when one is taken. */
const maxUserCodeAttempts = 5;

/** How often a poll looks again when others changed the login between its look and its write. */
const maxPollAttempts = 10;

const authorizationIdOf = (secret: Uint8Array): string =>
  sha256('device authorization', secret).subarray(0, subjectBytes).toString('base64url');

/** The session that a device code will start, known to whoever holds the code, so that an answer can be repeated. */
const sessionSecretOf = (secret: Uint8Array): Buffer =>
  sha256('device session', secret).subarray(0, subjectBytes);

/** What is stored of a user code, under each key of the ring: it may have been shown before the newest came. */
const userCodeHashes = (ctx: Context, code: string): string[] =>
  ctx.keys.all.map((key) => key.mac('user code', Buffer.from(code)).toString('base64url'));

/** Starts a device login. @see RFC 8628 section 3.1 */
export async function startDeviceAuthorization(
  ctx: Context,
  request: DeviceAuthorizationRequest,
  client: ClientInfo,
) {
  const { config } = ctx;
  const now = ctx.clock();
  const expires_at = now + config.deviceCodeTtlSeconds * 1000;
  for (let tries = 0; tries < maxUserCodeAttempts; tries++) {
    const secret = ctx.random(subjectBytes);
    const code = randomCode(ctx.random);
    const [inserted] = await store.insertAuthorization(ctx.db.single, {
      id: authorizationIdOf(secret),
      session_id: sessionIdFor(sessionSecretOf(secret)),
      user_code_hash: userCodeHashes(ctx, code)[0]!,
      client_id: request.client_id ?? null,
      client_name: request.client_name ?? null,
      device_name: request.device_name ?? null,
      scope: request.scope ?? null,
      ip_address: client.ipAddress,
      user_agent: client.userAgent,
      now,
      expires_at,
      interval_seconds: config.devicePollIntervalSeconds,
    });
    if (!inserted) continue;
    const user_code = formatCode(code);
    const verification_uri = `${config.baseUrl}/device`;
    return {
      device_code: mintHandle(ctx.keys, 'deviceCode', { subject: secret, value: expires_at }),
      user_code,
      verification_uri,
      verification_uri_complete: `${verification_uri}?user_code=${user_code}`,
      expires_in: config.deviceCodeTtlSeconds,
      interval: config.devicePollIntervalSeconds,
    };
  }
  throw new Error('no free user code');
}

const unknownDeviceCode = (detail: string) =>
  new AuthError('invalid_grant', 'The device code is unknown or was already redeemed.', { detail });
const expired = () => new AuthError('expired_token', 'The device code has expired. Start again.');

/**
 * One poll for the tokens of a device login. However many race, one of them starts the session.
 * @throws {AuthError} `authorization_pending`, `slow_down`, `access_denied`, `expired_token`, `invalid_grant`,
 * `account_disabled`, `rate_limited`
 * @see RFC 8628 section 3.5
 */
export async function redeemDeviceCode(
  ctx: Context,
  deviceCode: string,
  idempotencyKey: string | undefined,
): Promise<{ tokens: TokenSet; detail: 'redeemed' | 'retry' }> {
  const handle = readHandle(ctx.keys, 'deviceCode', deviceCode);
  if (!handle) throw unknownDeviceCode('malformed');
  const id = authorizationIdOf(handle.subject);
  await ctx.limiter.take({ limit: 'device_polls', key: id });
  const keyHash = idempotencyHash(handle.subject, idempotencyKey);
  for (let tries = 0; tries < maxPollAttempts; tries++) {
    const now = ctx.clock();
    const [authorization] = await store.findAuthorization(ctx.db.read, { id });
    if (!authorization) throw handle.value <= now ? expired() : unknownDeviceCode('unknown');
    switch (pollOutcome(authorization, keyHash, now)) {
      case 'accept': {
        const [accepted] = await store.acceptPoll(ctx.db.single, {
          id,
          last_poll_at: authorization.last_poll_at,
          now,
        });
        if (accepted) throw new AuthError('authorization_pending', 'Nobody has approved this login yet.');
        break;
      }
      case 'slow_down': {
        const [slowed] = await store.growInterval(ctx.db.single, { id, by_seconds: slowDownSeconds });
        if (slowed) {
          throw new AuthError('slow_down', `Wait ${slowed.interval_seconds} seconds between polls.`, {
            members: { interval: slowed.interval_seconds },
          });
        }
        break;
      }
      case 'redeem': {
        const tokens = await redeem(ctx, id, handle.subject, keyHash);
        if (!tokens) break;
        ctx.metrics.logins.inc({ method: 'device_code' });
        return { tokens, detail: 'redeemed' };
      }
      case 'repeat':
        return { tokens: await repeatFirstTokens(ctx, sessionSecretOf(handle.subject)), detail: 'retry' };
      case 'denied':
        throw new AuthError('access_denied', 'The login was denied.');
      case 'expired':
        throw expired();
      case 'spent':
        throw unknownDeviceCode('spent');
    }
  }
  throw new AuthError('authorization_pending', 'Too many polls at once. Poll again after the interval.');
}

/** Spends an approved login and starts its session, both or neither; undefined when another poll was first. */
const redeem = (
  ctx: Context,
  id: string,
  secret: Uint8Array,
  keyHash: string | null,
): Promise<TokenSet | undefined> =>
  ctx.db.transaction(async (tx) => {
    const [redeemed] = await store.redeem(tx, { id, now: ctx.clock(), idempotency_hash: keyHash });
    if (!redeemed) return undefined;
    const session = await startSession(ctx, tx, {
      userId: redeemed.user_id!,
      sinceEpoch: redeemed.session_epoch!,
      kind: 'device',
      method: 'device_code',
      clientName: redeemed.client_name,
      deviceName: redeemed.device_name,
      approvedBy: redeemed.approved_by,
      client: { ipAddress: redeemed.ip_address, userAgent: redeemed.user_agent },
      secret: sessionSecretOf(secret),
    });
    return tokensOf(ctx, session);
  });

const unknownUserCode = () =>
  new AuthError('invalid_grant', 'The code is unknown, expired or already decided.');

/** Who guesses or knows a user code. */
interface DecidingPerson {
  readonly caller: Caller;
  readonly client: ClientInfo;
}

/**
 * Does something with each spelling that the store may hold of a typed code, until one of them is found. Every
 * code counts as a wrong one before it is looked at, so that guesses in parallel cannot pass the limit together;
 * a right one, or one that could not be looked at, is taken off the count again.
 * @throws {AuthError} `invalid_grant`, `rate_limited`
 */
async function byUserCode<Row>(
  ctx: Context,
  typed: string,
  { caller, client }: DecidingPerson,
  find: (user_code_hash: string) => Promise<Row[]>,
): Promise<{ code: string; row: Row }> {
  const guess = await recordingRateLimits(ctx, { ...caller, client }, () =>
    ctx.limiter.take(
      { limit: 'user_codes_by_user', key: caller.userId },
      byClient('user_codes_by_client', client),
    ),
  );
  const code = normalizeCode(typed);
  if (code === undefined) throw unknownUserCode();
  try {
    for (const hash of userCodeHashes(ctx, code)) {
      const [row] = await find(hash);
      if (!row) continue;
      await guess.refund();
      return { code, row };
    }
  } catch (error) {
    await guess.refund();
    throw error;
  }
  throw unknownUserCode();
}

/**
 * Who asks for the login that a user code names. Looking changes nothing.
 * @throws {AuthError} `invalid_grant`, `rate_limited`
 */
export async function verifyDevice(
  ctx: Context,
  typed: string,
  viewer: DecidingPerson,
): Promise<PendingDevice> {
  const now = ctx.clock();
  const { code, row } = await byUserCode(ctx, typed, viewer, (user_code_hash) =>
    store.findPending(ctx.db.read, { user_code_hash, now }),
  );
  return {
    user_code: formatCode(code),
    client_name: row.client_name,
    device_name: row.device_name,
    ip_address: row.ip_address,
    user_agent: row.user_agent,
    requested_at: new Date(row.created_at).toISOString(),
    expires_in: Math.ceil((row.expires_at - now) / 1000),
    same_network: sameNetwork(row.ip_address, viewer.client.ipAddress),
    session_id: row.session_id,
  };
}

/** What is known of the device that was decided about. */
const detailOf = (device: Readonly<Record<string, string | null>>): Record<string, string> =>
  Object.fromEntries(Object.entries(device).filter((entry): entry is [string, string] => entry[1] !== null));

/**
 * Approves or denies a pending login for the person logged in, once.
 * @throws {AuthError} `invalid_grant` when it is unknown, expired or decided; `rate_limited`
 */
export async function decideDevice(
  ctx: Context,
  decision: 'approve' | 'deny',
  typed: string,
  { caller, client }: DecidingPerson,
): Promise<void> {
  await byUserCode(ctx, typed, { caller, client }, (user_code_hash) =>
    ctx.db.transaction(async (tx) => {
      await lockAccount(tx, caller.userId);
      const decide = decision === 'approve' ? store.approve : store.deny;
      const decided = await decide(tx, { user_code_hash, session_id: caller.sessionId, now: ctx.clock() });
      const [device] = decided;
      if (device) {
        await recordEvent(ctx, tx, {
          type: decision === 'approve' ? 'device_approved' : 'device_denied',
          userId: caller.userId,
          sessionId: caller.sessionId,
          client,
          detail: detailOf(device),
        });
      }
      return decided;
    }),
  );
}

/**
 * Denies a device authorization that the user approved and no device has redeemed, by the id of the session it would
 * start; false when there is none. The account must be locked.
 */
export async function withdrawApproval(
  tx: Executor,
  { userId, sessionId }: { readonly userId: string; readonly sessionId: string },
): Promise<boolean> {
  return (await store.withdrawApproval(tx, { user_id: userId, session_id: sessionId })).length > 0;
}

/** Denies the device authorizations that these sessions of a locked account approved and no device has redeemed, and returns them. */
export const denyApprovedBy = (
  ctx: Context,
  tx: Executor,
  { userId, sessionIds }: { readonly userId: string; readonly sessionIds: readonly string[] },
) =>
  store.denyApprovedBy(tx, {
    user_id: userId,
    session_ids: JSON.stringify(sessionIds),
    now: ctx.clock(),
  });

/** The device authorizations of a user for the export of personal data. */
export const exportDeviceAuthorizations = (on: Executor, userId: string) =>
  store.exportDeviceAuthorizations(on, { user_id: userId });
