// Packages for other platforms, which npm did not install here. What arrives must match the lock file.

import { createHash } from 'node:crypto';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { $ } from 'bun';

const root = join(import.meta.dir, '../..');
/** Unpacked packages, kept for the next build. */
const cache = join(root, 'artifacts/platform-packages');

interface LockedPackage {
  readonly version: string;
  readonly integrity: string;
}

/** The version and the checksum of a package in the lock file. */
export async function lockedPackage(name: string): Promise<LockedPackage> {
  const lock = await Bun.file(join(root, 'package-lock.json')).json();
  const locked = lock.packages[`node_modules/${name}`];
  if (!locked) throw new Error(`the lock file has no ${name}`);
  return locked;
}

/** The directory of a package: the installed one, or one from the registry that npm is configured to use. */
export async function packageDirectory(name: string): Promise<string> {
  const installed = join(root, 'node_modules', name);
  if (await Bun.file(join(installed, 'package.json')).exists()) return installed;
  const { version, integrity } = await lockedPackage(name);
  const directory = join(cache, `${name.replaceAll('/', '+')}@${version}`);
  if (await Bun.file(join(directory, 'package.json')).exists()) return directory;
  const temporary = `${directory}.${process.pid}`;
  await mkdir(temporary, { recursive: true });
  try {
    const packed = await $`npm pack --silent ${`${name}@${version}`}`.cwd(temporary).text();
    const archive = join(temporary, packed.trim());
    const hash = createHash('sha512').update(await Bun.file(archive).bytes());
    if (`sha512-${hash.digest('base64')}` !== integrity) throw new Error(`${name} is not what was locked`);
    await $`tar -xzf ${archive} -C ${temporary}`;
    await rm(directory, { recursive: true, force: true });
    await rename(join(temporary, 'package'), directory);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return directory;
}
