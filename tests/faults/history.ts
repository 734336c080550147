// What clients saw while faults came and went. All times are milliseconds by one monotonic clock.

/** What came back: a result, a refusal by which nothing has changed, or nothing that tells whether it happened. */
export type Outcome = 'done' | 'refused' | 'unknown';

/** When a request was sent, and when its answer came or its client gave up. */
interface Timed {
  readonly sentAt: number;
  readonly endedAt: number;
}

/** A session or run that was started. */
export interface StartedSession extends Timed {
  readonly id: number;
  readonly account: number;
  /** Itself and the sessions that it is within, nearest first. */
  readonly path: readonly number[];
}

/** An operation that ends one session with everything within it, or all sessions of an account. It is not refused. */
export interface End extends Timed {
  readonly how: 'own' | 'form' | 'all' | 'theft';
  readonly account: number;
  /** Undefined if it ends all sessions of the account. */
  readonly session: number | undefined;
  readonly outcome: Outcome;
}

/** A token of a session, presented to a node, or to a service that verifies it with the feed. */
export interface Verification extends Timed {
  readonly by: 'node' | 'service';
  readonly name: string;
  readonly session: number;
  readonly isAccepted: boolean;
}

/** An answer of the feed to a reader. */
export interface Reading {
  readonly reader: string;
  /** The `jti` of its events, in their order. */
  readonly events: readonly string[];
}

/** Something that works once, presented to a node. */
export interface Redemption extends Timed {
  /** A device code, an assertion, a refresh token, or an email with its link and its code. */
  readonly credential: string;
  /** Credentials of one group void each other: those of one email address. Undefined for what may end by itself. */
  readonly group: string | undefined;
  readonly node: string;
  /** A repetition with the same key may get the same result again. */
  readonly idempotencyKey: string | undefined;
  readonly outcome: Outcome;
  /** What the answer contained, if it is done. */
  readonly result: string | undefined;
}

/** A change of a profile. The changes of one account are made one after the other, and numbered from 1. */
export interface Write extends Timed {
  readonly account: number;
  readonly version: number;
  readonly outcome: Outcome;
}

/** A profile with the number of its last change; 0 before the first. */
export interface Read extends Timed {
  readonly account: number;
  readonly node: string;
  readonly version: number;
}

/** An email that the service has promised to send. */
export interface PromisedMail {
  readonly id: string;
  readonly address: string;
  readonly sentAt: number;
}

/** An email that the mail server took responsibility for. */
export interface Delivery {
  /** The `Message-ID`: the same if the service sends an email again. */
  readonly messageId: string;
  /** The id of a promised email; undefined for any other email. */
  readonly id: string | undefined;
  readonly at: number;
}

/** The budgets that somebody tries to exceed, as their defaults are: `mails_by_pair` and `user_codes_by_user`. */
export const budgets = {
  'emails by pair': { quota: 5, windowMs: 900_000 },
  'user codes by user': { quota: 10, windowMs: 600_000 },
} as const;

/** A request that counted against a budget and was carried out. */
export interface Spending extends Timed {
  readonly budget: keyof typeof budgets;
  /** Whose budget it is. */
  readonly key: string;
}

/** One fault, from its start until everything worked again. */
export interface FaultSpan {
  readonly name: string;
  /** Whether the service may have been unable to note that it had sent an email. */
  readonly mayRepeatMails: boolean;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** What is recorded while clients ask. */
export class Records {
  readonly sessions: StartedSession[] = [];
  readonly ends: End[] = [];
  /** Every token presented, including refresh tokens. */
  readonly verifications: Verification[] = [];
  /** In the order of the answers. */
  readonly readings: Reading[] = [];
  readonly redemptions: Redemption[] = [];
  readonly writes: Write[] = [];
  readonly reads: Read[] = [];
  readonly promisedMails: PromisedMail[] = [];
  readonly spendings: Spending[] = [];
  readonly faults: FaultSpan[] = [];
}

export interface History extends Records {
  readonly deliveries: readonly Delivery[];
  /** The `jti` of every event that was committed after all readers had begun, in the order of the feed. */
  readonly feed: readonly string[];
  /** What `events verify` says about the security log, if it is not whole. */
  readonly logDefects: readonly string[];
}
