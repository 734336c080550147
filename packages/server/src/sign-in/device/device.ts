import { formatCode, normalizeUserCode } from '@latchkey/contract/codes';
import type {
  DeviceApproval,
  DeviceAuthorizationRequest,
  DeviceConfirmation,
  PendingDevice,
} from '@latchkey/contract/device';
import { everything } from '@latchkey/contract/scope-names';
import type { Context, Requester } from '../../platform/context.ts';
import { randomUserCode } from '../../platform/crypto/codes.ts';
import { mintHandle, readHandle, subjectBytes } from '../../platform/crypto/handle.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError, invalidGrant } from '../../platform/errors.ts';
import { byClient, refundingOnError } from '../../platform/rate-limits/limiter.ts';
import { expiresIn } from '../../platform/timers.ts';
import { type ClientInfo, sameNetwork } from '../../platform/values/client-address.ts';
import { shown } from '../../platform/values/shown.ts';
import { type NewEvent, recordEvent, takeForUser, withoutNulls } from '../../security-log/events/events.ts';
import { describeScope, holdAccess, resolveAccess, serviceOf } from '../../services/scopes.ts';
import { lockAccountOfRevoker, type Revoker } from '../../sessions/ending.ts';
import { lockAccountAs, sessionIdOf } from '../../sessions/sessions.ts';
import type { Act } from '../../sessions/touches.ts';
import { countingFailures, recordFailure } from '../failures/failures.ts';
import { touches } from '../passkeys/touch.ts';
import type { HeldPolls } from './held-polls.ts';
import { authorizationIdOf, confirmationHashes, newConfirmationCode, sessionSecretOf } from './redeeming.ts';
import * as store from './store.ts';

export type { HeldPolls };

const maxUserCodeAttempts = 5;

/** The hashes a user code may be stored under, one per key of the ring: it may predate the newest key. */
const userCodeHashes = (ctx: Context, code: string): string[] =>
  ctx.keys.all.map((key) => key.mac('user code', Buffer.from(code)).toString('base64url'));

/**
 * Issues a device code and a user code for a client that wants to sign in.
 * @throws {AuthError} `invalid_scope`, `invalid_target`;
 * `unauthorized_client` if device sign-ins are turned off
 * @see RFC 8628 section 3.1
 */
export async function startDeviceAuthorization(
  ctx: Context,
  request: DeviceAuthorizationRequest,
  client: ClientInfo,
) {
  const { config } = ctx;
  if (config.deviceLogin === 'off')
    throw new AuthError(
      'unauthorized_client',
      'Device sign-ins are turned off here. Sign in with a browser.',
    );
  const access = await resolveAccess(ctx, request);
  const now = ctx.clock();
  const expires_at = now + config.deviceCodeTtlSeconds * 1000;
  for (let attempt = 0; attempt < maxUserCodeAttempts; attempt++) {
    const secret = ctx.random(subjectBytes);
    const code = randomUserCode(ctx.random);
    const [inserted] = await store.insertAuthorization(ctx.db.single, {
      id: authorizationIdOf(secret),
      session_id: sessionIdOf(sessionSecretOf(secret)),
      user_code_hash: userCodeHashes(ctx, code)[0]!,
      client_id: request.client_id ?? null,
      client_name: request.client_name ?? request.client_id ?? null,
      device_name: request.device_name ?? null,
      ...access,
      ip_address: client.ipAddress,
      user_agent: client.userAgent,
      created_at: now,
      expires_at,
      interval_seconds: config.devicePollIntervalSeconds,
      can_confirm: Number(request.confirmation === true || request.confirmation === 'true'),
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
  throw new Error('every generated user code was already in use');
}

const refused = invalidGrant('The user code is unknown, has expired, or was already approved or denied.');

/**
 * Runs `find` with the hashes of a typed code. Every code is counted before the lookup, so that parallel
 * guesses cannot exceed the limits; a correct one and a failed lookup are refunded.
 * @throws {AuthError} `invalid_grant`, `rate_limited`
 */
async function findByUserCode<Row>(
  ctx: Context,
  typed: string,
  { caller, client }: Requester,
  find: (hashes: readonly string[], code: string) => Promise<Row | undefined>,
): Promise<{ code: string; row: Row }> {
  const attempt = await takeForUser(
    ctx,
    { ...caller, client },
    { limit: 'user_codes_by_user', subject: caller.userId },
    byClient('user_codes_by_client', client),
  );
  const code = normalizeUserCode(typed);
  const isOff = ctx.config.deviceLogin === 'off';
  const row = await refundingOnError(attempt, async () =>
    code === undefined || isOff ? undefined : find(userCodeHashes(ctx, code), code),
  );
  if (row) {
    await attempt.refund();
    return { code: code!, row };
  }
  return countingFailures(ctx, 'device_code', async () => {
    const { userId } = caller;
    recordFailure(ctx, 'device_code', client, { by: userId, findUserId: async () => userId });
    throw refused('wrong_code');
  });
}

/** The pending, unexpired authorization whose user code has one of these hashes. */
async function findPending(ctx: Context, on: Executor, hashes: readonly string[]) {
  for (const id of hashes) {
    const [pending] = await store.findPending(on, { id });
    if (pending && pending.expires_at > ctx.clock()) return pending;
  }
  return undefined;
}

type Pending = NonNullable<Awaited<ReturnType<typeof findPending>>>;

/** What the approver sees of a pending device, and agrees to. */
const describe = async (on: Executor, code: string, row: Pending) => ({
  user_code: formatCode(code),
  ...shown(row, ['client_name', 'device_name', 'ip_address', 'user_agent', 'resource', 'session_id']),
  requested_at: new Date(row.created_at).toISOString(),
  scope: row.scope ?? everything,
  scopes: await describeScope(on, row.scope ?? everything),
  resource_service: row.resource === null ? null : await serviceOf(on, row.resource),
});

const approving = (shown: unknown): Act => ({ act: 'approve a device', shown });

/** Describes the device behind a user code. @throws {AuthError} `invalid_grant`, `rate_limited` */
export async function verifyDevice(ctx: Context, typed: string, approver: Requester): Promise<PendingDevice> {
  const now = ctx.clock();
  const { code, row } = await findByUserCode(ctx, typed, approver, (hashes) =>
    findPending(ctx, ctx.db.read, hashes),
  );
  const shown = await describe(ctx.db.read, code, row);
  return {
    ...shown,
    expires_in: expiresIn(row.expires_at, now),
    same_network: sameNetwork(row.ip_address, approver.client.ipAddress),
    confirmation: confirmationOf(ctx, row, approver),
    passkey: await touches.offer(ctx, approver.caller, approving(shown)),
  };
}

/** An approval from another network than the device's may be for a device that another person holds. */
function confirmationOf(
  { config }: Context,
  { ip_address, can_confirm }: { readonly ip_address: string | null; readonly can_confirm: number },
  { client }: Requester,
): PendingDevice['confirmation'] {
  if (config.deviceLogin !== 'confirm' || sameNetwork(ip_address, client.ipAddress)) return 'none';
  return can_confirm === 1 ? 'required' : 'impossible';
}

/**
 * Approves a pending device for the signed-in user, unless it was decided before. Returns the code to show if
 * the device has to confirm the approval.
 * @throws {AuthError} `invalid_grant` when the code is unknown, expired or already decided; `access_denied`
 * when the device would have to confirm and cannot; `invalid_scope` or `invalid_target` when its scope or
 * resource has been withdrawn; `rate_limited`; the errors of the touch
 */
export async function approveDevice(
  ctx: Context,
  heldPolls: HeldPolls,
  { user_code, passkey: touch }: DeviceApproval,
  approver: Requester,
): Promise<DeviceConfirmation | undefined> {
  await touches.require(ctx, approver.caller, touch);
  const { row } = await findByUserCode(ctx, user_code, approver, (hashes, code) => {
    let pending: Pending | undefined;
    const actOn = async (tx: Executor) => {
      pending = await findPending(ctx, tx, hashes);
      return pending && approving(await describe(tx, code, pending));
    };
    return touches.confirm(ctx, approver, touch, actOn, async (tx, { passkeyId }) => {
      if (!pending) return undefined;
      await holdAccess(tx, pending);
      const confirmation = confirmationOf(ctx, pending, approver);
      if (confirmation === 'impossible')
        throw new AuthError(
          'access_denied',
          'This device is in another network, and its program cannot ask for a code. Approve it from the network of the device.',
        );
      const confirmation_code = confirmation === 'required' ? newConfirmationCode() : undefined;
      const [approved] = await store.approve(tx, {
        id: pending.id,
        now: ctx.clock(),
        session_id: approver.caller.sessionId,
        passkey_id: passkeyId,
        confirmation_hash:
          confirmation_code === undefined ? null : confirmationHashes(ctx, pending.id, confirmation_code)[0]!,
      });
      if (!approved) return undefined;
      await recordEvent(ctx, tx, decisionEvent('device_approved', approved, approver));
      return { id: approved.id, confirmation_code };
    });
  });
  heldPolls.announce(row.id);
  const { confirmation_code } = row;
  return confirmation_code === undefined ? undefined : { confirmation_code };
}

/**
 * Denies a pending device, unless it was decided before.
 * @throws {AuthError} `invalid_grant` when the code is unknown, expired or already decided; `rate_limited`
 */
export async function denyDevice(ctx: Context, heldPolls: HeldPolls, typed: string, approver: Requester) {
  const { row } = await findByUserCode(ctx, typed, approver, (hashes) =>
    ctx.db.transaction(async (tx) => {
      await lockAccountAs(ctx, tx, approver.caller);
      const pending = await findPending(ctx, tx, hashes);
      const [denied] = pending ? await store.deny(tx, { id: pending.id, now: ctx.clock() }) : [];
      if (denied) await recordEvent(ctx, tx, decisionEvent('device_denied', denied, approver));
      return denied;
    }),
  );
  heldPolls.announce(row.id);
}

type DecidedDevice = Awaited<ReturnType<typeof store.approve>>[number];

const decisionEvent = (
  type: 'device_approved' | 'device_denied',
  { client_name, device_name, ip_address, scope, resource }: DecidedDevice,
  { caller, client }: Requester,
): NewEvent => ({
  type,
  userId: caller.userId,
  sessionId: caller.sessionId,
  client,
  detail: withoutNulls({ client_name, device_name, ip_address, scope, resource }),
});

/**
 * Cancels the device authorization of a device code, pending or approved. Returns the id of the session that
 * it starts, for the caller to end in case it has already started; undefined for any other string.
 * @see RFC 7009 section 2.1
 */
export async function cancelDeviceAuthorization(
  ctx: Context,
  heldPolls: HeldPolls,
  deviceCode: string,
  client: ClientInfo,
): Promise<string | undefined> {
  const handle = readHandle(ctx.keys, 'deviceCode', deviceCode);
  if (!handle) return undefined;
  const id = authorizationIdOf(handle.subject);
  // In the order in which the states follow each other, so that an approval or a poll in between is noticed.
  const [pending] = await store.cancelPending(ctx.db.single, { id });
  const isCancelled = pending !== undefined || (await cancelApproved(ctx, id, client));
  if (isCancelled) heldPolls.announce(id);
  return sessionIdOf(sessionSecretOf(handle.subject));
}

const cancelApproved = (ctx: Context, id: string, client: ClientInfo): Promise<boolean> =>
  ctx.db.transaction(async (tx) => {
    const [approved] = await store.cancelApproved(tx, { id });
    if (!approved) return false;
    await recordEvent(ctx, tx, {
      type: 'session_revoked',
      userId: approved.user_id!,
      sessionId: approved.session_id!,
      client,
      detail: { reason: 'cancelled' },
    });
    return true;
  });

/**
 * Denies a device authorization that the user approved and no device has redeemed, by the id of the session
 * that it would start, and records that; false when there is none.
 * @throws {AuthError} `invalid_token` if the session of the revoker has ended
 */
export const withdrawApproval = (ctx: Context, revoker: Revoker, sessionId: string, client: ClientInfo) =>
  ctx.db.transaction(async (tx) => {
    const { userId, serviceId } = revoker;
    await lockAccountOfRevoker(ctx, tx, revoker);
    const [withdrawn] = await store.withdrawApproval(tx, { user_id: userId, session_id: sessionId });
    if (!withdrawn) return false;
    const detail = { reason: 'withdrawn', ...(serviceId && { by: serviceId }) };
    await recordEvent(ctx, tx, { type: 'session_revoked', userId, sessionId, client, detail });
    return true;
  });

export const { denyApproved } = store;
