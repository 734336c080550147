import type { Context } from '../../platform/context.ts';
import {
  type ChallengeKind,
  mintChallenge,
  readChallenge,
  subjectBytes,
} from '../../platform/crypto/handle.ts';
import type { Executor } from '../../platform/database/executor.ts';
import { AuthError, invalidGrant } from '../../platform/errors.ts';
import type { signInFailureReasons } from '../failures/failures.ts';
import * as store from './store.ts';

/** Time to complete a ceremony, such as with a phone beside the computer. Browsers get it as their timeout. */
export const challengeTtlMs = 300_000;

/** An unexpired challenge that this service issued. It may already be spent. */
export type Challenge = ReturnType<typeof verifyChallenge>;

/** Why a passkey ceremony failed: what a sign-in is counted by, and what only a registration fails for. */
type CeremonyDetail =
  | (typeof signInFailureReasons.passkey)[number]
  | `attestation_${'certificate' | 'format' | 'signature' | 'statement'}`
  | 'base64url'
  | 'public_key'
  | 'verification';

/** The error of every failed ceremony. The caller gets no details; `detail` goes into the log. */
export const ceremonyRefused: (detail: CeremonyDetail, cause?: unknown) => AuthError = invalidGrant(
  'The passkey response is invalid, has expired or was already used.',
);

/** Issues a challenge, for a registration bound to its session. Nothing is stored until the challenge is spent. */
export function issueChallenge(ctx: Context, kind: ChallengeKind, sessionId?: string): string {
  const handle = { subject: ctx.random(subjectBytes), value: ctx.clock() + challengeTtlMs };
  return mintChallenge(ctx.keys, kind, handle, sessionId);
}

/** @throws {AuthError} `invalid_grant` for an expired one, or one for another ceremony or session */
export function verifyChallenge(ctx: Context, kind: ChallengeKind, text: string, sessionId?: string) {
  const handle = readChallenge(ctx.keys, kind, text, sessionId);
  if (!handle) throw ceremonyRefused('foreign_challenge');
  if (handle.value <= ctx.clock()) throw ceremonyRefused('expired_challenge');
  return { id: handle.subject.toString('base64url'), expires_at: handle.value };
}

/** Spends a challenge: true for exactly one caller, once its transaction commits. */
export const spendChallenge = async (on: Executor, challenge: Challenge): Promise<boolean> =>
  (await store.spendChallenge(on, challenge)).length > 0;

/**
 * Runs a ceremony that spends its challenge when it succeeds, and spends it when the ceremony is refused. A ceremony
 * with a spent challenge gets the error of a replay, whatever else is wrong with it.
 */
export async function spendingOnRefusal<T>(ctx: Context, challenge: Challenge, ceremony: () => Promise<T>) {
  try {
    return await ceremony();
  } catch (error) {
    if (!(error instanceof AuthError) || error.status >= 500) throw error;
    throw (await spendChallenge(ctx.db.single, challenge)) ? error : ceremonyRefused('replay');
  }
}
