import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

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

/** Whether the process has this file open. Only on Linux. */
export const hasOpen = (pid: number, file: string): boolean =>
  readdirSync(`/proc/${pid}/fd`).some((fd) => linkAt(join(`/proc/${pid}/fd`, fd)) === file);

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    // Closed meanwhile.
    return undefined;
  }
}
