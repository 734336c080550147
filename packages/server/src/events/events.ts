import type { Context, Requester } from '../context.ts';
import { newId } from '../crypto/random.ts';
import type { Executor } from '../database/executor.ts';
import { insertEvent } from './store.ts';

export type EventType =
  | 'account_created'
  | 'login'
  | 'device_approved'
  | 'device_denied'
  | 'passkey_added'
  | 'passkey_removed'
  | 'passkey_renamed'
  | 'passkey_clone_suspected'
  | 'refresh_race'
  | 'refresh_retry'
  | 'refresh_theft'
  | 'session_revoked'
  | 'all_sessions_revoked'
  | 'session_disowned'
  | 'profile_changed'
  | 'email_change_requested'
  | 'email_changed'
  | 'email_change_undone'
  | 'limit_reached'
  | 'account_disabled'
  | 'account_enabled';

export interface Event {
  readonly type: EventType;
  readonly userId: string;
  readonly sessionId?: string;
  readonly requester?: Requester;
  readonly detail?: Readonly<Record<string, string>>;
}

/** Writes what happened into the security log of the account, in the transaction of its cause. */
export async function recordEvent(ctx: Context, tx: Executor, event: Event): Promise<void> {
  await insertEvent(tx, {
    id: newId('evt_', ctx.random),
    user_id: event.userId,
    type: event.type,
    session_id: event.sessionId ?? null,
    ip_address: event.requester?.ipAddress ?? null,
    user_agent: event.requester?.userAgent ?? null,
    detail: event.detail ? JSON.stringify(event.detail) : null,
    created_at: ctx.clock(),
  });
}
