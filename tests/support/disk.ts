// A small disk of its own for a directory, which can be filled. Only root can mount one.

import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'bun';
import { atExit } from './cleanup.ts';

const fillBytes = 64 * 1024;

/** Mounts an empty disk of this size, such as `64m`, on a directory; undefined if this process may not. */
export function mountDisk(directory: string, size: string) {
  const options = ['mount', '-t', 'tmpfs', '-o', `size=${size},mode=0700`, 'tmpfs', directory];
  if (process.platform !== 'linux' || !spawnSync(options).success) return undefined;
  atExit('unmount', directory);
  const filler = join(directory, 'filler');
  return {
    /** Leaves no byte free. */
    fill: () => fillWith(filler),
    /** Frees what `fill` has taken. */
    free: () => rmSync(filler, { force: true }),
  };
}

function fillWith(file: string): void {
  const block = Buffer.alloc(fillBytes, 1);
  for (let size = block.length; size >= 1; size = Math.floor(size / 2)) {
    try {
      for (;;) appendFileSync(file, block.subarray(0, size));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}
