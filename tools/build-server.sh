#!/bin/sh
# `npm run build:server`: the service as one file, dist/latchkey-server.
cd "$(dirname "$0")/.." || exit 1
. tools/install.sh
exec node_modules/.bin/bun packages/server/build.ts "$@"
