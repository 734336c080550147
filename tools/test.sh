#!/bin/sh
# `npm test`: runs the tests, or passes its arguments to `bun test` (`npm test -- tests/x.test.ts`).
# `npm run test:long` (the argument `long`): runs what takes too long for every change, `*.long.test.ts`, and at full length
# what draws or combines its cases, which are the files that import tests/support/long.ts.
# The last line of output is always `N passed, N failed`.
cd "$(dirname "$0")/.." || exit 1

finish() {
  echo "$1 passed, $2 failed"
  [ "$1" -gt 0 ] && [ "$2" -eq 0 ]
  exit
}

# The headless shell is Chromium without windows, menus and tabs, which take as long to start as the pages under test.
find_chromium() {
  for name in ${CHROMIUM_PATH:+"$CHROMIUM_PATH"} chromium-headless-shell chromium chromium-browser google-chrome; do
    command -v "$name" && return
  done
}

(needs=everything; . tools/install.sh) || finish 0 1

. tools/debian.sh

{ [ -n "$CHROMIUM_PATH" ] || command -v chromium-headless-shell; } >/dev/null || install_debian chromium-headless-shell
CHROMIUM_PATH=$(find_chromium)
[ -n "$CHROMIUM_PATH" ] || { install_debian chromium; CHROMIUM_PATH=$(find_chromium); }
if [ -z "$CHROMIUM_PATH" ]; then
  echo 'latchkey: the tests need Chromium: install it, or set CHROMIUM_PATH' >&2
  finish 0 1
fi
export CHROMIUM_PATH
# The keychain tests are skipped without these.
{ command -v gnome-keyring-daemon && command -v dbus-daemon; } >/dev/null || install_debian gnome-keyring dbus
# The tests of deploy/ that need these are skipped without them.
{ command -v caddy && command -v nginx && command -v promtool; } >/dev/null || install_debian caddy nginx prometheus

# Each relying party is skipped without its packages.
[ -e /usr/lib/apache2/modules/mod_auth_openidc.so ] && /usr/bin/python3 -c 'import authlib, flask, requests' 2>/dev/null ||
  install_debian libapache2-mod-auth-openidc python3-authlib python3-flask python3-requests

# The sandboxes of the guide that need these are skipped without them. The server is outside the PATH of users.
{ command -v bwrap && command -v ssh && [ -x /usr/sbin/sshd ]; } >/dev/null || install_debian bubblewrap openssh-client openssh-server

# The tests through a pooler are skipped without it. Debian keeps it outside the PATH of users.
{ command -v pgbouncer || [ -x /usr/sbin/pgbouncer ]; } >/dev/null || install_debian pgbouncer

# What the tests draw. Set it to repeat a run that failed.
LATCHKEY_TEST_SEED=${LATCHKEY_TEST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
export LATCHKEY_TEST_SEED
echo "LATCHKEY_TEST_SEED=$LATCHKEY_TEST_SEED"

[ ! -t 2 ] || { FORCE_COLOR=1 && export FORCE_COLOR; }
mkdir -p artifacts

# The whole suite starts both programs many hundred times. The executables start in a fifth and half of the time of the
# source, which is what a single test file runs: it needs no build after each change.
suffix=
if [ $# -eq 0 ] || [ "$*" = long ]; then
  if [ "$*" = long ]; then
    LATCHKEY_TEST_LONG=1
    export LATCHKEY_TEST_LONG
    suffix=-long
    # Without ./ Bun takes a path for a filter.
    set -- $(find ./packages ./tests -name '*.long.test.ts' -not -path '*/node_modules/*') \
      $(grep -rl --include='*.test.ts' --exclude-dir=node_modules '/long.ts' ./packages ./tests)
  else
    set -- --path-ignore-patterns='**/*.long.test.ts' ./packages ./tests
  fi
  LATCHKEY_TEST_SERVER=$PWD/artifacts/latchkey-server
  LATCHKEY_TEST_CLI=$PWD/artifacts/latchkey
  export LATCHKEY_TEST_SERVER LATCHKEY_TEST_CLI
  for program in "$LATCHKEY_TEST_SERVER" "$LATCHKEY_TEST_CLI"; do
    node_modules/.bin/bun tools/release/single-file.ts "${program##*/}" "$program" || finish 0 1
  done
fi

# Databases of tests need no disk. Memory must be large enough for them, and must be allowed to hold programs.
least_free_kib=8388608
in_memory=/dev/shm
is_large() { [ "$(df -Pk $in_memory 2>/dev/null | awk 'NR == 2 { print $4 }')" -gt $least_free_kib ] 2>/dev/null; }
runs_programs() {
  probe=$in_memory/latchkey-probe.$$
  cp /bin/true "$probe" 2>/dev/null && "$probe"
  probed=$?
  rm -f "$probe"
  return $probed
}
if [ -z "$TMPDIR" ] && is_large && [ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -gt $least_free_kib ] && runs_programs; then
  TMPDIR=$in_memory
  export TMPDIR
fi
rm -f "artifacts/junit$suffix.xml" artifacts/status
log=artifacts/tests$suffix.log

# Four files at a time, because tests also wait for a browser or a mail. The counts come from Bun's summary: its JUnit
# report omits files that fail to load. Reading to the end of the pipe also waits for every process that the
# tests started.
{
  node_modules/.bin/bun test --parallel=4 --no-isolate --timeout 60000 --reporter=junit --reporter-outfile="artifacts/junit$suffix.xml" "$@" 2>&1
  echo $? >artifacts/status
} | tee "$log"
status=$(cat artifacts/status)
rm -f artifacts/status

# The last `N pass` and `N fail` of the summary. Empty if Bun crashed.
escape=$(printf '\033')
counts=$(sed "s/$escape\[[0-9;]*m//g" "$log" |
  awk 'NF == 2 && $2 == "pass" { pass = $1 } NF == 2 && $2 == "fail" { fail = $1 }
    /^Ran [0-9]+ tests? across/ { print pass + 0, fail + 0 }' | tail -n 1)
passed=${counts% *}
failed=${counts#* }
[ "$status" -eq 0 ] || [ "${failed:-0}" -gt 0 ] || failed=1
finish "${passed:-0}" "${failed:-0}"
