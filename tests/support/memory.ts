// Searches what a process of this machine has in memory, in its environment and on its command line.

import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

const pageBytes = 4096;
const chunkPages = 512;
const entryBytes = 8;
/** Bits of an entry of `pagemap`: in memory, swapped out. */
const presentBits = 0xc0;

/** Whether the text is in a page that the process can write to. Pages that were never touched are not read. */
export function isInMemory(pid: number, text: string): boolean {
  const wanted = Buffer.from(text);
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  const pagemap = openSync(`/proc/${pid}/pagemap`, 'r');
  try {
    return writableRanges(pid).some(([start, end]) =>
      presentPages(pagemap, start, end).some((run) => holds(memory, run, wanted)),
    );
  } finally {
    closeSync(memory);
    closeSync(pagemap);
  }
}

type Range = readonly [start: number, end: number];

const writableRanges = (pid: number): Range[] =>
  [...readFileSync(`/proc/${pid}/maps`, 'utf8').matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw/gm)].map(
    ([, start = '', end = '']) => [Number.parseInt(start, 16), Number.parseInt(end, 16)],
  );

/** Neighbouring pages of the range that are present. */
function presentPages(pagemap: number, start: number, end: number): Range[] {
  const pages: Range[] = [];
  const entries = Buffer.alloc(chunkPages * entryBytes);
  for (let from = start; from < end; from += chunkPages * pageBytes) {
    const read = readSync(pagemap, entries, 0, entries.length, (from / pageBytes) * entryBytes);
    for (let index = 0; index < read / entryBytes; index++) {
      const page = from + index * pageBytes;
      if (page >= end || (entries[index * entryBytes + 7]! & presentBits) === 0) continue;
      const last = pages.at(-1);
      if (last?.[1] === page) pages[pages.length - 1] = [last[0], page + pageBytes];
      else pages.push([page, page + pageBytes]);
    }
  }
  return pages;
}

function holds(memory: number, [start, end]: Range, wanted: Buffer): boolean {
  const chunk = Buffer.alloc(Math.min(end - start, chunkPages * pageBytes) + wanted.length);
  for (let from = start; from < end; from += chunk.length - wanted.length) {
    try {
      const read = readSync(memory, chunk, 0, Math.min(chunk.length, end - from), from);
      if (chunk.subarray(0, read).includes(wanted)) return true;
    } catch {
      // The process has unmapped it.
      return false;
    }
  }
  return false;
}

/** The environment and the command line of a process. */
export const surroundingsOf = (pid: number): string =>
  ['environ', 'cmdline'].map((name) => readFileSync(`/proc/${pid}/${name}`, 'latin1')).join('\0');
