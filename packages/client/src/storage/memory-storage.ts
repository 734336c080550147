import { inTime, unlessAborted } from '../clock.ts';
import { type CredentialDocument, emptyDocument, type Storage } from '../credentials.ts';
import { LatchkeyError } from '../errors.ts';

/**
 * Keeps the credentials in memory, for the lifetime of this process.
 * @example
 * const store = credentialStore(memoryStorage(), api.server);
 */
export function memoryStorage(initial: CredentialDocument = emptyDocument): Storage {
  let document = structuredClone(initial);
  /** The tail of each lock's queue. */
  const tails = new Map<string, Promise<void>>();

  return {
    description: 'the memory of this process',
    read: async () => structuredClone(document),
    write: async (next) => {
      document = structuredClone(next);
    },
    lock: (name, work, { signal, timeoutMs } = {}) => {
      const before = tails.get(name) ?? Promise.resolve();
      const turn = unlessAborted(before, signal);
      const turnInTime = timeoutMs === undefined ? turn : inTime(turn, timeoutMs, timedOut(name));
      const done = turnInTime.then(work);
      // A caller that gave up must not let the next one start before its predecessor is done.
      tails.set(
        name,
        Promise.allSettled([before, done]).then(() => {}),
      );
      return done;
    },
  };
}

const timedOut = (name: string) => () =>
  new LatchkeyError('lock_timeout', `The lock ${name} was not released in time.`);
