// Builds the package of the SDK: ES modules, and declarations without any import from another package.

import { readdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { $ } from 'bun';
import manifest from '../../packages/client/package.json' with { type: 'json' };
import { type ContractName, contractTypes } from './contract-types.ts';
import { publishedManifest, stage } from './package-files.ts';

const root = join(import.meta.dir, '../..');
const source = join(root, 'packages/client/src');
const internal = './internal/';
/** `import type { TokenSet } from '@latchkey/contract/tokens'`, as the compiler writes it into declarations. */
const contractImport = /import type \{([^}]+)\} from '@latchkey\/contract\/([a-z-]+)';/g;
/** A relative import of a source file. */
const sourceImport = /((?:from|import\() ?['"])(\.{1,2}\/[^'"]+)\.ts(['"])/g;

/** Writes the package to the directory. */
export async function buildClientPackage(directory: string): Promise<void> {
  const { exports: sources, dependencies: _, ...rest } = manifest;
  const exports = Object.fromEntries(
    Object.entries(sources)
      .filter(([name]) => !name.startsWith(internal))
      .map(([name, file]) => {
        const module = file.replace('./src/', './dist/').replace(/\.ts$/, '');
        return [name, { types: `${module}.d.ts`, default: `${module}.js` }];
      }),
  );
  const published = {
    ...publishedManifest(rest),
    sideEffects: false,
    exports: { ...exports, './package.json': './package.json' },
  };
  await stage(directory, published, join(root, 'packages/client/README.md'));
  const dist = join(directory, 'dist');
  await compile(directory, dist);
  await rewriteImports(dist);
}

/** Compiles all files of the SDK, without the contract that they import types of. */
async function compile(directory: string, dist: string): Promise<void> {
  const output = join(directory, 'compiled');
  const config = join(directory, 'tsconfig.json');
  await Bun.write(
    config,
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        noEmit: false,
        declaration: true,
        stripInternal: true,
        rewriteRelativeImportExtensions: true,
        target: 'ES2022',
        rootDir: join(root, 'packages'),
        outDir: output,
        typeRoots: [join(root, 'node_modules/@types')],
      },
      include: [`${source}/**/*.ts`],
      exclude: [`${source}/**/*.test.ts`],
    }),
  );
  await $`${join(root, 'node_modules/.bin/tsc')} -p ${config}`;
  await $`mv ${join(output, 'client/src')} ${dist} && rm -r ${output} ${config}`;
}

/** Makes the declarations import the contract's types from one file of the package. */
async function rewriteImports(dist: string): Promise<void> {
  const needed = new Map<string, ContractName>();
  const contractFile = join(dist, 'contract.d.ts');
  for (const name of await readdir(dist, { recursive: true })) {
    const file = join(dist, name);
    if (!name.endsWith('.d.ts')) continue;
    const text = await Bun.file(file).text();
    const path = relative(dirname(file), contractFile).replace(/\.d\.ts$/, '.js');
    const from = path.startsWith('.') ? path : `./${path}`;
    const rewritten = text
      .replaceAll(contractImport, (_, names: string, module: string) => {
        for (const one of namesIn(names)) needed.set(one, { module, name: one });
        return `import type {${names}} from '${from}';`;
      })
      .replaceAll(sourceImport, '$1$2.js$3');
    await Bun.write(file, rewritten);
  }
  await Bun.write(contractFile, await contractTypes([...needed.values()]));
}

/** The imported names of `A, B as C`. */
const namesIn = (names: string): string[] =>
  names
    .split(',')
    .map((one) => one.trim().split(' ')[0] ?? '')
    .filter((one) => one !== '');
