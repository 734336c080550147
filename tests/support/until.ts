/** Far longer than anything takes on a busy machine, and shorter than the time limit of a test. */
const waitTimeoutMs = 45_000;
const pollMs = 5;

/**
 * Waits until a condition holds.
 * @throws {Error} with the source text of a condition that did not hold in time
 */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + waitTimeoutMs; !(await holds()); await Bun.sleep(pollMs)) {
    if (performance.now() > deadline) throw new Error(`waited ${waitTimeoutMs / 1000} s until ${holds}`);
  }
}
