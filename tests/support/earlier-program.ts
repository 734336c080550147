// The service as it was at an earlier commit, taken from the history of this checkout.

import { join } from 'node:path';
import { spawnSync } from 'bun';
import { migrationNames } from '../../packages/server/src/platform/database/migrate.ts';
import { temporaryDirectory } from './service.ts';

export interface EarlierProgram {
  /** For `startService`. */
  readonly program: readonly string[];
  readonly migrations: readonly string[];
}

const root = join(import.meta.dir, '../..');
const migrationsFolder = 'packages/server/src/platform/database/migrations';

/**
 * The newest commit before a migration of this checkout, or else the commit before this one. Undefined where the history has no
 * such commit, as in a shallow clone, or none whose migrations this checkout has. It runs with the packages that it locked,
 * because this checkout may have given one up since.
 */
export function findEarlierProgram(): EarlierProgram | undefined {
  for (const commit of candidates()) {
    const migrations = migrationsOf(commit);
    if (migrations.length > 0 && migrations.every((name) => migrationNames.includes(name)))
      return { program: [process.execPath, unpack(commit)], migrations };
  }
  return undefined;
}

/** Commits before which a migration was added, the newest first; without one, the commit before this one. */
function candidates(): string[] {
  const changes = git('rev-list', '--first-parent', 'HEAD', '--', migrationsFolder)
    .split('\n')
    .filter(Boolean);
  return [...changes.map((commit) => `${commit}^1`), 'HEAD^1'];
}

const migrationsOf = (commit: string): string[] =>
  git('ls-tree', '--name-only', `${commit}:${migrationsFolder}`)
    .split('\n')
    .filter(Boolean)
    .map((file) => file.replace(/\.ts$/, ''));

/** Writes the packages of a commit into a directory of their own. Returns the main file of its service. */
function unpack(commit: string): string {
  const directory = temporaryDirectory();
  const files = ['packages', 'tsconfig.json', 'package.json', 'package-lock.json'];
  const archive = spawnSync(['git', 'archive', commit, ...files], { cwd: root });
  const unpacked = spawnSync(['tar', '-x', '-C', directory], { stdin: archive.stdout });
  if (!archive.success || !unpacked.success) throw new Error(`the files of ${commit} were not written`);
  run(directory, 'npm', 'ci', ...npmOptions);
  run(directory, process.execPath, 'packages/dashboard/build.ts');
  return join(directory, 'packages/server/src/main.ts');
}

const npmOptions = ['--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];

function run(cwd: string, ...command: string[]): void {
  const { success, stderr } = spawnSync(command, { cwd });
  if (!success) throw new Error(`${command[0]} failed in the earlier release: ${stderr}`);
}

/** The output of a Git command, or nothing where it fails. */
function git(...args: string[]): string {
  const { success, stdout } = spawnSync(['git', ...args], { cwd: root, stderr: 'ignore' });
  return success ? stdout.toString() : '';
}
