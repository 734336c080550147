// Failed sign-ins are written apart from their responses, and a random moment later: what is written about an account must not show
// in the time of this response or of the next one.

import type { Context } from '../../platform/context.ts';
import { recordFailedSignIn } from '../../security-log/events/events.ts';

type FailedSignIn = Parameters<typeof recordFailedSignIn>[2];

/** The random delay is between these. A crash loses what is still unwritten. */
const minDelayMs = 50;
const maxDelayMs = 300;

/** How many different failures wait at most; further ones are only counted in the metrics. */
const maxWaiting = 10_000;

/** A refused attempt, before anybody has looked for its account. */
export interface RefusedAttempt extends Omit<FailedSignIn, 'userId' | 'times'> {
  /** What the account is found by. */
  readonly by: string;
  readonly findUserId: () => Promise<string | undefined>;
}

class FailureQueue {
  readonly #ctx: Context;
  readonly #waiting = new Map<string, RefusedAttempt & { times: number }>();
  #isDue = false;
  #writing = Promise.resolve();

  constructor(ctx: Context) {
    this.#ctx = ctx;
  }

  add(attempt: RefusedAttempt): void {
    const key = JSON.stringify([attempt.method, attempt.network, attempt.by]);
    const same = this.#waiting.get(key);
    if (same) same.times++;
    else if (this.#waiting.size < maxWaiting) this.#waiting.set(key, { ...attempt, times: 1 });
    if (this.#isDue) return;
    this.#isDue = true;
    const delayMs = minDelayMs + Math.random() * (maxDelayMs - minDelayMs);
    void this.#ctx.timers.sleep(delayMs, this.#ctx.stopping).then(() => this.write());
  }

  /** Writes what waits, after what is being written. */
  write(): Promise<void> {
    this.#isDue = false;
    const attempts = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#writing = this.#writing.then(async () => {
      for (const attempt of attempts) await this.#writeOne(attempt);
    });
    return this.#writing;
  }

  async #writeOne({ findUserId, ...attempt }: RefusedAttempt & { times: number }): Promise<void> {
    const { db, log } = this.#ctx;
    try {
      const userId = await findUserId();
      if (userId === undefined) return;
      await db.transaction((tx) => recordFailedSignIn(this.#ctx, tx, { ...attempt, userId }));
    } catch {
      log.warn('a failed sign-in could not be recorded');
    }
  }
}

const queues = new WeakMap<Context, FailureQueue>();

/** Records a refused attempt to sign in, a moment later, if it was for an account. */
export function recordLater(ctx: Context, attempt: RefusedAttempt): void {
  const queue = queues.get(ctx) ?? new FailureQueue(ctx);
  queues.set(ctx, queue);
  queue.add(attempt);
}

/** Writes the failed sign-ins that wait, at once. */
export const writeFailedSignIns = async (ctx: Context): Promise<void> => queues.get(ctx)?.write();
