/**
 * Does pieces of work, numbered from 0, so many at a time, each worker taking the next one as soon as it is done:
 * a number of them, or as long as `goesOn` says. Answers with how many were done.
 */
export async function concurrently(
  atATime: number,
  goesOn: number | (() => boolean),
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  let next = 0;
  const more = typeof goesOn === 'number' ? () => next < goesOn : goesOn;
  const worker = async () => {
    while (more()) await work(next++);
  };
  await Promise.all(Array.from({ length: atATime }, worker));
  return next;
}
