// Records what clients see, while it happens, and knows which tokens are worth verifying at the moment.

import { LatchkeyError } from '@latchkey/client/errors';
import type { Random } from '#support/random.ts';
import { type End, type Outcome, Records, type StartedSession } from './history.ts';

/** What a request came to, and when. */
export interface Seen<T> {
  readonly sentAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
  readonly result: T | undefined;
  /** The error code of a refusal, or of what kept the answer away. */
  readonly code: string | undefined;
}

/** A token of a session, as clients present it. */
export interface LiveToken {
  readonly session: StartedSession;
  readonly text: string;
}

interface Watched extends LiveToken {
  endedAt?: number;
}

/** How long an ended token is still verified: longer than a service may remember it. */
const watchedAfterEndMs = 3_500;
/** How many tokens of sessions that have not ended are verified. */
const maxWatched = 80;

/** An answer by which nothing has changed. Any other error leaves open whether the request was carried out. */
const isRefusal = ({ status = 0 }: LatchkeyError): boolean => status >= 400 && status < 500;

export class Recorder extends Records {
  /** How often each kind of operation came to each outcome. */
  readonly operations: Record<string, Record<Outcome, number>> = {};
  /** Answers that no fault excuses: the service must say 503 instead. */
  readonly serverErrors: string[] = [];
  /** Every token that was issued, for the end of the run. */
  readonly tokens: LiveToken[] = [];
  #watched: Watched[] = [];

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

  started(account: number, parent: readonly number[], sentAt: number): StartedSession {
    const id = this.sessions.length + 1;
    const session = { id, account, path: [id, ...parent], sentAt, endedAt: this.now() };
    this.sessions.push(session);
    return session;
  }

  issued(session: StartedSession, text: string): LiveToken {
    const token = { session, text };
    this.tokens.push(token);
    this.#watched.push({ ...token });
    return token;
  }

  /** Whether a node accepts a token of a session, by its answer. */
  verified(session: StartedSession, answer: Seen<unknown> & { readonly node: string }, isAccepted: boolean) {
    const { node: name, sentAt, endedAt } = answer;
    this.verifications.push({ by: 'node', name, session: session.id, sentAt, endedAt, isAccepted });
  }

  /** A request that ends sessions was answered, or its answer was lost. */
  ended(end: End): void {
    if (end.outcome === 'refused') return;
    this.ends.push(end);
    if (end.outcome === 'unknown') return;
    for (const token of this.#watched) {
      const { account, path } = token.session;
      if (end.session === undefined ? account === end.account : path.includes(end.session))
        token.endedAt ??= end.endedAt;
    }
  }

  /** Tokens that ended lately. Forgets those that ended before, and the oldest of the others. */
  watchedAfterEnd(): readonly LiveToken[] {
    const since = this.now() - watchedAfterEndMs;
    const ended = this.#watched.filter(({ endedAt = 0 }) => endedAt >= since);
    const others = this.#watched.filter(({ endedAt }) => endedAt === undefined).slice(-maxWatched);
    this.#watched = [...ended, ...others];
    return ended;
  }

  /** Some tokens, as far as anybody knows active. */
  someActive(random: Random, count: number): LiveToken[] {
    const active = this.#watched.filter(({ endedAt }) => endedAt === undefined);
    if (active.length === 0) return [];
    return [...new Set(Array.from({ length: count }, () => random.pick(active)))];
  }
}
