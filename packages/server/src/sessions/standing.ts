/** A session and its account, as far as they decide whether a login still stands. */
export interface SessionState {
  readonly session_epoch: number;
  readonly user_epoch: number;
  readonly disabled_at: number | null;
  readonly revoked_at: number | null;
  readonly idle_expires_at: number;
}

/** Whether a login may still be continued; a disabled account is told apart, since its owner may be told so. */
export function standingOf(state: SessionState, now: number): 'live' | 'disabled' | 'over' {
  if (state.disabled_at !== null) return 'disabled';
  if (state.revoked_at !== null || state.session_epoch !== state.user_epoch) return 'over';
  return state.idle_expires_at > now ? 'live' : 'over';
}
