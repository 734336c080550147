// Reads the resource usage of processes from /proc.

import { readdirSync, readFileSync } from 'node:fs';

/** The unit of times in /proc, whatever the kernel uses internally. @see proc(5) */
export const ticksPerSecond = 100;

/** The fields of /proc/<pid>/stat from the third on. The second is the program name, which may contain spaces. */
function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** Fields 4 and 14 to 17 of proc(5). */
const parentOfStat = (stat: readonly string[]): number => Number(stat[1]);
const ownSecondsOfStat = (stat: readonly string[]): number =>
  (Number(stat[11]) + Number(stat[12])) / ticksPerSecond;
const endedChildrenSecondsOfStat = (stat: readonly string[]): number =>
  (Number(stat[13]) + Number(stat[14])) / ticksPerSecond;

/** CPU seconds of a process so far: user and kernel time of all threads. */
export const cpuSeconds = (pid: number): number => ownSecondsOfStat(statOf(pid));

/** The id of the parent process. */
export const parentOf = (pid: number): number => parentOfStat(statOf(pid));

/** CPU seconds so far of a process and all its children, including those that have ended. */
export function cpuSecondsOfFamily(pid: number): number {
  const stat = statOf(pid);
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statIfAlive(Number(name)))
    .filter((child) => child !== undefined && parentOfStat(child) === pid);
  return children.reduce(
    (sum, child) => sum + ownSecondsOfStat(child!),
    ownSecondsOfStat(stat) + endedChildrenSecondsOfStat(stat),
  );
}

/** Undefined if the process has ended in the meantime. */
function statIfAlive(pid: number): string[] | undefined {
  try {
    return statOf(pid);
  } catch {
    return undefined;
  }
}

/** Bytes that a process has written to disk so far. */
export const bytesWritten = (pid: number): number =>
  Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);

/** Memory in bytes. `anonymous` excludes file pages, which the kernel can reclaim. */
export interface Memory {
  readonly resident: number;
  readonly anonymous: number;
  readonly peak: number;
}

export function memoryOf(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s*(\\d+) kB$`, 'm').exec(text)?.[1]) * 1024;
  return { resident: bytes('VmRSS'), anonymous: bytes('RssAnon'), peak: bytes('VmHWM') };
}
