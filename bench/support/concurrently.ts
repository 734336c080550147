/**
 * Runs `work` with the numbers 0, 1, 2 and so on, `concurrency` at a time: `limit` times, or as long as `limit` returns
 * true. Resolves with the number of runs.
 */
export async function concurrently(
  concurrency: number,
  limit: number | (() => boolean),
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  let next = 0;
  const more = typeof limit === 'number' ? () => next < limit : limit;
  const worker = async () => {
    while (more()) await work(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return next;
}
