import { formatCode, normalizeCode } from '@latchkey/contract/codes';
import type { DeviceAuthorizationRequest, PendingDevice } from '@latchkey/contract/device';
import { everything } from '@latchkey/contract/scopes';
import type { TokenSet } from '@latchkey/contract/tokens';
import { lockAccount } from '../../identity/account/account.ts';
import type { Caller, Context } from '../../platform/context.ts';
import { randomCode } from '../../platform/crypto/codes.ts';
import { mintHandle, readHandle, subjectBytes } from '../../platform/crypto/handle.ts';
import { idempotencyHash, sha256 } from '../../platform/crypto/hash.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { lockAccountRow } from '../../platform/database/locks.ts';
import { AuthError, type ErrorDetail } from '../../platform/errors.ts';
import { byClient } from '../../platform/rate-limits/keys.ts';
import { sameNetwork } from '../../platform/values/client-address.ts';
import type { ClientInfo } from '../../platform/values/client-info.ts';
import type { WaitPreference } from '../../platform/values/wait-preference.ts';
import { recordEvent, recordingRateLimits } from '../../security-log/events/events.ts';
import { describeScope, holdAccess, resolveAccess } from '../../services/scopes/scopes.ts';
import type { InheritedAccess } from '../../services/service-keys/service-keys.ts';
import { repeatFirstTokens, sessionIdFor, startSession, tokensOf } from '../../sessions/sessions.ts';
import type { HeldPolls, Watch } from './held-polls.ts';
import { decidePoll, slowDownSeconds } from './polling.ts';
import * as store from './store.ts';

const maxUserCodeAttempts = 5;

/** How often one poll starts over because a concurrent poll changed the authorization between its read and its write. */
const maxPollAttempts = 10;

const authorizationIdOf = (secret: Uint8Array): string =>
  sha256('device authorization', secret).subarray(0, subjectBytes).toString('base64url');

/** Derives the session's secret from the device code, so that the response to a poll can be repeated. */
const sessionSecretOf = (secret: Uint8Array): Buffer =>
  sha256('device session', secret).subarray(0, subjectBytes);

/** The hashes a user code may be stored under, one per key of the ring: the code may predate the newest key. */
const userCodeHashes = (ctx: Context, code: string): string[] =>
  ctx.keys.all.map((key) => key.mac('user code', Buffer.from(code)).toString('base64url'));

/**
 * Issues a device code and a user code for a client that wants to sign in.
 * @throws {AuthError} `invalid_scope`, `invalid_target`
 * @see RFC 8628 section 3.1
 */
export async function startDeviceAuthorization(
  ctx: Context,
  request: DeviceAuthorizationRequest,
  client: ClientInfo,
) {
  const { config } = ctx;
  const access = await resolveAccess(ctx, request);
  const now = ctx.clock();
  const expires_at = now + config.deviceCodeTtlSeconds * 1000;
  for (let attempt = 0; attempt < maxUserCodeAttempts; attempt++) {
    const secret = ctx.random(subjectBytes);
    const code = randomCode(ctx.random);
    const [inserted] = await store.insertAuthorization(ctx.db.single, {
      id: authorizationIdOf(secret),
      session_id: sessionIdFor(sessionSecretOf(secret)),
      user_code_hash: userCodeHashes(ctx, code)[0]!,
      client_id: request.client_id ?? null,
      client_name: request.client_name ?? null,
      device_name: request.device_name ?? null,
      ...access,
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
  throw new Error('every generated user code was already in use');
}

export interface PollRequest {
  readonly deviceCode: string;
  readonly idempotencyKey: string | undefined;
  readonly wait: WaitPreference | undefined;
}

/** The response to a poll that started a session, or repeats the tokens of one. */
interface RedeemedCode {
  readonly tokens: TokenSet;
  readonly detail: 'redeemed' | 'retry';
  readonly headers?: Readonly<Record<string, string>>;
}

/** A held poll has been accepted: while the authorization is pending it is neither too early nor accepted again. */
type PollStage = 'new' | 'held';

/** One poll: a device code that this service issued, and the key that identifies a repeated request. */
interface Poll {
  readonly authorizationId: string;
  readonly secret: Uint8Array;
  readonly expiresAt: number;
  readonly idempotencyHash: string | null;
  readonly wait: WaitPreference | undefined;
}

/** A pending authorization whose poll was accepted. The interval counts from `answeredAt`, the end of the wait. */
interface Pending {
  readonly outcome: 'pending';
  readonly acceptedAt: number;
  readonly answeredAt: number;
}

/** Every way a poll can end. */
type PollResult =
  | { readonly outcome: 'redeemed' | 'repeated'; readonly tokens: TokenSet }
  | { readonly outcome: 'slow_down'; readonly intervalSeconds: number }
  | Pending
  | { readonly outcome: 'still_pending' | 'denied' | 'expired' | 'spent' | 'unknown' | 'contended' };

/**
 * Answers one poll with tokens once the user has approved the device. Of any number of concurrent polls, one starts
 * the session. A client that prefers to wait is answered when there is something to say.
 * @throws {AuthError} `authorization_pending`, `slow_down`, `access_denied`, `expired_token`, `invalid_grant`,
 * `account_disabled`, `rate_limited`
 * @see RFC 8628 section 3.5
 */
export async function redeemDeviceCode(
  ctx: Context,
  heldPolls: HeldPolls,
  { deviceCode, idempotencyKey, wait }: PollRequest,
): Promise<RedeemedCode> {
  const handle = readHandle(ctx.keys, 'deviceCode', deviceCode);
  if (!handle) throw unknownDeviceCode('malformed');
  const poll: Poll = {
    authorizationId: authorizationIdOf(handle.subject),
    secret: handle.subject,
    expiresAt: handle.value,
    idempotencyHash: idempotencyHash(handle.subject, idempotencyKey),
    wait,
  };
  await ctx.limiter.take({ limit: 'device_polls', key: poll.authorizationId });
  if (!wait) return answerPoll(ctx, await runPoll(ctx, poll));
  const watch = heldPolls.watch(poll.authorizationId);
  try {
    const first = await runPoll(ctx, poll);
    return first.outcome === 'pending'
      ? await holdPoll(ctx, watch, poll, wait, first)
      : answerPoll(ctx, first);
  } finally {
    watch.end();
  }
}

/** Answers a poll once the user has decided, the code has expired or the client has waited as long as it wanted to. */
async function holdPoll(
  ctx: Context,
  watch: Watch,
  poll: Poll,
  { seconds, clientGone }: WaitPreference,
  pending: Pending,
): Promise<RedeemedCode> {
  const headers = { 'Preference-Applied': `wait=${seconds}` };
  try {
    const result = await awaitDecision(ctx, watch, poll, clientGone, pending);
    return { ...answerPoll(ctx, result), headers };
  } catch (error) {
    throw error instanceof AuthError ? error.withHeaders(headers) : error;
  }
}

async function awaitDecision(
  ctx: Context,
  watch: Watch,
  poll: Poll,
  clientGone: AbortSignal,
  { acceptedAt, answeredAt }: Pending,
): Promise<PollResult> {
  for (;;) {
    const wakening = await watch.next(Math.max(0, answeredAt - ctx.clock()), clientGone);
    if (wakening === 'client_gone' || wakening === 'stopping') {
      // A client that got no response may poll again as if this poll had been answered at once.
      const ended_at = wakening === 'client_gone' ? acceptedAt : ctx.clock();
      const ended = { id: poll.authorizationId, planned_at: answeredAt, ended_at };
      await store.endHeldPoll(ctx.db.single, ended).catch(() => ctx.log.warn('a held poll was not ended'));
      return { outcome: 'still_pending' };
    }
    const result = await runPoll(ctx, poll, 'held');
    if (result.outcome !== 'still_pending' || ctx.clock() >= answeredAt) return result;
  }
}

/** Attempts the poll until its write succeeds: an attempt that loses a race sees the winner's change next time. */
async function runPoll(ctx: Context, poll: Poll, stage: PollStage = 'new'): Promise<PollResult> {
  for (let attempt = 0; attempt < maxPollAttempts; attempt++) {
    const result = await attemptPoll(ctx, poll, stage);
    if (result !== 'lost_race') return result;
  }
  return { outcome: 'contended' };
}

async function attemptPoll(ctx: Context, poll: Poll, stage: PollStage): Promise<PollResult | 'lost_race'> {
  const now = ctx.clock();
  const id = poll.authorizationId;
  const [authorization] = await store.findAuthorization(ctx.db.read, { id });
  if (!authorization) return { outcome: poll.expiresAt <= now ? 'expired' : 'unknown' };
  const decision = decidePoll(authorization, poll.idempotencyHash, now);
  if (stage === 'held' && (decision === 'keep_waiting' || decision === 'slow_down'))
    return { outcome: 'still_pending' };
  switch (decision) {
    case 'keep_waiting': {
      const { last_poll_at, expires_at } = authorization;
      const answered_at = Math.min(now + (poll.wait?.seconds ?? 0) * 1000, expires_at);
      const [accepted] = await store.acceptPoll(ctx.db.single, { id, last_poll_at, answered_at });
      return accepted ? { outcome: 'pending', acceptedAt: now, answeredAt: answered_at } : 'lost_race';
    }
    case 'slow_down': {
      const [slowed] = await store.growInterval(ctx.db.single, { id, by_seconds: slowDownSeconds });
      return slowed ? { outcome: 'slow_down', intervalSeconds: slowed.interval_seconds } : 'lost_race';
    }
    case 'redeem': {
      const tokens = await redeem(ctx, poll, authorization);
      return tokens ? { outcome: 'redeemed', tokens } : 'lost_race';
    }
    case 'repeat':
      return {
        outcome: 'repeated',
        tokens: await repeatFirstTokens(ctx, sessionSecretOf(poll.secret), authorization.scope),
      };
    case 'denied':
    case 'expired':
    case 'spent':
      return { outcome: decision };
  }
}

type Authorization = Awaited<ReturnType<typeof store.findAuthorization>>[number];

/**
 * Spends an approved authorization and starts its session in one transaction; undefined when another poll won.
 * @throws {AuthError} `invalid_scope`, `invalid_target` if what the user approved is not declared any more
 */
const redeem = (
  ctx: Context,
  poll: Poll,
  { user_id, scope, resource }: Authorization,
): Promise<TokenSet | undefined> =>
  ctx.db.transaction(async (tx) => {
    if (scope !== null || resource !== null) {
      await lockAccountRow(tx, { id: user_id! });
      await holdAccess(tx, { scope, resource });
    }
    const [redeemed] = await store.redeem(tx, {
      id: poll.authorizationId,
      now: ctx.clock(),
      idempotency_hash: poll.idempotencyHash,
    });
    if (!redeemed) return undefined;
    const session = await startSession(ctx, tx, {
      userId: redeemed.user_id!,
      sinceEpoch: redeemed.session_epoch!,
      kind: 'device',
      method: 'device_code',
      clientName: redeemed.client_name,
      deviceName: redeemed.device_name,
      approvedBy: redeemed.approved_by,
      scope: redeemed.scope,
      resource: redeemed.resource,
      client: { ipAddress: redeemed.ip_address, userAgent: redeemed.user_agent },
      secret: sessionSecretOf(poll.secret),
    });
    // Rolls back: the tokens would be lost, and the device could not sign in with this code any more.
    if (poll.wait?.clientGone.aborted) throw pendingAuthorization('client_gone');
    return tokensOf(ctx, session);
  });

/** Turns the result of a poll into its tokens or the error that RFC 8628 names for it. */
function answerPoll(ctx: Context, result: PollResult): RedeemedCode {
  switch (result.outcome) {
    case 'redeemed':
      ctx.metrics.logins.inc({ method: 'device_code' });
      return { tokens: result.tokens, detail: 'redeemed' };
    case 'repeated':
      return { tokens: result.tokens, detail: 'retry' };
    case 'pending':
    case 'still_pending':
      throw pendingAuthorization();
    case 'contended':
      throw new AuthError(
        'authorization_pending',
        'Too many concurrent polls. Poll again after the interval.',
      );
    case 'slow_down':
      throw new AuthError('slow_down', `Wait ${result.intervalSeconds} seconds between polls.`, {
        members: { interval: result.intervalSeconds },
      });
    case 'denied':
      throw new AuthError('access_denied', 'The user denied the request.');
    case 'expired':
      throw new AuthError('expired_token', 'The device code has expired. Request a new one.');
    case 'spent':
    case 'unknown':
      throw unknownDeviceCode(result.outcome);
  }
}

const pendingAuthorization = (detail?: ErrorDetail) =>
  new AuthError(
    'authorization_pending',
    'The user has not approved this device yet. Keep polling.',
    detail ? { detail } : {},
  );

const unknownDeviceCode = (detail: ErrorDetail) =>
  new AuthError('invalid_grant', 'The device code is unknown or has already been redeemed.', { detail });

const unknownUserCode = () =>
  new AuthError('invalid_grant', 'The user code is unknown, has expired, or was already approved or denied.');

/** The signed-in user who enters a user code, and the browser they use. */
interface Approver {
  readonly caller: Caller;
  readonly client: ClientInfo;
}

/**
 * Runs `find` for each hash that the typed code may be stored under, until one of them has a row. The rate limits count
 * every code before the lookup, so that parallel guesses cannot exceed them together; a correct code and a failed
 * lookup are refunded.
 * @throws {AuthError} `invalid_grant`, `rate_limited`
 */
async function findByUserCode<Row>(
  ctx: Context,
  typed: string,
  { caller, client }: Approver,
  find: (user_code_hash: string) => Promise<Row[]>,
): Promise<{ code: string; row: Row }> {
  const attempt = await recordingRateLimits(ctx, { ...caller, client }, () =>
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
      await attempt.refund();
      return { code, row };
    }
  } catch (error) {
    await attempt.refund();
    throw error;
  }
  throw unknownUserCode();
}

/**
 * Describes the device behind a user code, for the user to approve or deny. Changes nothing.
 * @throws {AuthError} `invalid_grant`, `rate_limited`
 */
export async function verifyDevice(ctx: Context, typed: string, approver: Approver): Promise<PendingDevice> {
  const now = ctx.clock();
  const { code, row } = await findByUserCode(ctx, typed, approver, (user_code_hash) =>
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
    same_network: sameNetwork(row.ip_address, approver.client.ipAddress),
    scope: row.scope ?? everything,
    scopes: await describeScope(ctx.db.read, row.scope ?? everything),
    resource: row.resource,
    session_id: row.session_id,
  };
}

/**
 * Approves or denies a pending device for the signed-in user. Only the first decision counts.
 * @throws {AuthError} `invalid_grant` when the code is unknown, expired or already decided; `invalid_scope` or
 * `invalid_target` when it asks for something that is not declared any more; `rate_limited`
 */
export async function decideDevice(
  ctx: Context,
  heldPolls: HeldPolls,
  decision: 'approve' | 'deny',
  typed: string,
  approver: Approver,
): Promise<void> {
  const { caller, client } = approver;
  const { row: decided } = await findByUserCode(ctx, typed, approver, (user_code_hash) =>
    ctx.db.transaction(async (tx) => {
      await lockAccount(tx, caller.userId);
      if (decision === 'approve') {
        const [pending] = await store.findPending(tx, { user_code_hash, now: ctx.clock() });
        if (pending) await holdAccess(tx, pending);
      }
      const decide = decision === 'approve' ? store.approve : store.deny;
      const rows = await decide(tx, { user_code_hash, session_id: caller.sessionId, now: ctx.clock() });
      for (const { id: _, ...device } of rows) {
        await recordEvent(ctx, tx, {
          type: decision === 'approve' ? 'device_approved' : 'device_denied',
          userId: caller.userId,
          sessionId: caller.sessionId,
          client,
          detail: withoutNulls(device),
        });
      }
      return rows;
    }),
  );
  heldPolls.announce(decided.id);
}

const withoutNulls = (device: Readonly<Record<string, string | null>>): Record<string, string> =>
  Object.fromEntries(Object.entries(device).filter((entry): entry is [string, string] => entry[1] !== null));

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

/** Up to `limit` accounts that approved a device with this access that has not redeemed it. */
export const listAccessApprovers = async (
  ctx: Context,
  tx: Executor,
  { scopes, resources }: InheritedAccess,
  limit: number,
): Promise<string[]> => {
  const access = { scopes: JSON.stringify(scopes), resources: JSON.stringify(resources) };
  const rows = await store.listAccessApprovers(tx, { ...access, now: ctx.clock(), limit });
  return rows.map((row) => row.user_id);
};

/**
 * Denies every device authorization with this access that waits for approval, or that one of these locked accounts approved and
 * no device has redeemed. Each approval is recorded, so call it last.
 */
export async function denyAccess(
  ctx: Context,
  tx: Executor,
  { scopes, resources }: InheritedAccess,
  userIds: readonly string[],
): Promise<void> {
  const denied = await store.denyAccess(tx, {
    scopes: JSON.stringify(scopes),
    resources: JSON.stringify(resources),
    user_ids: JSON.stringify(userIds),
    now: ctx.clock(),
  });
  for (const { user_id: userId, session_id } of denied) {
    if (userId === null) continue;
    const sessionId = session_id === null ? {} : { sessionId: session_id };
    await recordEvent(ctx, tx, {
      type: 'session_revoked',
      userId,
      ...sessionId,
      detail: { reason: 'taken_over' },
    });
  }
}

/** The device authorizations of a user for the export of personal data. */
export const exportDeviceAuthorizations = (on: Executor, userId: string) =>
  store.exportDeviceAuthorizations(on, { user_id: userId });
