import type { FeedAnswer } from '@latchkey/contract/feed';
import { checkedAnswer, isNumber, objectWith } from '../answers.ts';
import type { Api } from '../api.ts';
import { aborted, type Clock } from '../clock.ts';
import type { LatchkeyError } from '../errors.ts';
import { operations } from '../operations.ts';
import { readEvent } from './events.ts';
import type { KeptAnswers } from './kept-answers.ts';

/** If the feed lags further, the cache is bypassed. */
const maxFeedAgeMs = 2_000;

/** The service says once that it forgot a reader, after 10 minutes. That may get lost, so begin before. */
const maxGapMs = 300_000;

/** How long the feed is read after the last verification. An idle process can end. */
const idleMs = 60_000;

/** The longest wait that a service can be set to. */
const maxServerWaitMs = 20_000;
const maxEvents = 500;
const minPauseMs = 100;
const maxPauseMs = 2_000;
const maxRetryAfterMs = 60_000;

/** How long after a refusal the right to read the feed is tried again. */
const refusedPauseMs = 60_000;

interface FeedOptions {
  readonly api: Api;
  readonly authorization: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly monotonic: () => number;
  readonly kept: KeptAnswers;
  readonly onError: (error: LatchkeyError) => void;
}

/**
 * Reads the feed of the service while the verifier is in use. `following` after the first answer, so that from then on no
 * event is missed; `refused` if the service key lacks the right, or the service has no feed.
 */
export function openFeed({ api, authorization, timeoutMs, clock, monotonic, kept, onError }: FeedOptions) {
  /** Each process reads for itself. */
  let reader = crypto.randomUUID();
  let state: 'starting' | 'following' | 'refused' = 'starting';
  let acknowledged: string[] = [];
  let unreadable: string[] = [];
  /** Every event committed before these moments has been applied, by the monotonic and by the machine's clock. */
  let completeUntil = never;
  let usedAt = 0;
  let isReading = false;
  const closed = new AbortController();
  const { signal } = closed;

  /** How stale the kept answers may be: the time since the last moment up to which every event is known. */
  const ageMs = (): number =>
    // The monotonic clock may stop while the machine sleeps, and the other one may be set back.
    Math.max(monotonic() - completeUntil.monotonic, clock.now() - completeUntil.clock);

  const interrupt = (): void => {
    completeUntil = never;
    kept.dropAll();
  };

  const beginAnew = (): void => {
    interrupt();
    state = 'starting';
    reader = crypto.randomUUID();
    [acknowledged, unreadable] = [[], []];
  };

  const apply = (jti: string, token: unknown): void => {
    const event = readEvent(token);
    if (event) kept.apply(event);
    // It could concern any cached answer.
    else kept.dropAll();
    (event ? acknowledged : unreadable).push(jti);
  };

  /** Returns how many events came. */
  const readOnce = async (): Promise<number> => {
    if (state === 'following' && ageMs() > maxGapMs) beginAnew();
    const sent = { monotonic: monotonic(), clock: clock.now() };
    const request = {
      reader,
      maxEvents,
      // Until the first answer nothing is kept.
      returnImmediately: state !== 'following',
      ack: acknowledged,
      setErrs: Object.fromEntries(unreadable.map((jti) => [jti, { err: 'invalid_request' }])),
    };
    const init = {
      method: 'POST',
      headers: { Authorization: authorization, 'Content-Type': 'application/json' },
      body: JSON.stringify(request),
      signal,
    };
    const { body } = await api.send(operations.readFeed.path, init, timeoutMs + maxServerWaitMs);
    const answer = checkedAnswer<ReadAnswer>(body, isFeedAnswer, 'The answer of the feed is incomplete.');
    // Nothing is known of a moment that had not come when the answer was sent.
    const after = Math.min(answer.after, monotonic() - sent.monotonic);
    if (signal.aborted) throw aborted(signal);
    if (answer.begun || state !== 'following') interrupt();
    [acknowledged, unreadable] = [[], []];
    for (const [jti, token] of Object.entries(answer.sets)) apply(jti, token);
    completeUntil = { monotonic: sent.monotonic + after, clock: sent.clock + after };
    state = 'following';
    return Object.keys(answer.sets).length;
  };

  const pauseAfter = ({ code, retryAfterSeconds = 0 }: LatchkeyError, failures: number): number => {
    if (code === 'gone') beginAnew();
    if (code === 'unauthorized_client' || code === 'not_found') {
      interrupt();
      state = 'refused';
      return refusedPauseMs;
    }
    const pause = Math.min(minPauseMs * 2 ** failures, maxPauseMs);
    return Math.max(pause, Math.min(retryAfterSeconds * 1000, maxRetryAfterMs));
  };

  const read = async (): Promise<void> => {
    const pause = (ms: number) => clock.sleep(Math.max(ms, 0), signal).catch(() => undefined);
    for (let failures = 0; !signal.aborted && monotonic() - usedAt < idleMs; ) {
      try {
        const startedAt = monotonic();
        const events = await readOnce();
        failures = 0;
        // A service may be set not to wait.
        if (events === 0) await pause(minPauseMs - (monotonic() - startedAt));
      } catch (error) {
        if (signal.aborted) return;
        failures++;
        // The requests throw nothing else.
        const failure = error as LatchkeyError;
        onError(failure);
        await pause(pauseAfter(failure, failures));
      }
    }
  };

  return {
    ageMs,
    state: () => state,
    isFresh: (): boolean => state === 'following' && ageMs() <= maxFeedAgeMs,
    /** Reads the feed from now on, if it is not being read already. */
    use(): void {
      usedAt = monotonic();
      if (isReading || signal.aborted) return;
      isReading = true;
      void read().finally(() => {
        isReading = false;
      });
    },
    close(): void {
      closed.abort();
      beginAnew();
    },
  };
}

const never = { monotonic: Number.NEGATIVE_INFINITY, clock: Number.NEGATIVE_INFINITY };

/** A set that is no text counts as one that cannot be read: it must not keep the others from being read. */
interface ReadAnswer extends Pick<FeedAnswer, 'after' | 'begun'> {
  readonly sets: Readonly<Record<string, unknown>>;
}

const isFeedAnswer = objectWith({ sets: objectWith({}), after: isNumber });
