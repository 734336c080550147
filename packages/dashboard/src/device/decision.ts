import type { Approval } from './approval-status.ts';

/** A decision made on this page, and the user who made it. */
export type Decision =
  | ({ readonly decision: 'approve' } & Approval)
  | { readonly decision: 'deny'; readonly userId: string };

/**
 * Stores a decision in the page's history entry, so that reloading or coming back shows its outcome again. It holds
 * only ids, no secrets. `path` must include the code: `/device` without one is the page for entering any code.
 */
export const saveDecision = (decision: Decision, path: string): void =>
  history.replaceState(decision, '', path);

/** The decision in the state of a history entry, if this user made it. */
export function recallDecision(state: unknown, userId: string): Decision | undefined {
  if (typeof state !== 'object' || state === null) return undefined;
  const stored = state as Partial<Record<keyof Approval | 'decision', unknown>>;
  if (stored.userId !== userId) return undefined;
  if (stored.decision === 'deny') return { decision: 'deny', userId };
  const { decision, sessionId, requestedAt, until } = stored;
  if (decision !== 'approve' || typeof sessionId !== 'string') return undefined;
  if (typeof requestedAt !== 'string' || Number.isNaN(Date.parse(requestedAt))) return undefined;
  if (typeof until !== 'number') return undefined;
  return { decision, userId, sessionId, requestedAt, until };
}
