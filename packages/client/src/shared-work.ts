import { aborted, unlessAborted } from './clock.ts';

/** One piece of work and the number of callers that wait for it. */
interface Work<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
}

/**
 * Work that is done once for all concurrent callers, by what it is about. A caller that is aborted leaves alone. The
 * work is aborted when the last one leaves.
 */
export function sharedWork<T>(begin: (about: string, signal: AbortSignal) => Promise<T>) {
  const works = new Map<string, Work<T>>();

  return async (about: string, signal: AbortSignal | undefined): Promise<T> => {
    if (signal?.aborted) throw aborted(signal);
    let work = works.get(about);
    if (!work) {
      const controller = new AbortController();
      work = { result: begin(about, controller.signal), controller, waiting: 0 };
      works.set(about, work);
    }
    work.waiting++;
    try {
      return await unlessAborted(work.result, signal);
    } finally {
      work.waiting--;
      if (work.waiting === 0) {
        works.delete(about);
        work.controller.abort();
      }
    }
  };
}
