import { setTimeout } from 'node:timers/promises';

/** Elapsed time and waiting. Tests replace them. */
export interface Timers {
  /** Milliseconds on a clock that is never set. Only differences mean anything. */
  monotonic(): number;
  /** Resolves after that many milliseconds, or as soon as the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemTimers: Timers = {
  monotonic: () => performance.now(),
  sleep: (ms, signal) => setTimeout(ms, undefined, signal && { signal }).catch(() => undefined),
};

/** Runs some work again and again, with a pause before each run, until the signal is aborted. */
export async function repeat(timers: Timers, pauseMs: number, signal: AbortSignal, work: () => unknown) {
  for (;;) {
    await timers.sleep(pauseMs, signal);
    if (signal.aborted) return;
    await work();
  }
}

/** A time on the wire of tokens: whole seconds since 1970. */
export const inSeconds = (ms: number): number => Math.floor(ms / 1000);

/**
 * The `expires_in` of a token, rounded to the nearest second: the clock of the node that set the end may be
 * ahead by milliseconds, and rounding up would promise more than the whole lifetime.
 */
export const expiresIn = (endsAt: number, now: number): number =>
  Math.max(0, Math.round((endsAt - now) / 1000));
