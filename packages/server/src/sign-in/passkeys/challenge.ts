import type { Context } from '../../platform/context.ts';
import {
  type ChallengeKind,
  mintChallenge,
  readChallenge,
  subjectBytes,
} from '../../platform/crypto/handle.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError, type ErrorDetail } from '../../platform/errors.ts';
import * as store from './store.ts';

/** A challenge of ours that has not expired; whether it was spent is not known yet. */
export interface Challenge {
  readonly id: string;
  readonly expiresAt: number;
}

/** The one answer to a ceremony that fails, whatever the reason; `detail` tells the log. */
export const ceremonyRefused = (detail: ErrorDetail, cause?: unknown): AuthError =>
  new AuthError(
    'invalid_grant',
    'The passkey response is malformed, expired, already used or not valid here.',
    {
      detail,
      cause,
    },
  );

/** A new challenge, in a registration bound to the session. Nothing is written down. */
export const issueChallenge = (ctx: Context, kind: ChallengeKind, sessionId?: string): string =>
  mintChallenge(
    ctx.keys,
    kind,
    { subject: ctx.random(subjectBytes), value: ctx.clock() + ctx.config.challengeTtlSeconds * 1000 },
    sessionId,
  );

/**
 * What a challenge that came back proves by itself.
 * @throws {AuthError} `invalid_grant` for any that was not issued for this, or has expired
 */
export function checkChallenge(
  ctx: Context,
  kind: ChallengeKind,
  text: string,
  sessionId?: string,
): Challenge {
  const handle = readChallenge(ctx.keys, kind, text, sessionId);
  if (!handle) throw ceremonyRefused('foreign_challenge');
  if (handle.value <= ctx.clock()) throw ceremonyRefused('expired_challenge');
  return { id: handle.subject.toString('base64url'), expiresAt: handle.value };
}

/** Spends a challenge; true for exactly one caller, once its transaction commits. */
export async function spendChallenge(on: Executor, challenge: Challenge): Promise<boolean> {
  const rows = await store.spendChallenge(on, { id: challenge.id, expires_at: challenge.expiresAt });
  return rows.length > 0;
}

/**
 * Runs a ceremony whose success spends the challenge itself. One that fails spends it, too, before the refusal
 * leaves, and one that comes with a spent challenge learns nothing else.
 */
export async function spendingOnRefusal<T>(
  ctx: Context,
  challenge: Challenge,
  ceremony: () => Promise<T>,
): Promise<T> {
  try {
    return await ceremony();
  } catch (error) {
    if (!(error instanceof AuthError) || error.status >= 500) throw error;
    throw (await spendChallenge(ctx.db.single, challenge)) ? error : ceremonyRefused('replay');
  }
}
