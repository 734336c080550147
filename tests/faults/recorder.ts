// Records what clients see, while it happens.

import { LatchkeyError } from '@latchkey/client/errors';
import type { ReceivedMail } from '../support/smtp.ts';
import type {
  Budget,
  FaultHistory,
  FaultSpan,
  Outcome,
  PromisedMail,
  Read,
  Redemption,
  Refresh,
  Spending,
  Write,
} from './history.ts';
import { deliveryOf } from './mails.ts';
import { type LiveToken, Recorder as SessionRecorder } from './session-recorder.ts';

/** What a request came to, and when. */
export interface Seen<T> {
  readonly sentAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
  readonly result: T | undefined;
  /** The error code of a refusal, or of what kept the answer away. */
  readonly code: string | undefined;
}

/** An answer by which nothing has changed. Any other error leaves open whether the request was carried out. */
const isRefusal = (error: LatchkeyError): boolean =>
  error.status !== undefined && error.status >= 400 && error.status < 500;

export class FaultRecorder {
  /** Sessions, their ends, and tokens that nodes accepted or refused. */
  readonly sessions = new SessionRecorder();
  readonly redemptions: Redemption[] = [];
  readonly refreshes: Refresh[] = [];
  readonly writes: Write[] = [];
  readonly reads: Read[] = [];
  readonly promisedMails: PromisedMail[] = [];
  readonly spendings: Spending[] = [];
  readonly faults: FaultSpan[] = [];
  /** How often each kind of operation came to each outcome. */
  readonly operations: Record<string, Record<Outcome, number>> = {};
  /** Answers that no fault excuses: the service must say 503 instead. */
  readonly serverErrors: string[] = [];
  /** Every token that was issued, for the end of the run. */
  readonly tokens: LiveToken[] = [];

  readonly now = (): number => performance.now();

  /** Sends a request, and counts what it came to. */
  async see<T>(kind: string, send: () => Promise<T>): Promise<Seen<T>> {
    const sentAt = this.now();
    const seen = (outcome: Outcome, result?: T, code?: string): Seen<T> => {
      this.operations[kind] ??= { done: 0, refused: 0, unknown: 0 };
      this.operations[kind][outcome] += 1;
      return { sentAt, endedAt: this.now(), outcome, result, code };
    };
    try {
      return seen('done', await send());
    } catch (error) {
      if (!(error instanceof LatchkeyError)) throw error;
      if (error.status === 500) this.serverErrors.push(`${kind}: ${error.requestId}`);
      return seen(isRefusal(error) ? 'refused' : 'unknown', undefined, error.code);
    }
  }

  /** What was seen, once the service has sent these emails, and its security log and its feed were read. */
  history(
    mails: readonly ReceivedMail[],
    budgets: Readonly<Record<string, Budget>>,
    logDefects: readonly string[],
    feed: readonly string[],
  ): FaultHistory {
    const { redemptions, refreshes, writes, reads, promisedMails, spendings, faults } = this;
    const deliveries = mails.filter(({ isCopy }) => !isCopy).map(deliveryOf);
    const sessions = this.sessions.history(feed);
    return {
      ...{ sessions, redemptions, refreshes, writes, reads, promisedMails, deliveries, spendings },
      ...{ budgets, faults, logDefects },
    };
  }
}
