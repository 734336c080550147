// Records the history while it happens, and knows which tokens are worth verifying at the moment.

import type { Random } from '../support/random.ts';
import type {
  End,
  Ending,
  IssuedToken,
  Reading,
  SessionHistory,
  StartedSession,
  Verification,
} from './history.ts';

/** How long an ended token is still verified: longer than a service may remember it. */
const watchedAfterEndMs = 3_500;
/** How many tokens of sessions that have not ended are verified. */
const maxWatched = 80;

/** A token with the text that clients present. */
export interface LiveToken extends IssuedToken {
  readonly text: string;
}

interface Watched extends LiveToken {
  readonly path: readonly number[];
  readonly account: number;
  endedAt: number | undefined;
}

/** How a verification ended; unknown if it got no answer. */
export type Outcome = 'accepted' | 'refused' | 'unknown';

export class Recorder {
  readonly #sessions: StartedSession[] = [];
  readonly #tokens: IssuedToken[] = [];
  readonly #ends: End[] = [];
  readonly #verifications: Verification[] = [];
  readonly #readings: Reading[] = [];
  #watched: Watched[] = [];

  readonly now = (): number => performance.now();

  started(account: number, parent: readonly number[], sentAt: number): StartedSession {
    const id = this.#sessions.length + 1;
    const session = { id, account, path: [id, ...parent], sentAt, answeredAt: this.now() };
    this.#sessions.push(session);
    return session;
  }

  issued({ id: session, path, account }: StartedSession, text: string): LiveToken {
    const token = { id: this.#tokens.length + 1, session };
    this.#tokens.push(token);
    this.#watched.push({ ...token, text, path, account, endedAt: undefined });
    return { ...token, text };
  }

  /** Sends an operation that ends sessions. `send` resolves with whether it was done; if it fails, that is unknown. */
  async ending(
    how: Ending,
    account: number,
    session: number | undefined,
    send: () => Promise<boolean>,
  ): Promise<void> {
    const sentAt = this.now();
    const add = (answeredAt: number | undefined) => {
      this.#ends.push({ how, account, session, sentAt, answeredAt });
      if (answeredAt === undefined) return;
      for (const token of this.#watched)
        if (session === undefined ? token.account === account : token.path.includes(session))
          token.endedAt ??= answeredAt;
    };
    try {
      if (await send()) add(this.now());
    } catch {
      add(undefined);
    }
  }

  verified(verification: Omit<Verification, 'isAccepted' | 'answeredAt'>, outcome: Outcome): void {
    if (outcome === 'unknown') return;
    this.#verifications.push({
      ...verification,
      answeredAt: this.now(),
      isAccepted: outcome === 'accepted',
    });
  }

  read(reading: Reading): void {
    this.#readings.push(reading);
  }

  /** Tokens that ended lately. Forgets those that ended before, and the oldest of the others. */
  ended(): readonly LiveToken[] {
    const since = this.now() - watchedAfterEndMs;
    this.#watched = this.#watched.filter(({ endedAt }) => (endedAt ?? since) >= since);
    const others = this.#watched.filter(({ endedAt }) => endedAt === undefined);
    const forgotten = new Set(others.slice(0, Math.max(0, others.length - maxWatched)));
    if (forgotten.size > 0) this.#watched = this.#watched.filter((token) => !forgotten.has(token));
    return this.#watched.filter(({ endedAt }) => endedAt !== undefined);
  }

  /** Some tokens, as far as anybody knows active. */
  some(random: Random, count: number): LiveToken[] {
    const live = this.#watched.filter(({ endedAt }) => endedAt === undefined);
    if (live.length === 0) return [];
    return [...new Set(Array.from({ length: count }, () => random.pick(live)))];
  }

  history(feed: readonly string[]): SessionHistory {
    return {
      sessions: this.#sessions,
      tokens: this.#tokens,
      ends: this.#ends,
      verifications: this.#verifications,
      readings: this.#readings,
      feed,
    };
  }
}
