#!/bin/sh
# `npm run build:server`: compiles the service into one executable, dist/latchkey-server.
cd "$(dirname "$0")/.." || exit 1
. tools/install.sh
exec node_modules/.bin/bun packages/server/build.ts "$@"
