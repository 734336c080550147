/** A session and its account, as far as they decide whether a login still stands. */
export interface SessionState {
  readonly session_epoch: number;
  /** Of the account; null while it is disabled. */
  readonly user_epoch: number | null;
  readonly revoked_at: number | null;
  readonly idle_expires_at: number;
}

/**
 * Whether a login may still be continued, until it idles out or another end; a disabled account is told apart,
 * since its owner may be told so.
 */
export function sessionStatus(
  state: SessionState,
  now: number,
  endsAt: number = state.idle_expires_at,
): 'live' | 'disabled' | 'over' {
  if (state.user_epoch === null) return 'disabled';
  if (state.revoked_at !== null || state.session_epoch !== state.user_epoch) return 'over';
  return endsAt > now ? 'live' : 'over';
}
