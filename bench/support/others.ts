// CPU time that other processes take: on a busy machine a rate means little.

import { readFileSync } from 'node:fs';
import { loadCore, serverCore } from './cores.ts';
import { cpuSecondsOfFamily, ticksPerSecond } from './processes.ts';

/** CPU seconds that a core has been busy so far. @see proc_stat(5) */
function busySecondsOf(core: number): number {
  const line = new RegExp(`^cpu${core} (.*)$`, 'm').exec(readFileSync('/proc/stat', 'utf8'))?.[1] ?? '';
  const [user, nice, system, , , irq, softirq, steal] = line.split(' ').map(Number);
  return (user! + nice! + system! + irq! + softirq! + steal!) / ticksPerSecond;
}

/**
 * Starts watching both cores. The returned function gives the share of their time, 0 to 1, that went to processes other
 * than this one, the processes in `ours`, and the children of all of these.
 */
export function watchOthers(ours: readonly number[] = []): () => number {
  const families = [process.pid, ...ours];
  const others = () =>
    busySecondsOf(serverCore) +
    busySecondsOf(loadCore) -
    families.reduce((sum, pid) => sum + cpuSecondsOfFamily(pid), 0);
  const [started, before] = [performance.now(), others()];
  return () => Math.max(0, others() - before) / (((performance.now() - started) / 1000) * 2);
}
