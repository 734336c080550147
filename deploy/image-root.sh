#!/bin/sh
# image-root.sh PROGRAM DIRECTORY: writes the files of the container image into a new directory.
set -eu
program=$1
directory=$2

# The mode of a directory in the image must not depend on the umask of the build.
umask 022
mkdir -p "$directory/data" "$directory/etc"
install -m 755 "$program" "$directory/latchkey-server"
# The C library and its loader, at the same paths as here.
ldd "$program" | grep -o '/[^ ]*' | xargs cp --parents --dereference --target-directory="$directory"
# Without this file the C library would ask DNS before /etc/hosts.
echo 'hosts: files dns' >"$directory/etc/nsswitch.conf"
