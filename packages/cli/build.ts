// `npm run build:cli`: builds the command line as a single executable. Takes an optional output path.

import { join } from 'node:path';
import { $ } from 'bun';

const root = join(import.meta.dir, '../..');
const target = process.argv[2] ?? join(root, 'dist/latchkey');

// Bytecode halves the start time. Nothing in the current directory may affect the executable, so it loads no .env or
// bunfig.toml.
await $`${process.execPath} build --compile --bytecode --format=esm --minify-syntax --minify-whitespace \
  --no-compile-autoload-dotenv --no-compile-autoload-bunfig \
  --outfile ${target} ${join(import.meta.dir, 'src/main.ts')}`.quiet();
