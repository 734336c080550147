import { LatchkeyError } from './errors.ts';

/** The time source, which tests replace. */
export interface Clock {
  /** Milliseconds since 1970 by this machine's clock, which may be wrong and may jump. */
  now(): number;
  /** @throws {LatchkeyError} `aborted`, as soon as the signal is aborted */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The error for a call whose `signal` was aborted. */
export const aborted = (signal: AbortSignal): LatchkeyError =>
  new LatchkeyError('aborted', 'The caller aborted the call.', { cause: signal.reason });

/** Timers take 31 bits; a longer delay would fire at once. */
const maxTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: async (ms, signal) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, Math.min(ms, maxTimerMs));
    });
    await unlessAborted(over, signal).finally(() => clearTimeout(timer));
  },
};

/** The promise's result, unless it takes longer: then the error. The work continues. */
export async function inTime<T>(promise: Promise<T>, ms: number, late: () => Error): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  return Promise.race([promise, limit]).finally(() => clearTimeout(timer));
}

/**
 * The promise's result, unless the signal is aborted first. Only this waiter leaves: the work continues, and its
 * later failure is not reported as unhandled.
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
