import { randomInt } from 'node:crypto';
import { plainCode } from '@latchkey/contract/codes';
import type { TokenSet } from '@latchkey/contract/tokens';
import { lockAccountRow } from '../../accounts/locks.ts';
import type { Context, TokenRequest, WaitPreference } from '../../platform/context.ts';
import { readHandle, subjectBytes } from '../../platform/crypto/handle.ts';
import { hashedId, idempotencyHash, sha256 } from '../../platform/crypto/primitives.ts';
import type { Executor } from '../../platform/database/executor.ts';
import type { Tables } from '../../platform/database/schema.ts';
import { AuthError, type ErrorDetail, orThrow } from '../../platform/errors.ts';
import {
  holdAccess,
  type RepeatedAccess,
  requireOwnAccess,
  withRequestedScope,
} from '../../services/scopes.ts';
import { repeatFirstTokens, startSession, tokensOf } from '../../sessions/starting.ts';
import type { HeldPolls } from './held-polls.ts';
import * as store from './store.ts';

/** How often a poll starts over because another one changed the authorization meanwhile. */
const maxPollAttempts = 10;

/** The response to a poll that started a session, or repeats the tokens of one. */
interface RedeemedCode {
  readonly tokens: TokenSet;
  readonly detail: 'redeemed' | 'retry';
  readonly headers?: Readonly<Record<string, string>>;
}

/** A poll with a device code that this service issued. */
interface Poll {
  readonly authorizationId: string;
  readonly secret: Uint8Array;
  readonly expiresAt: number;
  /** In milliseconds since 1970. */
  readonly now: number;
  /** It was accepted before, so it is neither early nor accepted again. */
  readonly isHeld: boolean;
  /** When the interval begins, if the user has not decided by now: at the end of the wait. */
  readonly answeredAt: number;
  /** Identifies a repeated request. */
  readonly idempotencyHash: string | null;
  readonly confirmationCode: string | undefined;
  /** Of the idempotency key and the confirmation code. */
  readonly triedHash: string | null;
  readonly clientGone: AbortSignal | undefined;
}

type Authorization = Awaited<ReturnType<typeof store.findAuthorization>>[number];

/**
 * Answers one poll with tokens once the user has approved the device. If the client prefers to wait, a poll
 * without a decision is held. Of any number of concurrent polls, one starts the session.
 * @throws {AuthError} `authorization_pending`, `slow_down`, `confirmation_required`, `access_denied`,
 * `expired_token`, `invalid_grant`, `invalid_scope`, `invalid_target`, `account_disabled`, `rate_limited`
 * @see RFC 8628 section 3.5
 */
export async function redeemDeviceCode(
  ctx: Context,
  heldPolls: HeldPolls,
  deviceCode: string,
  { idempotencyKey, wait, body }: TokenRequest & { readonly wait: WaitPreference | undefined },
): Promise<RedeemedCode> {
  const handle = readHandle(ctx.keys, 'deviceCode', deviceCode);
  if (!handle) throw unknownDeviceCode('malformed');
  const now = ctx.clock();
  const { confirmation_code: confirmationCode } = body;
  const tried = JSON.stringify([idempotencyKey, confirmationCode]);
  const poll: Poll = {
    authorizationId: authorizationIdOf(handle.subject),
    secret: handle.subject,
    expiresAt: handle.value,
    now,
    isHeld: false,
    answeredAt: Math.min(now + (wait?.seconds ?? 0) * 1000, handle.value),
    idempotencyHash: idempotencyHash(handle.subject, idempotencyKey),
    confirmationCode,
    triedHash:
      idempotencyKey === undefined || confirmationCode === undefined
        ? null
        : idempotencyHash(handle.subject, tried),
    clientGone: wait?.clientGone,
  };
  await ctx.limiter.take({ limit: 'device_polls', subject: poll.authorizationId });
  await checkRepeatedAccess(ctx, poll, body);
  const redeemed = wait ? await pollAndHold(ctx, heldPolls, poll, wait) : await runPoll(ctx, poll);
  if (redeemed === 'pending') throw pendingAuthorization();
  if (body.scope === undefined) return redeemed;
  return { ...redeemed, tokens: withRequestedScope(redeemed.tokens, body) };
}

/** Holds the poll until there is a decision. Watches from the start, so that none is missed. */
async function pollAndHold(
  ctx: Context,
  heldPolls: HeldPolls,
  poll: Poll,
  { seconds, clientGone }: WaitPreference,
): Promise<RedeemedCode> {
  const watch = heldPolls.watch(poll.authorizationId);
  try {
    const redeemed = await runPoll(ctx, poll);
    if (redeemed !== 'pending') return redeemed;
    const headers = { 'Preference-Applied': `wait=${seconds}` };
    try {
      return { ...(await awaitDecision(ctx, watch, poll, clientGone)), headers };
    } catch (error) {
      throw error instanceof AuthError ? error.withHeaders(headers) : error;
    }
  } finally {
    watch.end();
  }
}

async function awaitDecision(
  ctx: Context,
  watch: ReturnType<HeldPolls['watch']>,
  poll: Poll,
  clientGone: AbortSignal,
): Promise<RedeemedCode> {
  const { authorizationId: id, answeredAt } = poll;
  for (;;) {
    const wakening = await watch.next(Math.max(0, answeredAt - ctx.clock()), clientGone);
    if (wakening === 'client_gone' || wakening === 'stopping') {
      // A client that got no response may poll again as if this poll had been answered at once.
      const ended_at = wakening === 'client_gone' ? poll.now : ctx.clock();
      const ended = { id, planned_at: answeredAt, ended_at };
      await store.endHeldPoll(ctx.db.single, ended).catch(() => ctx.log.warn('a held poll was not ended'));
      throw pendingAuthorization();
    }
    // Its confirmation code was sent before the page showed one.
    const held = { ...poll, now: ctx.clock(), isHeld: true, confirmationCode: undefined, triedHash: null };
    const redeemed = await runPoll(ctx, held);
    if (redeemed !== 'pending') return redeemed;
    if (ctx.clock() >= answeredAt) throw pendingAuthorization();
  }
}

/**
 * Refuses a poll for another scope or resource than the device started with. It changes nothing, not even the
 * interval. A code that no longer yields tokens gets its own error.
 * @throws {AuthError} `invalid_scope`, `invalid_target`, and the errors of `readDecision`
 * @see RFC 8707 section 2.2
 */
async function checkRepeatedAccess(ctx: Context, poll: Poll, repeated: RepeatedAccess): Promise<void> {
  if (repeated.scope === undefined && repeated.resource === undefined) return;
  const { authorization } = await readDecision(ctx, poll);
  await requireOwnAccess(ctx.db.read, repeated, authorization);
}

/** @throws {AuthError} `access_denied`, `expired_token`, `invalid_grant`, `confirmation_required` */
async function readDecision(ctx: Context, poll: Poll) {
  const [authorization] = await store.findAuthorization(ctx.db.read, { id: poll.authorizationId });
  if (!authorization) throw poll.expiresAt <= poll.now ? expired() : unknownDeviceCode('unknown');
  if (ctx.config.deviceLogin === 'off' && authorization.status === 'pending')
    throw unknownDeviceCode('unknown');
  return { authorization, step: decidePoll(authorization, poll) };
}

/** Attempts the poll until its write succeeds: an attempt that loses a race then sees the winner's change. */
async function runPoll(ctx: Context, poll: Poll): Promise<RedeemedCode | 'pending'> {
  for (let attempt = 0; attempt < maxPollAttempts; attempt++) {
    const result = await attemptPoll(ctx, poll);
    if (result !== 'lost_race') return result;
  }
  throw new AuthError('authorization_pending', 'Too many concurrent polls. Poll again after the interval.');
}

async function attemptPoll(ctx: Context, poll: Poll): Promise<RedeemedCode | 'pending' | 'lost_race'> {
  const { authorizationId: id, now, answeredAt } = poll;
  // Most polls are on time and find the user undecided, so that is tried first.
  if (!poll.isHeld && ctx.config.deviceLogin !== 'off') {
    const accepting = { id, now, due_by: now + earlyPollToleranceMs, answered_at: answeredAt };
    const [accepted] = await store.acceptPoll(ctx.db.single, accepting);
    if (accepted) return 'pending';
  }
  const { authorization, step } = await readDecision(ctx, poll);
  switch (step) {
    case 'accept':
      return 'lost_race';
    case 'wait':
      return 'pending';
    case 'slow_down': {
      const [slowed] = await store.growInterval(ctx.db.single, { id, by_seconds: slowDownSeconds });
      if (!slowed) return 'lost_race';
      throw slowDown(slowed.interval_seconds);
    }
    case 'confirm':
      return confirm(ctx, poll, authorization);
    case 'redeem':
      return countLogin(ctx, await ctx.db.transaction((tx) => redeem(ctx, tx, poll, authorization)));
    case 'repeat': {
      const tokens = await repeatFirstTokens(ctx, sessionSecretOf(poll.secret), authorization.scope);
      return { tokens, detail: 'retry' };
    }
  }
}

/**
 * Counts a confirmation code and only then compares it, in the transaction that redeems the approval if the
 * code is right. The last allowed wrong code denies the authorization.
 * @throws {AuthError} `confirmation_required`, `access_denied`
 */
async function confirm(
  ctx: Context,
  poll: Poll,
  authorization: Authorization,
): Promise<RedeemedCode | 'lost_race'> {
  const { confirmationCode: given, triedHash } = poll;
  const { id, user_id, confirmation_hash, last_poll_at } = authorization;
  const decided = await ctx.db.transaction(async (tx) => {
    await lockAccountRow(tx, { id: user_id! });
    const [counted] = await store.countConfirmation(tx, {
      id,
      seen_poll_at: last_poll_at,
      now: ctx.clock(),
      tries: given === undefined ? 0 : 1,
      tried: triedHash,
    });
    if (!counted) return 'lost_race';
    if (given !== undefined && confirmationHashes(ctx, id, given).includes(confirmation_hash!))
      return redeem(ctx, tx, poll, authorization);
    if (counted.confirmation_tries < maxConfirmationTries) return confirmationRequired();
    await store.denyUnconfirmed(tx, { id });
    return denied();
  });
  return countLogin(ctx, orThrow(decided));
}

/**
 * Spends an approved authorization and starts its session; `lost_race` if another poll was first.
 * @throws {AuthError} `invalid_scope`, `invalid_target` if what the user approved is no longer declared
 */
async function redeem(
  ctx: Context,
  tx: Executor,
  poll: Poll,
  approved: Authorization,
): Promise<RedeemedCode | 'lost_race'> {
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
    touchedPasskeyId: approved.passkey_id,
    scope,
    resource,
    client: { ipAddress: approved.ip_address, userAgent: approved.user_agent },
    secret: sessionSecretOf(poll.secret),
  });
  // Rolls back: the tokens would be lost, and the device could no longer sign in with this code.
  if (poll.clientGone?.aborted) throw pendingAuthorization('client_gone');
  return { tokens: tokensOf(ctx, started), detail: 'redeemed' };
}

function countLogin<Result extends RedeemedCode | 'lost_race'>(ctx: Context, result: Result): Result {
  if (result !== 'lost_race') ctx.metrics.logins.inc({ method: 'device_code' });
  return result;
}

/** The columns of a device authorization that decide a poll. */
export type PolledAuthorization = Pick<
  Tables['device_authorizations'],
  | 'status'
  | 'expires_at'
  | 'interval_seconds'
  | 'last_poll_at'
  | 'redeemed_at'
  | 'idempotency_hash'
  | `confirmation_${'hash' | 'tried'}`
>;

/** Identifies the request that redeems an authorization. Another confirmation code makes another request. */
const requestHash = (
  { confirmation_hash }: Pick<PolledAuthorization, 'confirmation_hash'>,
  { idempotencyHash, triedHash }: Pick<Poll, 'idempotencyHash' | 'triedHash'>,
): string | null => (confirmation_hash === null ? idempotencyHash : triedHash);

/** How much earlier than the interval a poll may come: clocks in virtual machines run fast. */
export const earlyPollToleranceMs = 1_000;

/** How much an early poll adds to the interval. @see RFC 8628 section 3.5 */
const slowDownSeconds = 5;

/** How long a repeated request gets the same tokens again. */
const redeemRetryWindowMs = 60_000;

/**
 * The next step of a poll, from the state of its authorization. All but `wait` and `repeat` are a write,
 * which a concurrent poll may win. Only an authorization that is pending or has to be confirmed enforces the
 * interval, so that the client learns any other decision with its next poll, however early.
 * @throws {AuthError} `access_denied`, `expired_token`, `invalid_grant`;
 * `confirmation_required` for a repeated wrong code
 */
export function decidePoll(
  authorization: PolledAuthorization,
  poll: Pick<Poll, 'now' | 'isHeld' | 'idempotencyHash' | 'triedHash'>,
): 'accept' | 'wait' | 'slow_down' | 'confirm' | 'redeem' | 'repeat' {
  const { status, confirmation_hash } = authorization;
  if (status === 'denied') throw denied();
  if (status === 'cancelled') throw unknownDeviceCode('spent');
  if (status === 'redeemed') {
    const hash = requestHash(authorization, poll);
    const isSameRequest = hash !== null && hash === authorization.idempotency_hash;
    if (isSameRequest && poll.now - authorization.redeemed_at! <= redeemRetryWindowMs) return 'repeat';
    throw unknownDeviceCode('spent');
  }
  if (authorization.expires_at <= poll.now) throw expired();
  if (status === 'approved' && confirmation_hash === null) return 'redeem';
  if (poll.isHeld) return status === 'pending' ? 'wait' : 'confirm';
  const tried = authorization.confirmation_tried?.split(' ');
  if (poll.triedHash !== null && tried?.includes(poll.triedHash)) throw confirmationRequired();
  const earliest = authorization.last_poll_at + authorization.interval_seconds * 1000 - earlyPollToleranceMs;
  if (poll.now < earliest) return 'slow_down';
  return status === 'pending' ? 'accept' : 'confirm';
}

const pendingAuthorization = (detail?: ErrorDetail) =>
  new AuthError('authorization_pending', 'The user has not approved this device yet. Keep polling.', {
    detail,
  });

const slowDown = (intervalSeconds: number) =>
  new AuthError('slow_down', `Wait ${intervalSeconds} seconds between polls.`, {
    members: { interval: intervalSeconds },
  });

const confirmationRequired = () =>
  new AuthError(
    'confirmation_required',
    'Ask the user for the code that the page shows, and poll again with it as confirmation_code.',
  );

const denied = () => new AuthError('access_denied', 'The request was denied.');

const expired = () => new AuthError('expired_token', 'The device code has expired. Request a new one.');

const unknownDeviceCode = (detail: ErrorDetail) =>
  new AuthError('invalid_grant', 'The device code is unknown, was cancelled, or has already been redeemed.', {
    detail,
  });

export const authorizationIdOf = (secret: Uint8Array): string => hashedId('device authorization', secret);

/** Derives the session's secret from the device code, so that the response to a poll can be repeated. */
export const sessionSecretOf = (secret: Uint8Array): Buffer =>
  sha256('device session', secret).subarray(0, subjectBytes);

/** The third wrong code ends the authorization. */
const maxConfirmationTries = 3;

const digits = 6;

export const newConfirmationCode = (): string => String(randomInt(10 ** digits)).padStart(digits, '0');

/** The hashes a confirmation code may be stored under, the newest key's first, for a code as it was typed. */
export const confirmationHashes = (ctx: Context, authorizationId: string, code: string): string[] =>
  ctx.keys.all.map((key) =>
    key
      .mac('device confirmation', Buffer.from(`${authorizationId} ${plainCode(code)}`))
      .toString('base64url'),
  );
