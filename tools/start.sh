#!/bin/sh
# `npm start`: runs the service. `exec` at every step, so that signals reach it.
cd "$(dirname "$0")/.." || exit 1
. tools/install.sh
exec node_modules/.bin/bun --no-env-file packages/server/src/main.ts serve "$@"
