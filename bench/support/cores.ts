// Server and load each on a core of their own, so that what one takes is not the other's.

import { existsSync, readFileSync } from 'node:fs';
import { spawnSync } from 'bun';

/** The cores this process may run on, from lists like `0-3,8`; none where the system does not tell. */
function allowedCores(): number[] {
  if (!existsSync('/proc/self/status')) return [];
  const [, list] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return (list ?? '').split(',').flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number);
    return Array.from({ length: last! - first! + 1 }, (_, index) => first! + index);
  });
}

const cores = allowedCores();

/** Where the measured process runs. */
export const serverCore = cores[0]!;

/** Where everything else runs: this process, what asks, and a database of its own. */
export const loadCore = cores[1]!;

/** @throws {Error} where there are no two cores to tell apart */
export function requireCores(): void {
  if (cores.length < 2) throw new Error('two cores are needed: one for the server, one for the load');
}

/** Moves this process, and what it starts from now on, to the load's core. */
export function moveToLoadCore(): void {
  const moved = spawnSync(['taskset', '--all-tasks', '--cpu-list', '--pid', `${loadCore}`, `${process.pid}`]);
  if (!moved.success) throw new Error(`taskset: ${moved.stderr}`);
}

/** A command that runs on one core. */
export const onCore = (core: number, command: readonly string[]): string[] => [
  'taskset',
  '--cpu-list',
  `${core}`,
  ...command,
];
