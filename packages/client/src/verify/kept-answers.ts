import type { ActiveToken, Verification } from '../active-token.ts';
import type { Clock } from '../clock.ts';
import type { FeedEvent } from './events.ts';

/** Asking again from time to time keeps the list of a user's sessions right about when they were last used. */
const maxAgeMilliseconds = 300_000;

interface KeptAnswer {
  readonly token: ActiveToken;
  /** By the monotonic clock, since the other one may be set back. */
  readonly until: number;
}

/** A question that is under way. */
export interface Question {
  /** The users of the events that came meanwhile. */
  readonly touchedUsers: Set<string>;
  /** Events may have been missed meanwhile. */
  hasGap: boolean;
  /** It was asked while the feed was followed, so no event after it is missed. */
  readonly isFollowed: boolean;
}

/** Whether nothing is known to have happened since the question was asked, so that later callers may use its answer. */
export const isShareable = ({ touchedUsers, hasGap }: Question): boolean =>
  touchedUsers.size === 0 && !hasGap;

interface KeptOptions {
  /** The least recently used answer is dropped first. */
  readonly maxEntries: number;
  readonly clock: Pick<Clock, 'now'>;
  readonly monotonic: () => number;
}

/** Active tokens by their hash, until they expire or the feed says that they ended. */
export class KeptAnswers {
  readonly #options: KeptOptions;
  /** Least recently used first. */
  readonly #answers = new Map<string, KeptAnswer>();
  readonly #byUser = new Map<string, Set<string>>();
  readonly #questions = new Set<Question>();
  #kept = 0;
  #dropped = 0;

  constructor(options: KeptOptions) {
    this.#options = options;
  }

  /** How many answers were kept so far, and how many of them were dropped because of the feed. */
  get counts(): { readonly kept: number; readonly dropped: number; readonly size: number } {
    return { kept: this.#kept, dropped: this.#dropped, size: this.#answers.size };
  }

  get(key: string): ActiveToken | undefined {
    const { clock, monotonic } = this.#options;
    const answer = this.#answers.get(key);
    if (!answer) return undefined;
    const { token, until } = answer;
    // The monotonic clock may stop while the machine sleeps.
    if (monotonic() >= until || clock.now() >= token.exp * 1000) {
      this.#remove(key, answer);
      return undefined;
    }
    this.#answers.delete(key);
    this.#answers.set(key, answer);
    return token;
  }

  /** Call it before introspecting a token. */
  ask(isFollowed: boolean): Question {
    const question = { touchedUsers: new Set<string>(), hasGap: false, isFollowed };
    this.#questions.add(question);
    return question;
  }

  /** Keeps the answer, unless something happened to its user while the question was under way. */
  settle(question: Question, key: string, answer: Verification | undefined): void {
    this.#questions.delete(question);
    const earlier = this.#answers.get(key);
    if (answer && earlier) this.#remove(key, earlier);
    // The feed reports no ends of tokens that services have for themselves, which have no session.
    if (!answer?.active || answer.sid === undefined || !answer.sub.startsWith('usr_')) return;
    const { touchedUsers, hasGap, isFollowed } = question;
    if (!isFollowed || hasGap || touchedUsers.has(answer.sub)) return;
    const { clock, monotonic } = this.#options;
    const lasts = Math.min(answer.exp * 1000 - clock.now(), maxAgeMilliseconds);
    this.#add(key, { token: answer, until: monotonic() + lasts });
    this.#kept++;
    const oldest =
      this.#answers.size > this.#options.maxEntries ? this.#answers.entries().next().value : undefined;
    if (oldest) this.#remove(...oldest);
  }

  /** Drops what an event ends or changes. */
  apply({ user, endedSession, isAboutUser }: FeedEvent): void {
    for (const { touchedUsers } of this.#questions) touchedUsers.add(user);
    for (const key of [...(this.#byUser.get(user) ?? [])]) {
      const answer = this.#answers.get(key)!;
      const { sid, within = [] } = answer.token;
      const hasEnded = endedSession !== undefined && (sid === endedSession || within.includes(endedSession));
      if (!isAboutUser && !hasEnded) continue;
      this.#remove(key, answer);
      this.#dropped++;
    }
  }

  /** Drops everything, because events may have been missed. */
  dropAll(): void {
    for (const question of this.#questions) question.hasGap = true;
    this.#dropped += this.#answers.size;
    this.#answers.clear();
    this.#byUser.clear();
  }

  #add(key: string, answer: KeptAnswer): void {
    const { sub } = answer.token;
    this.#answers.set(key, answer);
    this.#byUser.set(sub, (this.#byUser.get(sub) ?? new Set()).add(key));
  }

  #remove(key: string, { token }: KeptAnswer): void {
    this.#answers.delete(key);
    const keys = this.#byUser.get(token.sub);
    keys?.delete(key);
    if (keys?.size === 0) this.#byUser.delete(token.sub);
  }
}
