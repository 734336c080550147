// `npm run build:cli`: the command line as one file that needs nothing beside it. Takes another place for it.

import { join } from 'node:path';
import { $ } from 'bun';

const root = join(import.meta.dir, '../..');
const target = process.argv[2] ?? join(root, 'dist/latchkey');

// Compiled ahead to bytecode it starts in half the time. It is run in all kinds of directories: what lies there
// must not become part of it.
await $`${process.execPath} build --compile --bytecode --format=esm --minify-syntax --minify-whitespace \
  --no-compile-autoload-dotenv --no-compile-autoload-bunfig \
  --outfile ${target} ${join(import.meta.dir, 'src/main.ts')}`.quiet();
