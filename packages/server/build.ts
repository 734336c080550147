// `npm run build:server [target]`: compiles the service, its web pages and the operator's commands into one executable.

import { join } from 'node:path';
import { $ } from 'bun';

const root = join(import.meta.dir, '../..');
const target = process.argv[2] ?? join(root, 'dist/latchkey-server');

// The service reads its settings itself, from `.env` or another file, and must ignore any bunfig.toml.
await $`${process.execPath} build --compile --bytecode --format=esm --minify-syntax --minify-whitespace \
  --no-compile-autoload-dotenv --no-compile-autoload-bunfig --outfile ${target} ${join(import.meta.dir, 'src/main.ts')}`.quiet();
