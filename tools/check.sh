#!/bin/sh
# `npm run check`: everything that can be said without running the tests. Runs all checks, then tells.
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

# An address in the lock file would tie every install to the registry it was made with.
lock_is_portable() {
  ! grep -n '"resolved": "http' package-lock.json
}

check types node_modules/.bin/tsc -p . --noEmit
check style node_modules/.bin/biome check --error-on-warnings .
check unused node_modules/.bin/knip --no-config-hints
check lock lock_is_portable

[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
echo 'all checks passed'
