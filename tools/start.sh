#!/bin/sh
# `npm start`: runs the service. Each step uses `exec`, so that signals reach the service.
cd "$(dirname "$0")/.." || exit 1
. tools/install.sh
exec node_modules/.bin/bun --no-env-file packages/server/src/main.ts serve "$@"
