// What clients and services saw of sessions and of the feed: operations with their answers. All times are milliseconds by one monotonic clock.

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

export interface History {
  readonly sessions: readonly StartedSession[];
  readonly tokens: readonly IssuedToken[];
  readonly ends: readonly End[];
  readonly verifications: readonly Verification[];
  /** In the order of the answers. */
  readonly readings: readonly Reading[];
  /** The `jti` of every event that was committed after all readers had begun, in the order of the feed. */
  readonly feed: readonly string[];
}
