import type { TokenSet } from '@latchkey/contract/tokens';
import type { Context } from '../../platform/context.ts';
import { readHandle } from '../../platform/crypto/handle.ts';
import { idempotencyHash } from '../../platform/crypto/hash.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { lockAccountRow } from '../../platform/database/locks.ts';
import { AuthError, type ErrorDetail } from '../../platform/errors.ts';
import type { WaitPreference } from '../../platform/values/wait-preference.ts';
import {
  holdAccess,
  type RepeatedAccess,
  requireOwnAccess,
  withRequestedScope,
} from '../../services/scopes/scopes.ts';
import { repeatFirstTokens, tokensOf } from '../../sessions/sessions.ts';
import { startSession } from '../../sessions/starting.ts';
import { confirmationHashes, maxConfirmationTries } from './confirmation.ts';
import { authorizationIdOf, sessionSecretOf } from './device-code.ts';
import type { HeldPolls, Watch } from './held-polls.ts';
import { decidePoll, earlyPollToleranceMs, requestHash, slowDownSeconds } from './polling.ts';
import * as store from './store.ts';

/** How often one poll starts over because a concurrent poll changed the authorization between its read and its write. */
const maxPollAttempts = 10;

export interface PollRequest {
  readonly deviceCode: string;
  readonly idempotencyKey: string | undefined;
  readonly wait: WaitPreference | undefined;
  readonly confirmationCode?: string | undefined;
  /** The scope and resource that the poll names, which must be those the device started with. */
  readonly repeated?: RepeatedAccess;
}

/** The response to a poll that started a session, or repeats the tokens of one. */
interface RedeemedCode {
  readonly tokens: TokenSet;
  readonly detail: 'redeemed' | 'retry';
  readonly headers?: Readonly<Record<string, string>>;
}

/** Most polls are answered with an error, such as `authorization_pending`: it is returned, not thrown. */
type PollAnswer = RedeemedCode | AuthError;

/** One poll: a device code that this service issued, and the key that identifies a repeated request. */
interface Poll {
  readonly authorizationId: string;
  readonly secret: Uint8Array;
  readonly expiresAt: number;
  readonly idempotencyHash: string | null;
  readonly confirmationCode: string | undefined;
  /** Recognizes a repeated try of the same confirmation code. */
  readonly triedHash: string | null;
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
  | {
      readonly outcome:
        | 'still_pending'
        | 'confirmation_required'
        | 'denied'
        | 'expired'
        | 'spent'
        | 'unknown'
        | 'contended';
    };

/**
 * Answers one poll with tokens once the user has approved the device. Of any number of concurrent polls, one starts
 * the session. A client that prefers to wait is answered when there is something to say. Before the approval the answer is an
 * error: `authorization_pending`, `slow_down`, `confirmation_required`, `access_denied`, `expired_token` or `invalid_grant`.
 * @throws {AuthError} `invalid_grant`, `invalid_scope`, `invalid_target`, `account_disabled`, `rate_limited`
 * @see RFC 8628 section 3.5
 */
export async function redeemDeviceCode(
  ctx: Context,
  heldPolls: HeldPolls,
  { deviceCode, idempotencyKey, wait, confirmationCode, repeated = {} }: PollRequest,
): Promise<PollAnswer> {
  const handle = readHandle(ctx.keys, 'deviceCode', deviceCode);
  if (!handle) throw unknownDeviceCode('malformed');
  const poll: Poll = {
    authorizationId: authorizationIdOf(handle.subject),
    secret: handle.subject,
    expiresAt: handle.value,
    idempotencyHash: idempotencyHash(handle.subject, idempotencyKey),
    confirmationCode,
    triedHash:
      idempotencyKey === undefined || confirmationCode === undefined
        ? null
        : idempotencyHash(handle.subject, JSON.stringify([idempotencyKey, confirmationCode])),
    wait,
  };
  await ctx.limiter.take({ limit: 'device_polls', subject: poll.authorizationId });
  await checkRepeatedAccess(ctx, poll, repeated);
  const answer = wait
    ? await pollAndHold(ctx, heldPolls, poll, wait)
    : answerPoll(ctx, await runPoll(ctx, poll));
  return answer instanceof AuthError
    ? answer
    : { ...answer, tokens: withRequestedScope(answer.tokens, repeated) };
}

/** Polls, and holds the poll if there is nothing to say yet. Watches from the start, so that no decision is missed. */
async function pollAndHold(
  ctx: Context,
  heldPolls: HeldPolls,
  poll: Poll,
  wait: WaitPreference,
): Promise<PollAnswer> {
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

/** Answers a poll once the user has decided, the code has expired or the client's wait is over. */
async function holdPoll(
  ctx: Context,
  watch: Watch,
  poll: Poll,
  { seconds, clientGone }: WaitPreference,
  pending: Pending,
): Promise<PollAnswer> {
  const headers = { 'Preference-Applied': `wait=${seconds}` };
  try {
    const answer = answerPoll(ctx, await awaitDecision(ctx, watch, poll, clientGone, pending));
    return answer instanceof AuthError ? answer.withHeaders(headers) : { ...answer, headers };
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
    const result = await runPoll(ctx, poll, true);
    if (result.outcome !== 'still_pending' || ctx.clock() >= answeredAt) return result;
  }
}

/**
 * Refuses a poll for another scope or resource than the device started with. It changes nothing, not even the interval. A
 * code that yields nothing any more is left to the poll.
 * @throws {AuthError} `invalid_scope`, `invalid_target`
 * @see RFC 8707 section 2.2
 */
async function checkRepeatedAccess(ctx: Context, poll: Poll, repeated: RepeatedAccess): Promise<void> {
  if (repeated.scope === undefined && repeated.resource === undefined) return;
  const [authorization] = await store.findAuthorization(ctx.db.read, { id: poll.authorizationId });
  if (!authorization) return;
  const decision = decidePoll(authorization, poll, ctx.clock());
  if (decision === 'denied' || decision === 'expired' || decision === 'spent') return;
  await requireOwnAccess(ctx.db.read, repeated, authorization);
}

/** Attempts the poll until its write succeeds: an attempt that loses a race sees the winner's change next time. */
async function runPoll(ctx: Context, poll: Poll, isHeld = false): Promise<PollResult> {
  for (let attempt = 0; attempt < maxPollAttempts; attempt++) {
    const result = await attemptPoll(ctx, poll, isHeld, attempt === 0);
    if (result !== 'lost_race') return result;
  }
  return { outcome: 'contended' };
}

/** @param isHeld it was accepted already: while the authorization is pending it is neither too early nor accepted again */
async function attemptPoll(
  ctx: Context,
  poll: Poll,
  isHeld: boolean,
  isFirst: boolean,
): Promise<PollResult | 'lost_race'> {
  const now = ctx.clock();
  const id = poll.authorizationId;
  const isOff = ctx.config.deviceLogin === 'off';
  if (!isHeld && !isOff) {
    const accepted = await acceptPoll(ctx, poll, now, isFirst);
    if (accepted) return accepted;
  }
  const [authorization] = await store.findAuthorization(ctx.db.read, { id });
  if (!authorization) return { outcome: poll.expiresAt <= now ? 'expired' : 'unknown' };
  if (isOff && authorization.status === 'pending') return { outcome: 'unknown' };
  const decision = decidePoll(authorization, poll, now, isHeld);
  if (isHeld && (decision === 'keep_waiting' || decision === 'slow_down'))
    return { outcome: 'still_pending' };
  switch (decision) {
    case 'keep_waiting':
      return 'lost_race';
    case 'slow_down': {
      const [slowed] = await store.growInterval(ctx.db.single, { id, by_seconds: slowDownSeconds });
      return slowed ? { outcome: 'slow_down', intervalSeconds: slowed.interval_seconds } : 'lost_race';
    }
    case 'confirm':
      return confirm(ctx, poll, authorization, isHeld);
    case 'refuse_again':
      return { outcome: 'confirmation_required' };
    case 'redeem':
      return ctx.db.transaction((tx) => redeem(ctx, tx, poll, authorization));
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

/**
 * Counts a confirmation code and only then compares it, in the transaction that redeems the approval if it is right. The last allowed
 * wrong one denies the authorization. A held poll was sent before the code was shown.
 */
function confirm(
  ctx: Context,
  poll: Poll,
  authorization: Authorization,
  isHeld: boolean,
): Promise<PollResult | 'lost_race'> {
  const given = isHeld ? undefined : poll.confirmationCode;
  const { id, user_id, confirmation_hash, last_poll_at } = authorization;
  return ctx.db.transaction(async (tx) => {
    await lockAccountRow(tx, { id: user_id! });
    const [counted] = await store.countConfirmation(tx, {
      id,
      seen_poll_at: last_poll_at,
      now: ctx.clock(),
      tries: given === undefined ? 0 : 1,
      tried: given === undefined ? null : poll.triedHash,
    });
    if (!counted) return 'lost_race';
    if (given !== undefined && confirmationHashes(ctx, id, given).includes(confirmation_hash!))
      return redeem(ctx, tx, poll, authorization);
    if (counted.confirmation_tries < maxConfirmationTries) return { outcome: 'confirmation_required' };
    await store.denyUnconfirmed(tx, { id });
    return { outcome: 'denied' };
  });
}

/** Most polls are on time and find the user undecided, so that is tried first. Only the first attempt does not wait for a lock. */
async function acceptPoll(
  ctx: Context,
  poll: Poll,
  now: number,
  isFirst: boolean,
): Promise<Pending | undefined> {
  const accept = isFirst ? store.acceptPollIfFree : store.acceptPoll;
  const [accepted] = await accept(ctx.db.single, {
    id: poll.authorizationId,
    now,
    due_by: now + earlyPollToleranceMs,
    answered_at: now + (poll.wait?.seconds ?? 0) * 1000,
  });
  return accepted && { outcome: 'pending', acceptedAt: now, answeredAt: accepted.last_poll_at };
}

type Authorization = Awaited<ReturnType<typeof store.findAuthorization>>[number];

/**
 * Spends an approved authorization and starts its session; `lost_race` if another poll was first.
 * @throws {AuthError} `invalid_scope`, `invalid_target` if what the user approved is not declared any more
 */
async function redeem(
  ctx: Context,
  tx: Executor,
  poll: Poll,
  approved: Authorization,
): Promise<PollResult | 'lost_race'> {
  const { scope, resource } = approved;
  const userId = approved.user_id!;
  if (scope !== null || resource !== null) {
    await lockAccountRow(tx, { id: userId });
    await holdAccess(tx, { scope, resource });
  }
  const [redeemed] = await store.redeem(tx, {
    id: poll.authorizationId,
    now: ctx.clock(),
    idempotency_hash: requestHash(approved, poll),
  });
  if (!redeemed) return 'lost_race';
  const started = await startSession(ctx, tx, {
    userId,
    sinceEpoch: approved.session_epoch!,
    kind: 'device',
    method: 'device_code',
    clientName: approved.client_name,
    deviceName: approved.device_name,
    approvedBy: approved.approved_by,
    scope,
    resource,
    client: { ipAddress: approved.ip_address, userAgent: approved.user_agent },
    secret: sessionSecretOf(poll.secret),
  });
  // Rolls back: the tokens would be lost, and the device could not sign in with this code any more.
  if (poll.wait?.clientGone.aborted) throw pendingAuthorization('client_gone');
  return { outcome: 'redeemed', tokens: tokensOf(ctx, started) };
}

/** The tokens of a poll, or the error that RFC 8628 names for its result. */
function answerPoll(ctx: Context, result: PollResult): PollAnswer {
  switch (result.outcome) {
    case 'redeemed':
      ctx.metrics.logins.inc({ method: 'device_code' });
      return { tokens: result.tokens, detail: 'redeemed' };
    case 'repeated':
      return { tokens: result.tokens, detail: 'retry' };
    case 'pending':
    case 'still_pending':
      return pendingAuthorization();
    case 'contended':
      return new AuthError(
        'authorization_pending',
        'Too many concurrent polls. Poll again after the interval.',
      );
    case 'slow_down':
      return new AuthError('slow_down', `Wait ${result.intervalSeconds} seconds between polls.`, {
        members: { interval: result.intervalSeconds },
      });
    case 'confirmation_required':
      return new AuthError(
        'confirmation_required',
        'Ask the user for the code that the page shows, and poll again with it as confirmation_code.',
      );
    case 'denied':
      return new AuthError('access_denied', 'The request was denied.');
    case 'expired':
      return new AuthError('expired_token', 'The device code has expired. Request a new one.');
    case 'spent':
    case 'unknown':
      return unknownDeviceCode(result.outcome);
  }
}

const pendingAuthorization = (detail?: ErrorDetail) =>
  new AuthError(
    'authorization_pending',
    'The user has not approved this device yet. Keep polling.',
    detail ? { detail } : {},
  );

const unknownDeviceCode = (detail: ErrorDetail) =>
  new AuthError('invalid_grant', 'The device code is unknown, was cancelled, or has already been redeemed.', {
    detail,
  });
