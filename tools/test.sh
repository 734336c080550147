#!/bin/sh
# `npm test`: everything, or with arguments (`npm test -- tests/x.test.ts`) what `bun test` makes of them.
# The last line is always `N passed, N failed`.
cd "$(dirname "$0")/.." || exit 1

finish() {
  echo "$1 passed, $2 failed"
  [ "$1" -gt 0 ] && [ "$2" -eq 0 ]
  exit
}

find_chromium() {
  for name in ${CHROMIUM_PATH:+"$CHROMIUM_PATH"} chromium chromium-browser google-chrome; do
    command -v "$name" && return
  done
}

(needs=everything; . tools/install.sh) || finish 0 1

. tools/debian.sh

CHROMIUM_PATH=$(find_chromium)
[ -n "$CHROMIUM_PATH" ] || { install_debian chromium; CHROMIUM_PATH=$(find_chromium); }
if [ -z "$CHROMIUM_PATH" ]; then
  echo 'latchkey: the tests need Chromium: install it, or set CHROMIUM_PATH' >&2
  finish 0 1
fi
export CHROMIUM_PATH
# Without a keychain its tests are skipped.
{ command -v gnome-keyring-daemon && command -v dbus-daemon; } >/dev/null || install_debian gnome-keyring dbus

[ $# -gt 0 ] || set -- ./packages ./tests
[ ! -t 2 ] || { FORCE_COLOR=1 && export FORCE_COLOR; }
mkdir -p artifacts
rm -f artifacts/junit.xml artifacts/status
log=artifacts/tests.log

# Two files at a time: most of a test is waiting, for a browser, a mail or a disk.
# Bun's own summary counts files that do not load; its JUnit report does not. Reading to the end of the pipe
# also waits until everything that the tests started is gone.
{
  node_modules/.bin/bun test --parallel=2 --no-isolate --timeout 30000 --reporter=junit --reporter-outfile=artifacts/junit.xml "$@" 2>&1
  echo $? >artifacts/status
} | tee "$log"
status=$(cat artifacts/status)
rm -f artifacts/status

# The last `N pass` and the `N fail` after it; none when Bun itself broke down.
escape=$(printf '\033')
counts=$(sed "s/$escape\[[0-9;]*m//g" "$log" |
  awk 'NF == 2 && $2 == "pass" { pass = $1 } NF == 2 && $2 == "fail" { fail = $1 }
    /^Ran [0-9]+ tests? across/ { print pass + 0, fail + 0 }' | tail -n 1)
passed=${counts% *}
failed=${counts#* }
[ "$status" -eq 0 ] || [ "${failed:-0}" -gt 0 ] || failed=1
finish "${passed:-0}" "${failed:-0}"
