import type { Context } from '../../platform/context.ts';
import { type FeedExtent, listenToFeed, readExtent } from '../../security-log/feed-events/feed-events.ts';

/** How often a node looks for events while requests wait: the database may fail to wake it. */
const pollMs = 100;

/** How far the feed could be read when this process last looked. */
export interface FeedView extends FeedExtent {
  /** Before the look, in milliseconds of this process's monotonic clock. */
  readonly lookedAt: number;
}

interface Waiter {
  readonly newest: number;
  readonly release: () => void;
}

/** However many wait, the database is asked one question at a time, and they hold no connection. */
export class FeedWatch {
  readonly #ctx: Context;
  #last: FeedView | undefined;
  #looking: Promise<FeedView> | undefined;
  #queued: Promise<FeedView> | undefined;
  readonly #waiters = new Set<Waiter>();
  #isPolling = false;
  #isWoken = false;
  #wake = () => {};
  #isListening = false;

  constructor(ctx: Context) {
    this.#ctx = ctx;
  }

  /** A look that starts after this call and sees whatever was committed before. Shared with other callers. */
  fresh(): Promise<FeedView> {
    if (!this.#looking) return this.#look();
    this.#queued ??= this.#looking
      .catch(() => undefined)
      .then(() => {
        this.#queued = undefined;
        return this.#look();
      });
    return this.#queued;
  }

  /** The last look if it is as recent as polling makes it, else a new one. */
  async recent(): Promise<FeedView> {
    const isRecent = this.#last && this.#ctx.timers.monotonic() - this.#last.lookedAt < 2 * pollMs;
    return isRecent ? this.#last! : this.fresh();
  }

  /** Resolves with newer events, after `ms`, if the database fails, or before the process ends. */
  async changed({ newest }: FeedView, ms: number): Promise<void> {
    if (this.#ctx.stopping.aborted || (this.#last && this.#last.newest > newest)) return;
    const released = new AbortController();
    const waiter: Waiter = { newest, release: () => released.abort() };
    this.#waiters.add(waiter);
    this.#ctx.metrics.feedWaiting.set(this.#waiters.size);
    this.#listen();
    void this.#poll();
    await this.#ctx.timers.sleep(ms, released.signal);
    this.#waiters.delete(waiter);
    this.#ctx.metrics.feedWaiting.set(this.#waiters.size);
  }

  #look(): Promise<FeedView> {
    const lookedAt = this.#ctx.timers.monotonic();
    const looking = readExtent({ clock: this.#ctx.clock, on: this.#ctx.db.read }, this.#last)
      .then((extent) => {
        const view = { ...extent, lookedAt };
        this.#last = view;
        for (const { newest, release } of this.#waiters) if (view.newest > newest) release();
        return view;
      })
      .finally(() => {
        this.#looking = undefined;
      });
    this.#looking = looking;
    return looking;
  }

  /** Looks as long as requests wait. */
  async #poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    while (this.#waiters.size > 0) {
      await this.#pause();
      await this.fresh().catch(() => this.#releaseAll());
    }
    this.#isPolling = false;
  }

  /** Until the next poll or until the database wakes this process; skipped if it did since the last pause. */
  async #pause(): Promise<void> {
    if (!this.#isWoken) {
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      await this.#ctx.timers.sleep(pollMs, woken.signal);
    }
    this.#isWoken = false;
  }

  /** Asks the database to wake this process, with the first request that waits. */
  #listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    listenToFeed(this.#ctx.db, () => {
      this.#isWoken = true;
      this.#wake();
    });
    this.#ctx.stopping.addEventListener('abort', () => this.#releaseAll());
  }

  #releaseAll(): void {
    for (const { release } of this.#waiters) release();
  }
}
