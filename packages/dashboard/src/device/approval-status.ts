import type { Event } from '@latchkey/contract/events';
import type { listEventsSince } from '../api.ts';

const pollIntervalMs = 2_000;

/** How many polls follow after the code has expired, before giving up. */
const pollsAfterExpiry = 5;

/** Tolerated clock difference between two nodes of the service. */
const clockSkewMs = 60_000;

/** A device sign-in approved on this page. Kept in the history entry. */
export interface Approval {
  /** The session it will start. */
  readonly sessionId: string;
  /** When the device asked to sign in, by the service's clock. */
  readonly requestedAt: string;
  /** When the code expires, by this browser's clock, in milliseconds since 1970. */
  readonly until: number;
}

/** What this browser knows about an approved device sign-in. */
export type ApprovalStatus =
  | 'waiting'
  | 'unreachable'
  | 'deviceSignedIn'
  | 'sessionEnded'
  | 'withdrawn'
  | 'cancelled'
  | 'expired'
  | 'signedOut'
  | 'differentUser'
  | 'unknown';

/** What a watch depends on. */
export interface Watched {
  readonly listEventsSince: typeof listEventsSince;
  readonly untilVisible: () => Promise<void>;
  readonly pause: (ms: number) => Promise<void>;
}

/**
 * Polls until the outcome of an approval is final: the device has signed in, the code has expired, or this browser is
 * no longer signed in as the approver. Retries after lost responses and rate limits. Pauses while the page is hidden.
 */
export async function watchApproval(
  approval: Approval,
  show: (status: ApprovalStatus) => void,
  { listEventsSince, untilVisible, pause }: Watched,
): Promise<void> {
  show('waiting');
  let previous: ApprovalStatus | undefined;
  for (let pollsLeft = pollsAfterExpiry; pollsLeft > 0; ) {
    await untilVisible();
    const isExpired = Date.now() >= approval.until;
    const { status, retryAfterSeconds = 0 } = await poll(approval, listEventsSince);
    if (isFinal(status)) return show(status);
    if (status === 'waiting' && isExpired) return show('expired');
    // A single occurrence may be the moment in which another tab replaces this browser's session.
    if ((status === 'signedOut' || status === 'differentUser') && status === previous) return show(status);
    if (status === 'waiting' || status === 'unreachable') show(status);
    if (isExpired) pollsLeft--;
    previous = status;
    await pause(Math.max(pollIntervalMs, retryAfterSeconds * 1000));
  }
  show('unknown');
}

const isFinal = (status: ApprovalStatus) =>
  ['deviceSignedIn', 'sessionEnded', 'withdrawn', 'cancelled', 'unknown'].includes(status);

interface Poll {
  readonly status: ApprovalStatus;
  readonly retryAfterSeconds?: number | undefined;
}

const endings: ReadonlySet<Event['type']> = new Set([
  'session_revoked',
  'session_disowned',
  'refresh_theft',
  'code_replayed',
]);

/** Reads the security log, which also shows a session that ended right after it started. */
async function poll(
  { requestedAt, sessionId }: Approval,
  listEvents: Watched['listEventsSince'],
): Promise<Poll> {
  const log = await listEvents(Date.parse(requestedAt) - clockSkewMs);
  if (!log.ok) {
    const { code, retryAfterSeconds } = log.problem;
    if (code === 'invalid_token') return { status: 'signedOut' };
    return code === 'somebody_else'
      ? { status: 'differentUser' }
      : { status: 'unreachable', retryAfterSeconds };
  }
  const events = log.value.events.filter(({ session_id }) => session_id === sessionId);
  if (events.some(({ detail }) => detail['reason'] === 'withdrawn')) return { status: 'withdrawn' };
  if (events.some(({ detail }) => detail['reason'] === 'cancelled')) return { status: 'cancelled' };
  if (events.some(({ type }) => endings.has(type))) return { status: 'sessionEnded' };
  if (events.length > 0) return { status: 'deviceSignedIn' };
  return { status: log.value.isComplete ? 'waiting' : 'unknown' };
}
