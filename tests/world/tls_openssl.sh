#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# usage: tls_openssl.sh PORT CHAIN KEY POSTURE_PEER
# openssl s_client against beck-serve at PORT, which has page.txt, and beck's client against openssl s_server with the
# same certificate, for localhost: both versions, sessions resumed, and keys updated. tests/tls/posture.sh goes further.
set -euo pipefail
port=$1 chain=$2 key=$3 peer=$4
room=$(mktemp -d)
server=
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$room"
}
trap finish EXIT
cd "$room"

# pause: a twentieth of a second without a process.
pause() { read -r -t 0.05 <> <(:) || true; }
# expect NAME PATTERN FILE
expect() {
  if grep -qE -- "$2" "$3"; then
    echo "ok: $1"
  else
    echo "FAILED: $1: no line matches: $2"
    tail -15 "$3"
    exit 1
  fi
}
# typed LINE...: types each behind the handshake; keeps the input open until the response is there, with the file that
# it comes to in `answer`.
typed() {
  local line try
  for try in {1..100}; do
    grep -q 'Verify return code\|^Protocol  *:' "$answer" 2>/dev/null && break
    pause
  done
  for line in "$@"; do
    printf '%s\n' "$line"
    pause
    pause
  done
  for try in {1..100}; do
    grep -qE '^hello|errno|closed' "$answer" && break
    pause
  done
}
get=('GET /page.txt HTTP/1.1' 'Host: localhost' 'Connection: close' '')

# client NAME OPTION...: s_client with the input that the caller gives.
client() {
  answer=$room/$1
  timeout 30 openssl s_client -connect "127.0.0.1:$port" -servername localhost -verify_return_error -CAfile "$chain" \
    -crlf "${@:2}" >"$answer" 2>&1 || true
}
for version in tls1_2 tls1_3; do
  answer=$room/$version
  client "$version" "-$version" -sess_out session < <(typed "${get[@]}")
  expect "s_client, $version" '^hello' "$answer"
  answer=$room/$version-again
  client "$version-again" "-$version" -sess_in session < <(typed "${get[@]}")
  expect "s_client, $version: the session is resumed" '^Reused' "$answer"
done
answer=$room/updated
client updated -tls1_3 < <(typed k K k "${get[@]}")
expect 's_client: keys are updated' '^hello' "$answer"

for version in 1.2 1.3; do
  : >log
  openssl s_server -accept 127.0.0.1:0 -cert "$chain" -key "$key" -www "-tls${version/./_}" >log 2>&1 &
  server=$!
  port=
  for _ in {1..200}; do
    port=$(sed -n 's/^ACCEPT .*:\([0-9]*\)$/\1/p' log)
    [ -z "$port" ] || break
    pause
  done
  [ -n "$port" ] || { echo 'FAILED: s_server has no port'; cat log; exit 1; }
  timeout 30 "$peer" get localhost "$port" 'GET / HTTP/1.0
' --roots "$chain" --times 3 >got 2>&1 || true
  expect "s_server, $version: three connections, resumed" "^done TLSv$version - .* resumed" got
  kill "$server"
  wait "$server" 2>/dev/null || true
  server=
done
