import { aborted } from './clock.ts';
import { type CredentialDocument, emptyDocument, type Storage } from './credentials.ts';
import { LatchkeyError } from './errors.ts';

/** Keeps the credentials as long as this process lives. All who are given the same one share them. */
export function memoryStorage(initial: CredentialDocument = emptyDocument): Storage {
  let document = structuredClone(initial);
  /** The end of each lock's queue. */
  const ends = new Map<string, Promise<void>>();

  return {
    description: 'the memory of this process',
    read: async () => structuredClone(document),
    write: async (next) => {
      document = structuredClone(next);
    },
    lock: async (name, work, { signal, timeoutMilliseconds } = {}) => {
      const before = ends.get(name) ?? Promise.resolve();
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      ends.set(
        name,
        before.then(() => released),
      );
      try {
        await turn(before, name, signal, timeoutMilliseconds);
        return await work();
      } finally {
        release();
      }
    },
  };
}

async function turn(
  before: Promise<void>,
  name: string,
  signal: AbortSignal | undefined,
  timeoutMilliseconds: number | undefined,
): Promise<void> {
  if (signal?.aborted) throw aborted(signal);
  let stop = () => {};
  let timer: ReturnType<typeof setTimeout> | undefined;
  const given = new Promise<never>((_, reject) => {
    stop = () => signal && reject(aborted(signal));
    signal?.addEventListener('abort', stop);
    if (timeoutMilliseconds === undefined) return;
    const late = () => new LatchkeyError('lock_timeout', `The lock ${name} was not free in time.`);
    timer = setTimeout(() => reject(late()), timeoutMilliseconds);
  });
  try {
    await Promise.race([before, given]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}
