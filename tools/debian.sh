# Defines install_debian, which installs Debian packages if run as root on Debian, and starts none of their services. Sourced
# by the other scripts.
install_debian() {
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "latchkey: installing $* ..." >&2
    DEBIAN_FRONTEND=noninteractive
    export DEBIAN_FRONTEND
    policy=/usr/sbin/policy-rc.d
    if [ -e "$policy" ]; then policy=; else printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"; fi
    (
      trap '[ -z "$policy" ] || rm -f "$policy"' EXIT
      trap 'exit 1' HUP INT TERM
      apt-get -qq update && apt-get -qq install -y --no-install-recommends "$@"
    ) >&2
  fi
}
