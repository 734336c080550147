import { LatchkeyError } from './errors.ts';

/** Time, for tests to replace. */
export interface Clock {
  /** Milliseconds since 1970, by this machine's clock; it may be wrong, and it may jump. */
  now(): number;
  /** @throws {LatchkeyError} `aborted`, as soon as the signal says so */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export const aborted = (signal: AbortSignal): LatchkeyError =>
  new LatchkeyError('aborted', 'The caller ended this.', { cause: signal.reason });

/** Timers hold 31 bits; more would fire at once. */
const maxTimerMilliseconds = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(aborted(signal));
      const stop = () => {
        clearTimeout(timer);
        reject(aborted(signal!));
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener('abort', stop);
          resolve();
        },
        Math.min(milliseconds, maxTimerMilliseconds),
      );
      signal?.addEventListener('abort', stop, { once: true });
    }),
};

/**
 * What the promise brings, unless the signal comes first. The work behind it goes on: only this waiter leaves.
 * @throws {LatchkeyError} `aborted`
 */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  if (signal.aborted) {
    promise.catch(() => {});
    throw aborted(signal);
  }
  let stop = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(aborted(signal));
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([promise, stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
