import type { Approval } from './approval-status.ts';

/** What was decided on this page, and by whom. */
export type Decision =
  | ({ readonly decision: 'approve' } & Approval)
  | { readonly decision: 'deny'; readonly userId: string };

/**
 * Keeps a decision with the page's entry in the history of its tab, so that whoever reloads, or goes on and comes
 * back, is told what they were told before. It holds no secret, only ids. The entry gets the address of the code
 * that was decided about: without it, the address is that of a page for any other code.
 */
export const saveDecision = (made: Decision, address: string): void =>
  history.replaceState(made, '', address);

/** The decision kept with the page's entry, if it is of this user. */
export const recallDecision = (userId: string): Decision | undefined => parseDecision(history.state, userId);

/** @see recallDecision */
export function parseDecision(state: unknown, userId: string): Decision | undefined {
  if (typeof state !== 'object' || state === null) return undefined;
  const kept = state as Partial<Record<keyof Approval | 'decision', unknown>>;
  if (kept.userId !== userId) return undefined;
  if (kept.decision === 'deny') return { decision: 'deny', userId };
  const { decision, sessionId, requestedAt, until } = kept;
  if (decision !== 'approve' || !(typeof sessionId === 'string' || sessionId === null)) return undefined;
  if (typeof requestedAt !== 'string' || Number.isNaN(Date.parse(requestedAt))) return undefined;
  if (typeof until !== 'number') return undefined;
  return { decision, userId, sessionId, requestedAt, until };
}
