#!/bin/sh
# `npm start`: runs the service. Each step uses `exec`, so that signals reach the service.
cd "$(dirname "$0")/.." || exit 1
. tools/install.sh
exec packages/server/bin/latchkey-server serve "$@"
