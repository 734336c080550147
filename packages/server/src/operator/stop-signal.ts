import { isRunByNpx } from '../platform/config/environment.ts';

const parentPollMs = 250;

/** Resolves with the first of these signals, which stop the process. Later ones have no effect. */
export const nextSignal = (...names: ('SIGTERM' | 'SIGINT' | 'SIGHUP')[]): Promise<string> =>
  new Promise((resolve) => {
    for (const name of names) process.on(name, () => resolve(name));
    if (isRunByNpx()) whenParentEnds(() => resolve('end of npx'));
  });

/** When npx is stopped, it ends its shell, which forwards no signal: the missing parent is the only sign. */
function whenParentEnds(stop: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop();
  }, parentPollMs);
  timer.unref();
}
