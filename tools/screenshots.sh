#!/bin/sh
# `npm run screenshots`: takes screenshots of the web pages.
cd "$(dirname "$0")/.." || exit 1
needs=everything
. tools/install.sh
exec node_modules/.bin/bun tools/screenshots.ts "$@"
