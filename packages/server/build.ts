// `npm run build:server`: the service with its pages and the operator's commands as one file that needs nothing
// beside it. Takes another place for it.

import { join } from 'node:path';
import { $ } from 'bun';

const root = join(import.meta.dir, '../..');
const target = process.argv[2] ?? join(root, 'dist/latchkey-server');

// It reads its settings itself, from `.env` or another file; a bunfig.toml is none of its business.
await $`${process.execPath} build --compile --bytecode --format=esm --minify-syntax --minify-whitespace \
  --no-compile-autoload-dotenv --no-compile-autoload-bunfig --outfile ${target} ${join(import.meta.dir, 'src/main.ts')}`.quiet();
