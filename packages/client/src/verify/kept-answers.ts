import type { ActiveToken, Verification } from '../active-token.ts';
import type { Clock } from '../clock.ts';
import type { FeedEvent } from './events.ts';

/** Asking again from time to time keeps the list of a user's sessions right about when they were last used. */
const maxAgeMs = 300_000;

interface KeptAnswer {
  readonly answer: Verification;
  /** By the machine's clock: it may be set back, which ends a result that is cached for seconds, but never stops. */
  readonly from: number;
  readonly until: number;
  readonly monotonicUntil: number;
}

/** A question that is under way. */
export interface Question {
  /** By the machine's clock, and by the monotonic one. */
  readonly askedAt: { readonly clock: number; readonly monotonic: number };
  /** The users of the events that came meanwhile. */
  readonly touchedUsers: Set<string>;
  /** Events may have been missed meanwhile. */
  hasGap: boolean;
  /** It was asked while the feed was followed, so no event after it is missed. */
  readonly isFollowed: boolean;
}

/** Whether nothing is known to have happened since the question was asked, so that later callers may use its answer. */
export const isUntouched = ({ touchedUsers, hasGap }: Question): boolean =>
  touchedUsers.size === 0 && !hasGap;

interface KeptOptions {
  /** The least recently used answer is dropped first. */
  readonly maxEntries: number;
  readonly clock: Pick<Clock, 'now'>;
  readonly monotonic: () => number;
}

/** Answers by the hash of their token, so a dump reveals none: for seconds, or until the feed ends them. */
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

  get(key: string): Verification | undefined {
    const { clock, monotonic } = this.#options;
    const kept = this.#answers.get(key);
    if (!kept) return undefined;
    const now = clock.now();
    if (now < kept.from || now >= kept.until || monotonic() >= kept.monotonicUntil) {
      this.#remove(key, kept);
      return undefined;
    }
    this.#answers.delete(key);
    this.#answers.set(key, kept);
    return kept.answer;
  }

  /** Call it before introspecting a token. */
  ask(isFollowed: boolean): Question {
    const { clock, monotonic } = this.#options;
    const askedAt = { clock: clock.now(), monotonic: monotonic() };
    const question = { askedAt, touchedUsers: new Set<string>(), hasGap: false, isFollowed };
    this.#questions.add(question);
    return question;
  }

  ageMs({ askedAt }: Question): number {
    const { clock, monotonic } = this.#options;
    return Math.max(monotonic() - askedAt.monotonic, clock.now() - askedAt.clock);
  }

  /** Keeps the answer for `seconds`; without them until the feed ends it, if its user is unchanged. */
  settle(question: Question, key: string, answer: Verification | undefined, seconds?: number): void {
    this.#questions.delete(question);
    const earlier = this.#answers.get(key);
    if (answer && earlier) this.#remove(key, earlier);
    if (!answer || (seconds === undefined && !isFollowed(question, answer))) return;
    const { clock, monotonic } = question.askedAt;
    const left = answer.active ? answer.exp * 1000 - clock : Number.POSITIVE_INFINITY;
    const lasts = Math.min(left, seconds === undefined ? maxAgeMs : seconds * 1000);
    if (lasts <= 0) return;
    const from = seconds === undefined ? Number.NEGATIVE_INFINITY : clock;
    this.#answers.set(key, { answer, from, until: clock + lasts, monotonicUntil: monotonic + lasts });
    if (answer.active) this.#byUser.set(answer.sub, (this.#byUser.get(answer.sub) ?? new Set()).add(key));
    if (seconds === undefined) this.#kept++;
    const isFull = this.#answers.size > this.#options.maxEntries;
    const oldest = isFull ? this.#answers.entries().next().value : undefined;
    if (oldest) this.#remove(...oldest);
  }

  apply({ user, endedSession, isAboutUser }: FeedEvent): void {
    for (const { touchedUsers } of this.#questions) touchedUsers.add(user);
    for (const key of [...(this.#byUser.get(user) ?? [])]) {
      const kept = this.#answers.get(key)!;
      const { sid, within = [] } = kept.answer as ActiveToken;
      const hasEnded = endedSession !== undefined && (sid === endedSession || within.includes(endedSession));
      if (!isAboutUser && !hasEnded) continue;
      this.#remove(key, kept);
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

  #remove(key: string, { answer }: KeptAnswer): void {
    this.#answers.delete(key);
    if (!answer.active) return;
    const keys = this.#byUser.get(answer.sub);
    keys?.delete(key);
    if (keys?.size === 0) this.#byUser.delete(answer.sub);
  }
}

/** Whether no event that ends the answer can have been missed, and none came. Tokens that services have for themselves have no session, so the feed reports no ends of them. */
const isFollowed = ({ touchedUsers, hasGap, isFollowed }: Question, answer: Verification): boolean =>
  isFollowed &&
  !hasGap &&
  answer.active &&
  answer.sid !== undefined &&
  answer.sub.startsWith('usr_') &&
  !touchedUsers.has(answer.sub);
