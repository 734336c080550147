// What all published packages have in common.

import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

const root = join(import.meta.dir, '../..');

interface SourceManifest {
  readonly name: string;
  readonly version: string;
  readonly private: boolean;
  readonly type: string;
  readonly license: string;
  readonly description: string;
}

/** The members of a `package.json` that are the same in the source and in the published package. */
export function publishedManifest({ name, version, type, license, description }: SourceManifest) {
  return {
    name,
    version,
    type,
    license,
    description,
    ...repository(),
    engines: { node: '>=22.13' },
    files: ['dist'],
    publishConfig: { access: 'public', provenance: true },
  };
}

/** Where the package was built, which npm compares with the provenance. Only continuous integration knows it. */
function repository(): object {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = process.env;
  return server && name ? { repository: { type: 'git', url: `git+${server}/${name}.git` } } : {};
}

/** Creates the directory of a package with its manifest, its README and the license. */
export async function stage(directory: string, manifest: object, readme: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  await Bun.write(join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  await copyFile(readme, join(directory, 'README.md'));
  await copyFile(join(root, 'LICENSE'), join(directory, 'LICENSE'));
}
