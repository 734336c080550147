/** How long anything may take on a busy machine: less than the time limit of a test, so that a wait can say what it waited for. */
export const waitTimeoutMs = 150_000;
const pollMs = 5;

/**
 * Waits until a condition holds.
 * @throws {Error} with what it waited for, if the condition did not hold in time
 */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string | (() => string),
): Promise<void> {
  for (const deadline = performance.now() + waitTimeoutMs; !(await holds()); await Bun.sleep(pollMs)) {
    if (performance.now() > deadline) {
      throw new Error(`waited ${waitTimeoutMs / 1000} s for ${typeof what === 'string' ? what : what()}`);
    }
  }
}

/** Lets other work of this process run for so many turns of its event loop. Proves nothing: for races, which must hold in any order. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
}

/** Begins a transaction that has done its work, and stays open until the result is called: it then commits, or fails with an error. */
export async function openTransaction<Tx>(
  begin: (work: (tx: Tx) => Promise<void>) => Promise<unknown>,
  work: (tx: Tx) => Promise<unknown>,
): Promise<(error?: Error) => Promise<unknown>> {
  const [worked, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const done = begin(async (tx) => {
    await work(tx);
    worked.resolve();
    await ended.promise;
  });
  await Promise.race([worked.promise, done]);
  return (error) => {
    if (error) ended.reject(error);
    else ended.resolve();
    return done;
  };
}
