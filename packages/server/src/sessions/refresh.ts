import type { TokenSet } from '@latchkey/contract/tokens';
import type { Context } from '../platform/context.ts';
import { readHandle } from '../platform/crypto/handle.ts';
import { idempotencyHash, programHash } from '../platform/crypto/hash.ts';
import { lockAccountRow } from '../platform/database/locks.ts';
import { AuthError } from '../platform/errors.ts';
import { networkKey } from '../platform/values/client-address.ts';
import type { ClientInfo } from '../platform/values/client-info.ts';
import { recordEvent, recordOncePerHour } from '../security-log/events/events.ts';
import { notify } from '../security-log/notices/notices.ts';
import { programOf } from './known-places.ts';
import { type SessionState, sessionStatus } from './session-status.ts';
import * as store from './store.ts';
import { sessionIdOf, tokenSetOf } from './tokens.ts';

/** How long a repeated request gets the successor again that the first one made. */
export const refreshRetryWindowSeconds = 600;

/** Why a refresh token was not good for a new generation. */
export type ReuseKind = 'retry' | 'race' | 'theft' | 'disabled' | 'over';

interface Presented {
  readonly generation: number;
  readonly idempotencyHash: string | null;
}

/**
 * Tells a repeated request, a lost race and a stolen token apart. A repeated request comes with the token spent
 * last and its key; a race with the token spent last, or with one that had arrived (`now`) before the exchanges
 * that overtook it. With `leewaySeconds` 0 every other spent token counts as stolen.
 * @see RFC 9700 section 4.14.2
 */
export function classifyReuse(
  presented: Presented,
  session: SessionState & { generation: number; rotated_at: number; idempotency_hash: string | null },
  now: number,
  leewaySeconds: number,
): ReuseKind {
  const standing = sessionStatus(session, now);
  if (standing !== 'live') return standing;
  if (presented.generation >= session.generation) return 'over';
  // It arrived before the last exchange, so it was not spent longer ago than the leeway when it was sent.
  if (leewaySeconds > 0 && session.rotated_at > now)
    return sameRequestAsLast(presented, session) ? 'retry' : 'race';
  if (presented.generation < session.generation - 1) return 'theft';
  const ageMs = now - session.rotated_at;
  if (sameRequestAsLast(presented, session) && ageMs <= refreshRetryWindowSeconds * 1000) return 'retry';
  return leewaySeconds > 0 && ageMs <= leewaySeconds * 1000 ? 'race' : 'theft';
}

/** Whether this is the very request that made the current generation, sent again. */
const sameRequestAsLast = (
  presented: Presented,
  session: { generation: number; idempotency_hash: string | null },
): boolean =>
  presented.generation === session.generation - 1 &&
  presented.idempotencyHash !== null &&
  presented.idempotencyHash === session.idempotency_hash;

/** Where a refresh request comes from, as far as it is remembered with the generation that it made. */
interface RefreshOrigin {
  readonly network: string;
  readonly program: string;
}

const originOf = ({ ipAddress, userAgent }: ClientInfo): RefreshOrigin => ({
  network: networkKey(ipAddress),
  program: programHash(programOf(userAgent)),
});

/** What a repeated request does not share with the first one. Nothing, where that is not known. */
const changesOfOrigin = (
  { network, program }: RefreshOrigin,
  first: { rotated_network: string | null; rotated_program: string | null },
): ('network' | 'program')[] => [
  ...(first.rotated_network === null || first.rotated_network === network ? [] : (['network'] as const)),
  ...(first.rotated_program === null || first.rotated_program === program ? [] : (['program'] as const)),
];

const refused = (detail: string) =>
  new AuthError('invalid_grant', 'The refresh token is unknown, expired, revoked or already used.', {
    detail,
  });

/**
 * Spends a refresh token for its one successor. The same token with the same idempotency key gets the same
 * successor again. A spent token in strange hands ends its session, and only that.
 * @throws {AuthError} `invalid_grant`, `account_disabled`, `rate_limited`
 */
export async function refresh(
  ctx: Context,
  refreshToken: string,
  idempotencyKey: string | undefined,
  client: ClientInfo,
): Promise<{ tokens: TokenSet; detail: 'rotated' | 'retry' }> {
  const outcome = (name: string) => ctx.metrics.refreshes.inc({ outcome: name });
  const handle = readHandle(ctx.keys, 'refreshToken', refreshToken);
  if (!handle) {
    outcome('malformed');
    throw refused('malformed');
  }
  const now = ctx.clock();
  const id = sessionIdOf(handle.subject);
  await ctx.limiter.take({ limit: 'refreshes', key: id });
  const presented = {
    generation: handle.value,
    idempotencyHash: idempotencyHash(handle.subject, idempotencyKey),
  };
  const origin = originOf(client);
  const [rotated] = await store.rotate(ctx.db.single, {
    id,
    generation: presented.generation,
    idempotency_hash: presented.idempotencyHash,
    ...origin,
    now,
    idle_expires_at: now + ctx.config.refreshIdleTtlSeconds * 1000,
  });
  if (rotated) {
    outcome('rotated');
    return { tokens: tokenSetOf(ctx, handle.subject, rotated), detail: 'rotated' };
  }

  const [session] = await store.findSession(ctx.db.read, { id });
  const refusal = session
    ? classifyReuse(presented, session, now, ctx.config.refreshReuseLeewaySeconds)
    : 'unknown';
  outcome(refusal);
  if (!session) throw refused('unknown');
  const event = { userId: session.user_id, sessionId: id, client };
  switch (refusal) {
    case 'retry':
      await recordRetry(ctx, event, origin.network, changesOfOrigin(origin, session));
      return { tokens: tokenSetOf(ctx, handle.subject, session), detail: 'retry' };
    case 'disabled':
      throw new AuthError('account_disabled', 'This account has been disabled.');
    case 'theft':
      await endStolenSession(ctx, id, session.user_id, client);
      throw refused('theft');
    case 'race':
      await recordOncePerHour(ctx, { ...event, type: 'refresh_race' }, id);
      throw refused('race');
    default:
      throw refused(refusal);
  }
}

/**
 * A repetition from another network or program may be a device that has moved, or a copy of the credentials: the
 * owner is told, once an hour for each network.
 */
function recordRetry(
  ctx: Context,
  event: { readonly userId: string; readonly sessionId: string; readonly client: ClientInfo },
  network: string,
  changes: readonly string[],
): Promise<void> {
  if (changes.length === 0)
    return recordOncePerHour(ctx, { ...event, type: 'refresh_retry' }, event.sessionId);
  const detail = { changed: changes.join(' ') };
  return recordOncePerHour(
    ctx,
    { ...event, type: 'refresh_retry_elsewhere', detail },
    `${event.sessionId} ${network}`,
    (tx) => notify(ctx, tx, { ...event, kind: 'refresh_repeated_elsewhere' }),
  );
}

/** Commits before the refusal is answered; of many who present stolen tokens at once, one records it. */
const endStolenSession = (ctx: Context, id: string, userId: string, client: ClientInfo): Promise<void> =>
  ctx.db.transaction(async (tx) => {
    await lockAccountRow(tx, { id: userId });
    const [ended] = await store.endSession(tx, {
      id,
      user_id: userId,
      distrusted_as: 'stolen',
      now: ctx.clock(),
    });
    if (!ended) return;
    await notify(ctx, tx, { kind: 'theft_stopped', userId, sessionId: id, client });
    await recordEvent(ctx, tx, { type: 'refresh_theft', userId, sessionId: id, client });
  });
