import type { Caller, Context } from '../platform/context.ts';
import { AuthError, bearerChallenge } from '../platform/errors.ts';

/**
 * Requires a browser session whose sign-in is recent.
 * @throws {AuthError} `insufficient_user_authentication`
 * @see RFC 9470 section 3
 */
export function requireRecentSignIn(ctx: Context, caller: Caller): void {
  const { recentLoginTtlSeconds } = ctx.config;
  if (!isSignedInWithin(ctx, caller, recentLoginTtlSeconds)) throw signInRequired(recentLoginTtlSeconds);
}

/** Whether the caller is a browser session whose sign-in is at most this old. */
export const isSignedInWithin = (ctx: Context, caller: Caller, maxAgeSeconds: number): boolean =>
  caller.kind === 'browser' && ctx.clock() - caller.authenticatedAt <= maxAgeSeconds * 1000;

/** The error for a sign-in that is too old. */
export const signInRequired = (maxAgeSeconds: number): AuthError =>
  insufficientAuthentication('This operation requires a recent sign-in by passkey or email.', maxAgeSeconds);

/**
 * Refuses device sessions: some decisions belong to a person in a browser, not to a program.
 * @throws {AuthError} `insufficient_user_authentication`
 */
export function requireBrowserSession(ctx: Context, caller: Caller): void {
  if (caller.kind === 'browser') return;
  throw insufficientAuthentication(
    'This operation requires a session that was started in a browser.',
    ctx.config.recentLoginTtlSeconds,
  );
}

const insufficientAuthentication = (description: string, maxAge: number): AuthError =>
  new AuthError('insufficient_user_authentication', description, {
    headers: {
      'WWW-Authenticate': `${bearerChallenge}, error="insufficient_user_authentication", error_description="${description}", max_age="${maxAge}"`,
    },
  });
