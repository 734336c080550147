// `npm run build:cli [file]` and `npm run build:server [file]`: compile a program, with its runtime, into one executable.

import { basename, join } from 'node:path';
import { type BunPlugin, Glob } from 'bun';
import { type BundledPackage, bundledPackages, packagesIn, pagePackages } from './bundled-packages.ts';
import { packageDirectory } from './npm-archive.ts';
import { commandLine, type Program, programs } from './programs.ts';
import { hostTarget, type Target } from './targets.ts';

const root = join(import.meta.dir, '../..');

/**
 * Compiles the program for a platform, or for the Bun that runs this, and returns the packages in it with Bun itself.
 * Nothing in the working directory of the executable affects it: the service reads its settings itself.
 */
export async function buildSingleFile(
  program: Program,
  file: string,
  target: Target | undefined,
): Promise<BundledPackage[]> {
  const keychain = target && program === commandLine ? await packageDirectory(target.keychain) : undefined;
  const compile = {
    outfile: file,
    autoloadDotenv: false,
    autoloadBunfig: false,
    ...(target ? { target: target.bun, executablePath: await runtimeOf(target) } : {}),
  };
  const result = await Bun.build({
    entrypoints: [program.main],
    target: 'bun',
    format: 'esm',
    bytecode: true,
    minify: { syntax: true, whitespace: true },
    metafile: true,
    plugins: keychain === undefined ? [] : [withKeychain(keychain)],
    compile,
  });
  const packages = [
    ...(await bundledPackages(Object.keys(result.metafile?.inputs ?? {}))),
    ...(program.hasPages ? await pagePackages() : []),
    ...(keychain === undefined ? [] : await packagesIn([keychain])),
    ...(await packagesIn([join(root, 'node_modules/bun')])),
  ];
  return [...new Map(packages.map((one) => [`${one.name}@${one.version}`, one])).values()];
}

async function runtimeOf(target: Target): Promise<string> {
  const own = hostTarget()?.name === target.name;
  return own ? process.execPath : join(await packageDirectory(target.runtime), 'bin/bun');
}

/** Includes the keychain's library in this directory, which need not be the one installed here, and no other. */
export const withKeychain = (directory: string): BunPlugin => ({
  name: 'keychain',
  setup: (build) => {
    const [library = ''] = [...new Glob('*.node').scanSync(directory)];
    build.onResolve({ filter: /^@napi-rs\/keyring-[^/]+$/ }, ({ path }) =>
      directory.endsWith(basename(path)) || directory.includes(`${path.replace('/', '+')}@`)
        ? { path: join(directory, library) }
        : { path, external: true },
    );
  },
});

if (import.meta.main) {
  const [, , name, file = join(root, 'dist', name ?? '')] = process.argv;
  const program = programs.find((one) => one.name === name);
  if (!program) throw new Error(`no such program: ${name}`);
  await buildSingleFile(program, file, undefined);
}
