// What else the machine does: on a busy one a rate says little.

import { readFileSync } from 'node:fs';
import { loadCore, serverCore } from './cores.ts';
import { cpuSecondsOfFamily, ticksPerSecond } from './processes.ts';

/** CPU seconds that one core has spent on anything so far. @see proc_stat(5) */
function busySecondsOf(core: number): number {
  const line = new RegExp(`^cpu${core} (.*)$`, 'm').exec(readFileSync('/proc/stat', 'utf8'))?.[1] ?? '';
  const [user, nice, system, , , irq, softirq, steal] = line.split(' ').map(Number);
  return (user! + nice! + system! + irq! + softirq! + steal!) / ticksPerSecond;
}

/**
 * Watches both cores from now on. The answer gives the share of them, 0 to 1, that went to others than this process,
 * its children, and the families of `ours`.
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
