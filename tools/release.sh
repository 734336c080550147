#!/bin/sh
# `npm run release`, `npm run release:build` and `npm run build:packages`: run tools/release/$1.ts.
cd "$(dirname "$0")/.." || exit 1
needs=everything
. tools/install.sh
script=$1
shift
exec node_modules/.bin/bun "tools/release/$script.ts" "$@"
