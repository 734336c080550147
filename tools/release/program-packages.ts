// Builds the packages of the two programs: each is bundled into a few files, with the licenses of what it contains.

import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import cli from '../../packages/cli/package.json' with { type: 'json' };
import server from '../../packages/server/package.json' with { type: 'json' };
import { bundledPackages, noticesOf, pagePackages } from './bundled-packages.ts';
import { publishedManifest, stage } from './package-files.ts';

const root = join(import.meta.dir, '../..');
const keyring = '@napi-rs/keyring';

/** The command line, for Node and Bun. The keychain's library is compiled code, so npm installs the right one. */
export async function buildCliPackage(directory: string): Promise<void> {
  const manifest = {
    ...publishedManifest(cli),
    bin: { latchkey: 'dist/latchkey.js' },
    optionalDependencies: { [keyring]: cli.dependencies[keyring] },
  };
  await stage(directory, manifest, join(root, 'packages/cli/README.md'));
  const result = await Bun.build({
    entrypoints: [join(root, 'packages/cli/src/main.ts')],
    outdir: join(directory, 'dist'),
    naming: { entry: 'latchkey.js', chunk: '[name]-[hash].js' },
    target: 'node',
    format: 'esm',
    splitting: true,
    minify: { syntax: true, whitespace: true },
    external: [keyring],
    metafile: true,
  });
  const program = join(directory, 'dist/latchkey.js');
  const text = await Bun.file(program).text();
  await Bun.write(program, `#!/usr/bin/env node\n${text.replace(/^#!.*\n/, '')}`);
  await chmod(program, 0o755);
  const packages = await bundledPackages(Object.keys(result.metafile?.inputs ?? {}));
  await Bun.write(join(directory, 'dist/NOTICES.txt'), await noticesOf(packages));
}

/** Finds Bun, which the package does not contain, and keeps files of the working directory from affecting it. */
const launcher = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
if ! command -v bun >/dev/null; then
  echo 'latchkey-server: needs Bun 1.4 or later on PATH' >&2
  exit 1
fi
export BUN_RUNTIME_TRANSPILER_CACHE_PATH=0
exec bun --no-env-file --config=/dev/null --tsconfig-override=/dev/null "$here/main.js" "$@"
`;

/** The service and its web pages, for Bun. */
export async function buildServerPackage(directory: string): Promise<void> {
  const manifest = {
    ...publishedManifest({ ...server, name: '@latchkey/server' }),
    engines: { bun: '>=1.4' },
    os: ['linux', 'darwin'],
    bin: { 'latchkey-server': 'dist/latchkey-server' },
  };
  await stage(directory, manifest, join(root, 'packages/server/README.md'));
  const result = await Bun.build({
    entrypoints: [join(root, 'packages/server/src/main.ts')],
    outdir: join(directory, 'dist'),
    target: 'bun',
    format: 'esm',
    minify: { syntax: true, whitespace: true },
    metafile: true,
  });
  const program = join(directory, 'dist/latchkey-server');
  await Bun.write(program, launcher);
  await chmod(program, 0o755);
  const packages = await bundledPackages(Object.keys(result.metafile?.inputs ?? {}));
  await Bun.write(
    join(directory, 'dist/NOTICES.txt'),
    await noticesOf([...packages, ...(await pagePackages())]),
  );
}
