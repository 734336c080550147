import { isRunByNpx } from '../platform/config/environment.ts';

const parentPollMs = 250;

/** Resolves with the first signal that stops the process. Later ones have no effect. */
export function nextSignal(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  for (const name of ['SIGTERM', 'SIGINT']) process.on(name, () => resolve(name));
  // When npx is stopped, it ends its shell, which forwards no signal: the missing parent is the only sign.
  const parent = process.ppid;
  const endWithParent = () => process.ppid !== parent && resolve('end of npx');
  if (isRunByNpx()) setInterval(endWithParent, parentPollMs).unref();
  return promise;
}
