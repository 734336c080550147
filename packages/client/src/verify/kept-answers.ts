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
  /** The time of the service, which decides when a token expires. */
  readonly now: () => number;
  readonly clock: Pick<Clock, 'now'>;
  readonly monotonic: () => number;
}

export type KeptAnswers = ReturnType<typeof keepAnswers>;

/** Answers by the hash of their token, so a dump reveals none: for seconds, or until the feed ends them. */
export function keepAnswers({ maxEntries, now, clock, monotonic }: KeptOptions) {
  /** Least recently used first. */
  const answers = new Map<string, KeptAnswer>();
  const byUser = new Map<string, Set<string>>();
  const questions = new Set<Question>();
  let kept = 0;
  let dropped = 0;

  const remove = (key: string, { answer }: KeptAnswer): void => {
    answers.delete(key);
    if (!answer.active) return;
    const keys = byUser.get(answer.sub);
    keys?.delete(key);
    if (keys?.size === 0) byUser.delete(answer.sub);
  };

  return {
    /** How many answers were kept so far, and how many of them were dropped because of the feed. */
    counts: () => ({ kept, dropped, size: answers.size }),
    get(key: string): Verification | undefined {
      const found = answers.get(key);
      if (!found) return undefined;
      const time = clock.now();
      if (time < found.from || time >= found.until || monotonic() >= found.monotonicUntil) {
        remove(key, found);
        return undefined;
      }
      answers.delete(key);
      answers.set(key, found);
      return found.answer;
    },
    /** Call it before introspecting a token. */
    ask(isFollowed: boolean): Question {
      const askedAt = { clock: clock.now(), monotonic: monotonic() };
      const question = { askedAt, touchedUsers: new Set<string>(), hasGap: false, isFollowed };
      questions.add(question);
      return question;
    },
    ageMs: ({ askedAt }: Question): number =>
      Math.max(monotonic() - askedAt.monotonic, clock.now() - askedAt.clock),
    /** Keeps the answer for `seconds`; without them until the feed ends it, if its user is unchanged. */
    settle(question: Question, key: string, answer: Verification | undefined, seconds?: number): void {
      questions.delete(question);
      const earlier = answers.get(key);
      if (answer && earlier) remove(key, earlier);
      if (!answer || (seconds === undefined && !isFollowed(question, answer))) return;
      const { askedAt } = question;
      const left = answer.active ? answer.exp * 1000 - now() : Number.POSITIVE_INFINITY;
      const lasts = Math.min(left, seconds === undefined ? maxAgeMs : seconds * 1000);
      if (lasts <= 0) return;
      const from = seconds === undefined ? Number.NEGATIVE_INFINITY : askedAt.clock;
      const [until, monotonicUntil] = [askedAt.clock + lasts, askedAt.monotonic + lasts];
      answers.set(key, { answer, from, until, monotonicUntil });
      if (answer.active) byUser.set(answer.sub, (byUser.get(answer.sub) ?? new Set()).add(key));
      if (seconds === undefined) kept++;
      const oldest = answers.size > maxEntries ? answers.entries().next().value : undefined;
      if (oldest) remove(...oldest);
    },
    apply({ user, endedSession, isAboutUser }: FeedEvent): void {
      for (const { touchedUsers } of questions) touchedUsers.add(user);
      for (const key of [...(byUser.get(user) ?? [])]) {
        const found = answers.get(key)!;
        const { sid, within = [] } = found.answer as ActiveToken;
        const hasEnded =
          endedSession !== undefined && (sid === endedSession || within.includes(endedSession));
        if (!isAboutUser && !hasEnded) continue;
        remove(key, found);
        dropped++;
      }
    },
    /** Drops everything, because events may have been missed. */
    dropAll(): void {
      for (const question of questions) question.hasGap = true;
      dropped += answers.size;
      answers.clear();
      byUser.clear();
    },
  };
}

/** Whether no event that ends the answer can have been missed, and none came. Tokens that services have for themselves have no session, so the feed reports no ends of them. */
const isFollowed = ({ touchedUsers, hasGap, isFollowed }: Question, answer: Verification): boolean =>
  isFollowed &&
  !hasGap &&
  answer.active &&
  answer.sid !== undefined &&
  answer.sub.startsWith('usr_') &&
  !touchedUsers.has(answer.sub);
