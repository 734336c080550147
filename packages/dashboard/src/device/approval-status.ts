import type { Event } from '@latchkey/contract/events';
import { listEventsSince, type Problem } from '../api.ts';

const pauseMilliseconds = 2_000;

/** How often a look that nothing came of is repeated once the time of the code is over. */
const looksAfterEnd = 5;

/** By how much the clocks of two nodes of the service may disagree. */
const clockSkewMilliseconds = 60_000;

/** A device login that was approved on this page. */
export interface Approval {
  /** Who approved it. */
  readonly userId: string;
  /** The login that it leads to; null where an earlier release of the service does not say. */
  readonly sessionId: string | null;
  /** When the device asked, by the clock of the service. */
  readonly requestedAt: string;
  /** When the code is over, by the clock of this browser, in milliseconds since 1970. */
  readonly until: number;
}

/** What this browser knows of what has become of an approval. */
export type ApprovalStatus =
  | 'waiting'
  | 'noAnswer'
  | 'pickedUp'
  | 'endedSince'
  | 'takenBack'
  | 'notPickedUp'
  | 'signedOut'
  | 'somebodyElse'
  | 'unseen';

/**
 * Shows what becomes of an approval, until nothing more can come of it: the terminal has its login, or the time of
 * the code is over, or this browser is no longer signed in as who approved. A lost answer or a full server is only
 * a reason to ask again. Nothing is asked while nobody sees the page.
 */
export async function watchApproval(approval: Approval, show: (now: ApprovalStatus) => void): Promise<void> {
  const { sessionId, until } = approval;
  if (sessionId === null) return show('unseen');
  show('waiting');
  let before: ApprovalStatus | undefined;
  for (let looksLeft = looksAfterEnd; looksLeft > 0; ) {
    await untilVisible();
    const isOver = Date.now() >= until;
    const { sees, retryAfterSeconds = 0 } = await look(approval, sessionId);
    if (isFinal(sees)) return show(sees);
    if (sees === 'waiting' && isOver) return show('notPickedUp');
    // Once may be the moment in which another tab puts a fresh login in the place of this one.
    if ((sees === 'signedOut' || sees === 'somebodyElse') && sees === before) return show(sees);
    if (sees === 'waiting' || sees === 'noAnswer') show(sees);
    if (isOver) looksLeft--;
    before = sees;
    await pause(Math.max(pauseMilliseconds, retryAfterSeconds * 1000));
  }
  show('unseen');
}

const isFinal = (sees: ApprovalStatus) => ['pickedUp', 'endedSince', 'takenBack', 'unseen'].includes(sees);

interface Look {
  readonly sees: ApprovalStatus;
  readonly retryAfterSeconds?: number | undefined;
}

const ends: ReadonlySet<Event['type']> = new Set(['session_revoked', 'session_disowned', 'refresh_theft']);

/** Looks in the security log, which also knows a login that was signed out as soon as it began. */
async function look({ requestedAt }: Approval, sessionId: string): Promise<Look> {
  const log = await listEventsSince(Date.parse(requestedAt) - clockSkewMilliseconds);
  if (!log.ok) return seesNothing(log.problem);
  const events = log.value.events.filter(({ session_id }) => session_id === sessionId);
  if (events.some(({ detail }) => detail['reason'] === 'withdrawn')) return { sees: 'takenBack' };
  if (events.some(({ type }) => ends.has(type))) return { sees: 'endedSince' };
  if (events.length > 0) return { sees: 'pickedUp' };
  return { sees: log.value.isWhole ? 'waiting' : 'unseen' };
}

function seesNothing({ code, retryAfterSeconds }: Problem): Look {
  if (code === 'invalid_token') return { sees: 'signedOut' };
  if (code === 'somebody_else') return { sees: 'somebodyElse' };
  return { sees: 'noAnswer', retryAfterSeconds };
}

const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

function untilVisible(): Promise<void> {
  if (document.visibilityState === 'visible') return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener('visibilitychange', () => resolve(), { once: true });
  });
}
