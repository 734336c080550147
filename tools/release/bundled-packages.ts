// Which packages a bundle contains, for its notices and its bill of materials.

import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Glob } from 'bun';
import dashboard from '../../packages/dashboard/package.json' with { type: 'json' };

const root = join(import.meta.dir, '../..');

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly license: string;
  readonly directory: string;
}

/** The packages among the inputs of a bundle, sorted by name. Paths are relative to the working directory. */
export async function bundledPackages(inputs: readonly string[]): Promise<BundledPackage[]> {
  const directories = new Set(
    inputs.flatMap((input) => /^.*\bnode_modules\/(?:@[^/]+\/)?[^/]+/.exec(resolve(input))?.[0] ?? []),
  );
  return packagesIn([...directories]);
}

/** The packages in the web pages, which are built beforehand. */
export const pagePackages = (): Promise<BundledPackage[]> =>
  packagesIn([...dependenciesOf(join(root, 'packages/dashboard'), dashboard)]);

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** The directories of everything that a package depends on at run time, without the packages of this repository. */
function dependenciesOf(directory: string, manifest: Manifest, found = new Set<string>()): Set<string> {
  for (const name of Object.keys(manifest.dependencies ?? {})) {
    if (name.startsWith('@latchkey/')) continue;
    const file = Bun.resolveSync(`${name}/package.json`, directory);
    if (found.has(dirname(file))) continue;
    found.add(dirname(file));
    dependenciesOf(dirname(file), JSON.parse(readFileSync(file, 'utf8')), found);
  }
  return found;
}

export async function packagesIn(directories: readonly string[]): Promise<BundledPackage[]> {
  const packages = await Promise.all(
    directories.map(async (directory) => {
      const { name, version, license } = await Bun.file(join(directory, 'package.json')).json();
      return { name, version, license, directory };
    }),
  );
  return packages.sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** The licenses of the packages, as they ask to be reproduced. */
export async function noticesOf(packages: readonly BundledPackage[]): Promise<string> {
  const notices = await Promise.all(
    packages.map(async ({ name, version, license, directory }) => {
      const files = [...new Glob('{LICEN[CS]E,NOTICE,license}*').scanSync(directory)].sort();
      const texts = await Promise.all(files.map((file) => Bun.file(join(directory, file)).text()));
      return [`${name} ${version} (${license})`, ...texts.map((text) => text.trim())].join('\n\n');
    }),
  );
  return `${notices.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
