// `npm run release -- VERSION`: sets the version everywhere, builds everything and rehearses publishing it. What cannot be
// taken back stays with a person: it is printed at the end.

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { $ } from 'bun';

const root = join(import.meta.dir, '../..');
const directory = join(root, 'dist/release');
const unreleased = /^## Unreleased.*$/m;

/** Writes the version into every manifest, also where packages of this repository depend on each other. */
export function withVersion(manifest: string, version: string): string {
  return manifest
    .replace(/^(\s*"version": )"[^"]+"/m, `$1"${version}"`)
    .replaceAll(/("@latchkey\/(?:client|contract|dashboard)": )"[^"]+"/g, `$1"${version}"`);
}

/** The changelog with the entries under "Unreleased" moved to the version. */
export function withRelease(changelog: string, version: string, date: string): string {
  if (!unreleased.test(changelog)) throw new Error('CHANGELOG.md has no entries under "Unreleased"');
  return changelog.replace(unreleased, `## ${version} (${date})`);
}

async function setVersion(version: string): Promise<void> {
  const folders = (await readdir(join(root, 'packages'))).map((name) => join(root, 'packages', name));
  for (const folder of [root, ...folders]) {
    const file = join(folder, 'package.json');
    await Bun.write(file, withVersion(await Bun.file(file).text(), version));
  }
  const changelog = join(root, 'CHANGELOG.md');
  const date = new Date().toISOString().slice(0, 10);
  await Bun.write(changelog, withRelease(await Bun.file(changelog).text(), version, date));
  await $`npm install --package-lock-only --ignore-scripts --no-audit --no-fund`.cwd(root).quiet();
}

async function rehearse(): Promise<void> {
  for (const name of await readdir(directory)) {
    if (name.endsWith('.tgz')) await $`npm publish --dry-run --access public ${join(directory, name)}`;
  }
}

function fail(message: string): never {
  process.stderr.write(`latchkey: ${message}\n`);
  process.exit(2);
}

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

if (import.meta.main) {
  const version = process.argv[2] ?? '';
  if (!/^\d+\.\d+\.\d+(-[a-z]+\.\d+)?$/.test(version)) fail('usage: npm run release -- 1.2.3');
  if ((await $`git status --porcelain`.cwd(root).text()) !== '') fail('commit or remove your changes first');
  await setVersion(version);
  // A process of its own: this one has read the manifests with the former version.
  await $`${process.execPath} ${join(import.meta.dir, 'build.ts')}`;
  await rehearse();
  say(`
Nothing has been published. To release ${version}, read the difference, then:

  git commit --all --message 'Release ${version}'
  git tag v${version}
  git push origin HEAD v${version}

Continuous integration builds the tag again, publishes the packages with their provenance, and attaches the files.`);
}
