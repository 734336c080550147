import type { Executor } from '../platform/database/executor.ts';
import { type AuthError, accountDisabled, invalidGrant } from '../platform/errors.ts';
import * as store from './store.ts';

/** The columns of a session and its account that decide its status. */
export interface SessionState {
  readonly session_epoch: number;
  /** The epoch of the account; null while the account is disabled. */
  readonly user_epoch: number | null;
  readonly revoked_at: number | null;
  readonly idle_expires_at: number;
  /** For a run, the earliest end of the run and its ancestors. Null for sign-ins and keys. */
  readonly path_ends_at: number | null;
}

export type SessionStatus = 'active' | 'disabled' | 'ended';

/**
 * The status of a session at `now`. It ends at its idle timeout unless the caller names another end, and with its
 * ancestors. A disabled account has a status of its own because its owner may learn that it is disabled.
 */
export function sessionStatus(
  state: SessionState,
  now: number,
  endsAt: number = state.idle_expires_at,
): SessionStatus {
  if (state.user_epoch === null) return 'disabled';
  if (state.revoked_at !== null || state.session_epoch !== state.user_epoch) return 'ended';
  if (state.path_ends_at !== null && state.path_ends_at <= now) return 'ended';
  return endsAt > now ? 'active' : 'ended';
}

/** Why no session of an account could be started. */
export async function whyNotStarted(tx: Executor, userId: string): Promise<AuthError> {
  const [account] = await store.findAccountState(tx, { id: userId });
  if (account && account.disabled_at !== null) return accountDisabled();
  return invalidGrant('This sign-in was revoked before it was completed.')('ended');
}
