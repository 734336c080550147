// Server and load generator each get a core of their own, so that they do not compete for CPU time.

import { existsSync, readFileSync } from 'node:fs';
import { spawnSync } from 'bun';

/** The cores this process may run on, from a list like `0-3,8`. Empty if the system has no /proc. */
function allowedCores(): number[] {
  if (!existsSync('/proc/self/status')) return [];
  const [, list] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return (list ?? '').split(',').flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number);
    return Array.from({ length: last! - first! + 1 }, (_, index) => first! + index);
  });
}

const cores = allowedCores();

/** The core of the measured process. */
export const serverCore = cores[0]!;

/** The core of everything else: this process, the load generator and a PostgreSQL server. */
export const loadCore = cores[1]!;

/** @throws {Error} on a machine with a single core */
export function requireCores(): void {
  if (cores.length < 2)
    throw new Error('benchmarks need two cores: one for the server, one for the load generator');
}

/** Moves this process and all later child processes to the load core. */
export function moveToLoadCore(): void {
  const moved = spawnSync(['taskset', '--all-tasks', '--cpu-list', '--pid', `${loadCore}`, `${process.pid}`]);
  if (!moved.success) throw new Error(`taskset: ${moved.stderr}`);
}

/** Pins a command to one core. */
export const onCore = (core: number, command: readonly string[]): string[] => [
  ...['taskset', '--cpu-list', `${core}`],
  ...command,
];
