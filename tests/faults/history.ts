// What clients saw while faults came and went. All times are milliseconds by one monotonic clock.

/** How sessions end. */
export type Ending = 'own' | 'form' | 'all' | 'theft';

/** A session or run that was started. */
export interface StartedSession {
  readonly id: number;
  readonly account: number;
  /** Itself and the sessions that it is within, nearest first. */
  readonly path: readonly number[];
  readonly sentAt: number;
  readonly answeredAt: number;
}

export interface IssuedToken {
  readonly id: number;
  readonly session: number;
}

/** An operation that ends one session with everything within it, or all sessions of an account. */
export interface End {
  readonly how: Ending;
  readonly account: number;
  /** Undefined if it ends all sessions of the account. */
  readonly session: number | undefined;
  readonly sentAt: number;
  /** Undefined if the answer was lost: then it may have happened or not. */
  readonly answeredAt: number | undefined;
}

/** A token presented to a node, or to a service that verifies it with the feed. */
export interface Verification {
  readonly by: 'node' | 'service';
  readonly name: string;
  readonly token: number;
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly isAccepted: boolean;
}

/** An answer of the feed to a reader. */
export interface Reading {
  readonly reader: string;
  /** The `jti` of its events, in their order. */
  readonly events: readonly string[];
}

/** What was seen of sessions and of the feed. */
export interface SessionHistory {
  readonly sessions: readonly StartedSession[];
  readonly tokens: readonly IssuedToken[];
  readonly ends: readonly End[];
  readonly verifications: readonly Verification[];
  /** In the order of the answers. */
  readonly readings: readonly Reading[];
  /** The `jti` of every event that was committed after all readers had begun, in the order of the feed. */
  readonly feed: readonly string[];
}

/** When a request was sent, and when its answer came or its client gave up. */
interface Timed {
  readonly sentAt: number;
  readonly endedAt: number;
}

/** What came back: a result, a refusal by which nothing has changed, or nothing that tells whether it happened. */
export type Outcome = 'done' | 'refused' | 'unknown';

/** Something that works once, presented to a node. */
export interface Redemption extends Timed {
  /** A device code, an assertion, or an email with its link and its code. */
  readonly credential: string;
  /** Credentials of one group void each other: those of one device or of one email address. */
  readonly group: string;
  readonly node: string;
  /** A repetition with the same key may get the same result again. */
  readonly idempotencyKey: string | undefined;
  readonly outcome: Outcome;
  /** What the answer contained, if it is done. */
  readonly result: string | undefined;
}

/** A refresh token presented to a node. */
export interface Refresh extends Timed {
  readonly refreshToken: string;
  readonly node: string;
  readonly idempotencyKey: string;
  readonly outcome: Outcome;
  readonly successor: string | undefined;
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

/** A request that counted against a budget and was carried out. */
export interface Spending extends Timed {
  readonly budget: string;
  /** Whose budget it is. */
  readonly key: string;
}

export interface Budget {
  readonly quota: number;
  readonly windowMs: number;
}

/** One fault, from its start until everything worked again. */
export interface FaultSpan {
  readonly name: string;
  /** Whether the service may have been unable to note that it had sent an email. */
  readonly mayRepeatMails: boolean;
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface FaultHistory {
  /** Sessions, their ends, and every token presented, including refresh tokens. */
  readonly sessions: SessionHistory;
  readonly redemptions: readonly Redemption[];
  readonly refreshes: readonly Refresh[];
  readonly writes: readonly Write[];
  readonly reads: readonly Read[];
  readonly promisedMails: readonly PromisedMail[];
  readonly deliveries: readonly Delivery[];
  readonly spendings: readonly Spending[];
  readonly budgets: Readonly<Record<string, Budget>>;
  readonly faults: readonly FaultSpan[];
  /** What `events verify` says about the security log, if it is not whole. */
  readonly logDefects: readonly string[];
}
