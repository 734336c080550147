#!/bin/sh
# check-token.sh SCOPE <TOKEN
# Prints the user's ID and ends with 0 if the token on standard input is a user's, is active and has the scope. Ends with
# 1 if not, and with 2 if Latchkey cannot be asked. Needs curl, and the service key in SERVICE_KEY.
scope=${1:?}
read -r token
case $token in '' | *[!A-Za-z0-9_-]*) exit 1 ;; esac

# curl reads key and token from standard input, because every user of the machine can see its arguments.
answer=$(
  curl --silent --fail --max-time 5 --config - "${LATCHKEY_SERVER:-http://localhost:8787}/api/v1/auth/introspect" <<END
user = "$SERVICE_KEY"
data = "token=$token"
END
) || exit 2

# A quotation mark inside a JSON string is escaped, so these patterns find members only.
has() { printf %s "$answer" | grep -q "$1"; }
has '"active":true' && has '"token_use":"\(access_token\|key\)"' || exit 1
# This program enforces no type of authorization details, so it refuses every token that has some.
has '"authorization_details":' && exit 1
granted=$(printf %s "$answer" | sed -n 's/.*"scope":"\([^"]*\)".*/\1/p')
case " $granted " in *" $scope "* | ' * ') ;; *) exit 1 ;; esac
user=$(printf %s "$answer" | grep -o '"sub":"usr_[^"]*"' | cut -d '"' -f 4)
[ -n "$user" ] && echo "$user"
