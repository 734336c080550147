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
export class Feed {
  readonly #options: FeedOptions;
  /** Each process reads for itself. */
  #reader = crypto.randomUUID();
  #state: 'starting' | 'following' | 'refused' = 'starting';
  #acknowledged: string[] = [];
  #unreadable: string[] = [];
  /** Every event committed before these moments has been applied, by the monotonic and by the machine's clock. */
  #completeUntil = { monotonic: Number.NEGATIVE_INFINITY, clock: Number.NEGATIVE_INFINITY };
  #usedAt = 0;
  #isReading = false;
  readonly #closed = new AbortController();

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  get state(): 'starting' | 'following' | 'refused' {
    return this.#state;
  }

  /** How stale the kept answers may be: the time since the last moment up to which every event is known. */
  get ageMs(): number {
    const { clock, monotonic } = this.#options;
    // The monotonic clock may stop while the machine sleeps, and the other one may be set back.
    return Math.max(monotonic() - this.#completeUntil.monotonic, clock.now() - this.#completeUntil.clock);
  }

  get isFresh(): boolean {
    return this.#state === 'following' && this.ageMs <= maxFeedAgeMs;
  }

  /** Reads the feed from now on, if it is not being read already. */
  use(): void {
    this.#usedAt = this.#options.monotonic();
    if (this.#isReading || this.#closed.signal.aborted) return;
    this.#isReading = true;
    void this.#read().finally(() => {
      this.#isReading = false;
    });
  }

  close(): void {
    this.#closed.abort();
    this.#beginAnew();
  }

  async #read(): Promise<void> {
    const { clock, monotonic, onError } = this.#options;
    const { signal } = this.#closed;
    const pause = (ms: number) => clock.sleep(Math.max(ms, 0), signal).catch(() => undefined);
    for (let failures = 0; !signal.aborted && monotonic() - this.#usedAt < idleMs; ) {
      try {
        const startedAt = monotonic();
        const events = await this.#readOnce(signal);
        failures = 0;
        // A service may be set not to wait.
        if (events === 0) await pause(minPauseMs - (monotonic() - startedAt));
      } catch (error) {
        if (signal.aborted) return;
        failures++;
        // The requests throw nothing else.
        const failure = error as LatchkeyError;
        onError(failure);
        await pause(this.#pauseAfter(failure, failures));
      }
    }
  }

  /** Returns how many events came. */
  async #readOnce(signal: AbortSignal): Promise<number> {
    const { api, authorization, clock, monotonic, timeoutMs } = this.#options;
    if (this.#state === 'following' && this.ageMs > maxGapMs) this.#beginAnew();
    const sent = { monotonic: monotonic(), clock: clock.now() };
    const [ack, unreadable] = [this.#acknowledged, this.#unreadable];
    const request = {
      reader: this.#reader,
      maxEvents,
      // Until the first answer nothing is kept.
      returnImmediately: this.#state !== 'following',
      ack,
      setErrs: Object.fromEntries(unreadable.map((jti) => [jti, { err: 'invalid_request' }])),
    };
    const { body } = await api.send(
      operations.readFeed.path,
      {
        method: 'POST',
        headers: { Authorization: authorization, 'Content-Type': 'application/json' },
        body: JSON.stringify(request),
        signal,
      },
      timeoutMs + maxServerWaitMs,
    );
    const answer = checkedAnswer<ReadAnswer>(body, isFeedAnswer, 'The answer of the feed is incomplete.');
    // Nothing is known of a moment that had not come when the answer was sent.
    const after = Math.min(answer.after, monotonic() - sent.monotonic);
    if (signal.aborted) throw aborted(signal);
    if (answer.begun || this.#state !== 'following') this.#interrupt();
    [this.#acknowledged, this.#unreadable] = [[], []];
    for (const [jti, token] of Object.entries(answer.sets)) this.#apply(jti, token);
    this.#completeUntil = {
      monotonic: sent.monotonic + after,
      clock: sent.clock + after,
    };
    this.#state = 'following';
    return Object.keys(answer.sets).length;
  }

  #apply(jti: string, token: unknown): void {
    const { kept } = this.#options;
    const event = readEvent(token);
    if (event) kept.apply(event);
    // It could concern any cached answer.
    else kept.dropAll();
    (event ? this.#acknowledged : this.#unreadable).push(jti);
  }

  #interrupt(): void {
    this.#completeUntil = { monotonic: Number.NEGATIVE_INFINITY, clock: Number.NEGATIVE_INFINITY };
    this.#options.kept.dropAll();
  }

  #beginAnew(): void {
    this.#interrupt();
    this.#state = 'starting';
    this.#reader = crypto.randomUUID();
    [this.#acknowledged, this.#unreadable] = [[], []];
  }

  #pauseAfter({ code, retryAfterSeconds = 0 }: LatchkeyError, failures: number): number {
    if (code === 'gone') this.#beginAnew();
    if (code === 'unauthorized_client' || code === 'not_found') {
      this.#interrupt();
      this.#state = 'refused';
      return refusedPauseMs;
    }
    const pause = Math.min(minPauseMs * 2 ** failures, maxPauseMs);
    return Math.max(pause, Math.min(retryAfterSeconds * 1000, maxRetryAfterMs));
  }
}

/** A set that is no text counts as one that cannot be read: it must not keep the others from being read. */
interface ReadAnswer extends Pick<FeedAnswer, 'after' | 'begun'> {
  readonly sets: Readonly<Record<string, unknown>>;
}

const isFeedAnswer = objectWith({ sets: objectWith({}), after: isNumber });
