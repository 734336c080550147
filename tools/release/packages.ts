// `npm run build:packages`: builds the packages for npm and packs them into dist/packages/*.tgz.

import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { $ } from 'bun';
import { buildClientPackage } from './client-package.ts';
import { buildCliPackage, buildServerPackage } from './program-packages.ts';

const builders = { client: buildClientPackage, cli: buildCliPackage, server: buildServerPackage };

/** Builds all packages below the directory, and returns the paths of their archives. */
export async function buildPackages(target: string): Promise<string[]> {
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  for (const [name, build] of Object.entries(builders)) {
    const directory = join(target, name);
    await build(directory);
    await $`npm pack --silent --pack-destination ${target}`.cwd(directory).quiet();
  }
  const files = await readdir(target);
  return files.filter((file) => file.endsWith('.tgz')).map((file) => join(target, file));
}

if (import.meta.main) {
  const target = process.argv[2] ?? join(import.meta.dir, '../../dist/packages');
  for (const archive of await buildPackages(target)) process.stdout.write(`${archive}\n`);
}
