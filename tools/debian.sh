# Defines install_debian, which installs Debian packages if run as root on Debian. Sourced by the other scripts.
install_debian() {
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "latchkey: installing $* ..." >&2
    DEBIAN_FRONTEND=noninteractive
    export DEBIAN_FRONTEND
    { apt-get -qq update && apt-get -qq install -y --no-install-recommends "$@"; } >&2
  fi
}
