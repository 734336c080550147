#!/bin/sh
# `npm run bench`: measures the table of docs/performance.md, or the named kinds and figures (`npm run bench -- me start`).
cd "$(dirname "$0")/.." || exit 1
needs=everything
. tools/install.sh
. tools/debian.sh
command -v wrk >/dev/null || install_debian wrk
for program in wrk taskset; do
  command -v $program >/dev/null || missing="$missing $program"
done
if [ -n "$missing" ] || [ ! -r /proc/self/stat ]; then
  echo "latchkey: benchmarks need Linux with${missing:- /proc}; on Debian: apt-get install wrk util-linux" >&2
  exit 1
fi
peers=bench/peers
if [ ! "$peers/node_modules/.package-lock.json" -nt "$peers/package-lock.json" ]; then
  echo 'latchkey: installing the services to compare with ...' >&2
  npm ci --prefix "$peers" --no-audit --no-fund --loglevel=error >&2 || exit 1
fi
exec node_modules/.bin/bun bench/bench.ts "$@"
