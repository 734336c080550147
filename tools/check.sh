#!/bin/sh
# `npm run check`: all checks except the tests. Runs every check before it reports the failed ones.
cd "$(dirname "$0")/.." || exit 1
needs=everything
. tools/install.sh
failed=

check() {
  name=$1
  shift
  echo "== $name"
  "$@" || failed="$failed $name"
}

# A resolved URL in the lock file would tie every install to one registry.
lock_is_portable() {
  ! grep -n '"resolved": "http' package-lock.json bench/peers/package-lock.json
}

# The cache of TypeScript 7.0 misses changes of JSON files.
types=node_modules/.cache/types.tsbuildinfo
[ -z "$(find packages -path '*/src/*.json' -newer $types 2>/dev/null)" ] || rm $types

check types node_modules/.bin/tsc -p . --noEmit
check style node_modules/.bin/biome check --error-on-warnings .
check unused node_modules/.bin/knip --no-config-hints
check lock lock_is_portable

[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
echo 'all checks passed'
