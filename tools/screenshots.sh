#!/bin/sh
# `npm run screenshots`: installs and builds what is missing, then takes the pictures.
cd "$(dirname "$0")/.." || exit 1
needs=everything
. tools/install.sh
exec node_modules/.bin/bun tests/support/screenshots.ts "$@"
