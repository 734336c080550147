import { readFileSync } from 'node:fs';

/** The ids of the processes that this process has started and that still run. Only on Linux. */
export function childrenOf(pid: number): number[] {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return list === '' ? [] : list.split(' ').map(Number).filter(isRunning);
}

/** Whether the process runs: one that has ended stays in the table until its parent looks. */
export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
