#!/bin/sh
# `npm test`: runs the tests, or passes its arguments to `bun test` (`npm test -- tests/x.test.ts`). With options only, such as
# `-- --randomize --seed=7`, it runs all of them so.
# With LATCHKEY_TEST_LONG=1 (`npm run test:long`) it also runs what takes too long for every change, `*.long.test.ts`, and at full
# length what draws or combines its cases.
# The last line of output is always `N passed, N failed`. A crash of Bun, an error outside of the tests and a process that outlives
# them count as a failure.
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

# The test of pg_dump, which npm does not have, is skipped without a server of the same version.
[ -n "$(ls /usr/lib/postgresql/*/bin/pg_dump 2>/dev/null)" ] || install_debian postgresql

# What the tests draw. Set it to repeat a run that failed.
LATCHKEY_TEST_SEED=${LATCHKEY_TEST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
export LATCHKEY_TEST_SEED
echo "LATCHKEY_TEST_SEED=$LATCHKEY_TEST_SEED"

[ ! -t 2 ] || { FORCE_COLOR=1 && export FORCE_COLOR; }
mkdir -p artifacts

whole=yes
for argument in "$@"; do
  case $argument in -* | [0-9]*) ;; *) whole= ;; esac
done

# A keychain is a daemon with its own session bus, for which tests mostly wait. These tests run one after the other, beside the rest.
lane=$(grep -rl --include='*.test.ts' --exclude-dir=node_modules '/secret-service.ts' ./packages ./tests)

# The whole suite starts both programs many hundred times. The executables start in a fifth and half of the time of the
# source, which is what a single test file runs: it needs no build after each change.
if [ -n "$whole" ]; then
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

# Processes inherit this, so that one that outlives the tests is found.
PATH=$PATH:/latchkey-test-$$
export PATH

log=artifacts/tests.log
rm -f artifacts/junit*.xml artifacts/statuses
: >"$log"

# The one limit of a test, in milliseconds: it ends what hangs, and leaves room for a machine with ten times as much to do. A wait
# within it ends earlier and says what it waited for (tests/support/until.ts).
limit=180000
case "$LATCHKEY_TEST_LONG $*" in 1\ * | *.long.*) limit=900000 ;; esac

# Runs a part of the tests, whose name the report gets. The counts come from Bun's summary: its JUnit report omits files that
# fail to load. Reading its output to the end of the pipe also waits for every process that the tests started.
run() {
  report=artifacts/junit$1.xml
  shift
  node_modules/.bin/bun test --timeout $limit --reporter=junit --reporter-outfile="$report" "$@" 2>&1
  echo $? >>artifacts/statuses
}

if [ -n "$whole" ]; then
  ignored=
  for file in $lane; do ignored="$ignored --path-ignore-patterns=${file#./}"; done
  [ "$LATCHKEY_TEST_LONG" = 1 ] || ignored="$ignored --path-ignore-patterns=**/*.long.test.ts"
  set -f
  keychain=$(mktemp)
  # Ctrl-C does not reach what runs in the background.
  trap 'trap - TERM; kill 0' INT
  run -keychain "$@" $lane | cat >"$keychain" &
  # Four files at a time, because tests also wait for a browser or a mail.
  run '' --parallel=4 --no-isolate $ignored "$@" ./packages ./tests | tee -a "$log"
  set +f
  wait
  tee -a "$log" <"$keychain"
  rm "$keychain"
else
  run '' --parallel=4 --no-isolate "$@" | tee -a "$log"
fi

plain=$(mktemp)
trap 'rm -f "$plain"' EXIT
escape=$(printf '\033')
sed "s/$escape\[[0-9;]*m//g" "$log" >"$plain"

# The sums of the last `N pass` and `N fail` of each part.
counts=$(awk 'NF == 2 && $2 == "pass" { pass = $1 } NF == 2 && $2 == "fail" { fail = $1 }
  /^Ran [0-9]+ tests? across/ { passed += pass; failed += fail; pass = fail = 0 }
  END { print passed + 0, failed + 0 }' "$plain")
passed=${counts% *}
failed=${counts#* }
[ "$failed" -gt 0 ] || ! grep -qvx 0 artifacts/statuses || failed=1

if grep -E 'panic\(|Segmentation fault|Bun has crashed|test worker .*(crashed|exited)|Unhandled error between tests' "$plain" >&2; then
  echo 'latchkey: Bun has crashed, or something failed outside of the tests: see above' >&2
  failed=$((failed + 1))
fi
# What the tests have started, a line each.
outlived() {
  for environment in /proc/[0-9]*/environ; do
    process=${environment%/environ}
    [ "$process" = "/proc/$$" ] || ! grep -qs "/latchkey-test-$$" "$environment" || cat "$process/cmdline" 2>/dev/null | tr '\0\n' '  ' | grep .
  done
}
# The shells that clean up (tests/support/cleanup.ts) end a few seconds after their tests on a busy machine.
tries=600
while [ $tries -gt 0 ] && [ -n "$(outlived)" ]; do
  sleep 0.1
  tries=$((tries - 1))
done
left=$(outlived)
if [ -n "$left" ]; then
  echo "latchkey: still running after the tests: $left" >&2
  failed=$((failed + $(echo "$left" | wc -l)))
fi
rm -f artifacts/statuses
finish "$passed" "$failed"
