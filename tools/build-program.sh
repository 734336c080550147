#!/bin/sh
# `npm run build:cli` and `npm run build:server`: compile a program into one executable, dist/latchkey or dist/latchkey-server.
cd "$(dirname "$0")/.." || exit 1
. tools/install.sh
exec node_modules/.bin/bun tools/release/single-file.ts "$@"
