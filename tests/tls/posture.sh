#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# usage: posture.sh [POSTURE_PEER BECK_SERVE]; without them those of build/release, which ./test --peers builds
# openssl s_client and s_server, sslscan and curl against the TLS of beck, with each way of being wrong; sslscan and
# curl against beck-serve. Ends with 0 if every answer is the documented one; at most 3 minutes. On the loopback only;
# ends what it has started.
set -euo pipefail
built=$(dirname "${BASH_SOURCE[0]}")/../../build/release
peer=$(realpath -e "${1:-$built/tests/tls_posture_peer}")
beck_serve=$(realpath -e "${2:-$built/apps/beck-serve/beck-serve}")
room=$(mktemp -d)
started=()
failures=0
finish() {
  for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$room"
}
trap finish EXIT
cd "$room"
"$peer" files "$room"
roots=root.pem
issuing=(-CAfile root.pem)

# expect NAME PATTERN: the output of the last command has a line that matches.
expect() {
  if grep -qE -- "$2" "$room/out"; then
    echo "ok: $1"
  else
    failures=$((failures + 1))
    echo "FAILED: $1: no line matches: $2"
    sed 's/^/    | /' "$room/out" | tail -15
  fi
}
# refuse NAME PATTERN: no line matches.
refuse() {
  if grep -qE -- "$2" "$room/out"; then
    failures=$((failures + 1))
    echo "FAILED: $1: a line matches: $2"
    grep -E -- "$2" "$room/out" | sed 's/^/    | /' | head -5
  else
    echo "ok: $1"
  fi
}
# pause: a twentieth of a second without a process.
pause() { read -r -t 0.05 <> <(:) || true; }
# listening FILE: waits until a server has written its port there, and sets `port`.
listening() {
  for _ in $(seq 200); do
    port=$(grep -oE '(port |ACCEPT .*:|^listening: .*:)[0-9]+' "$1" 2>/dev/null | grep -oE '[0-9]+$' | head -1) || true
    [ -z "$port" ] || return 0
    pause
  done
  echo "no port in $1:" >&2
  cat "$1" >&2
  return 1
}
# serve NAME OPTION...: starts a server of beck's with the identity NAME, and sets `port` and `server`.
serve() {
  local name=$1
  shift
  : >"$room/server.log"  # the port of the server before must not be found in it
  "$peer" serve "$name.pem" "$name.key" "$@" >"$room/server.log" 2>&1 &
  server=$!
  started+=("$server")
  listening "$room/server.log"
}
# stop: ends the server that was started last.
stop() {
  kill "$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
}
# client OPTION...: s_client without a terminal; what it sends is the input.
client() { timeout 10 openssl s_client -connect "127.0.0.1:$port" "${issuing[@]}" "$@" >"$room/out" 2>&1 || true; }
# lines LINE...: prints each by itself, with a pause, as s_client takes commands; then waits for the answer.
lines() {
  local line
  for _ in 1 2 3 4 5 6; do pause; done
  for line in "$@"; do
    printf '%s\n' "$line"
    for _ in 1 2 3 4; do pause; done
  done
}
# fetch OPTION...: curl; the output ends with its status.
fetch() {
  local status=0
  timeout 10 curl -sS --noproxy '*' --cacert "$roots" "$@" >"$room/out" 2>&1 || status=$?
  echo "curl: $status" >>"$room/out"
}
at() { fetch --resolve "$1:$port:127.0.0.1" "${@:2}" "https://$1:$port/"; }

echo '== openssl s_client against the server'
serve good --identity other_name.pem,other_name.key --identity wildcard.pem,wildcard.key
for version in tls1_2 tls1_3; do
  client -"$version" -verify_return_error -servername example.com -verify_hostname example.com </dev/null
  expect "$version" 'Verify return code: 0 \(ok\)'
  expect "$version: the temporary key is of X25519" 'X25519'
  refuse "$version: no compression" 'Compression: [^N]'
done
for version in tls1 tls1_1; do
  client -"$version" -cipher 'ALL:@SECLEVEL=0' </dev/null
  expect "$version is refused" 'alert (protocol version|handshake failure)|no protocols available'
  refuse "$version has no cipher" 'Cipher is [^(]'
done
client -servername other.example </dev/null
expect 'SNI: an exact name' 'subject=CN = other.example'
client -servername a.example.com </dev/null
expect 'SNI: a wildcard' 'subject=CN = wildcard'
client -servername nobody.example </dev/null
expect 'SNI: an unknown name gets the first identity' 'subject=CN = example.com'
client -noservername </dev/null
expect 'SNI: no name gets the first identity' 'subject=CN = example.com'
client -alpn h2,http/1.1 </dev/null
expect 'ALPN: http/1.1' 'ALPN protocol: http/1.1'
client -alpn h2 </dev/null
expect 'ALPN: others are refused' 'alert no application protocol'
client -tls1_2 < <(lines R)
expect 'renegotiation is refused' 'no renegotiation'
client -tls1_3 </dev/null
expect 'no early data' 'Early data was not sent'
refuse 'no ticket allows early data' 'Max Early Data: [1-9]'
for version in tls1_2 tls1_3; do
  client -"$version" -servername example.com -sess_out session < <(lines 'GET / HTTP/1.1')
  [ "$(grep -c 'Post-Handshake New Session Ticket' out)" -le 1 ] || echo 'two tickets' >>out
  refuse "$version: one ticket at most" '^two tickets'
  client -"$version" -servername example.com -sess_in session </dev/null
  expect "$version: a session is resumed" '^Reused'
  client -"$version" -servername a.example.com -sess_in session </dev/null
  expect "$version: not for another identity" '^New'
done
client -tls1_3 -crlf -servername example.com < <(lines k K 'GET / HTTP/1.1' 'Host: a' 'Connection: close' '')
expect 'key updates of both kinds' '^hello'
# 40 of them are more than a second may have; they come in two.
commands() {
  for _ in {1..6}; do pause; done
  for _ in {1..40}; do
    echo k
    pause
  done
  lines 'GET / HTTP/1.1' 'Host: a' 'Connection: close' ''
}
client -tls1_3 -crlf -servername example.com < <(commands)
expect 'many key updates in their time' '^hello'
client -no_tls1_3 -fallback_scsv </dev/null
expect 'a downgrade is refused' 'inappropriate fallback'
client -cipher AES128-SHA:AES256-GCM-SHA384 -tls1_2 </dev/null
expect 'no cipher without forward secrecy' 'alert handshake failure'
client -cipher ECDHE-ECDSA-AES128-SHA -tls1_2 </dev/null
expect 'no cipher without authentication of data' 'alert handshake failure'
client -groups X448 -tls1_3 </dev/null
expect 'no group besides the three' 'alert handshake failure'
client -groups P-256 -tls1_3 </dev/null
expect 'P-256' 'Verify return code: 0'
client -sigalgs RSA+SHA1:ECDSA+SHA1 -tls1_2 -cipher 'ALL:@SECLEVEL=0' </dev/null
expect 'no signature with SHA-1' 'alert (handshake failure|internal error)|no suitable'
fetch "http://127.0.0.1:$port/"
expect 'HTTP without TLS is closed' 'curl: (52|56|1)$'
at example.com
expect 'the server has noticed nothing' '^hello'
cp rsa.pem good.pem && cp rsa.key good.key && kill -HUP "$server"
for _ in $(seq 100); do grep -q reloaded server.log && break; pause; done
client -servername example.com </dev/null
expect 'SIGHUP: new connections see the new files' 'Peer signature type: RSA'
echo garbage >good.pem && kill -HUP "$server"
for _ in $(seq 100); do grep -q 'not reloaded' server.log && break; pause; done
cp server.log out
expect 'a broken file is told, with its name' 'not reloaded: load certificate "good.pem: there is no BEGIN'
at example.com
expect 'and the server goes on' '^hello'
stop
"$peer" files "$room"

# scan NAME: sslscan against the server that was started last.
scan() {
  timeout 60 sslscan --no-colour "127.0.0.1:$port" >out 2>&1 || true
  for version in SSLv2 SSLv3 TLSv1.0 TLSv1.1; do expect "$1: $version is off" "^$version +disabled"; done
  for version in TLSv1.2 TLSv1.3; do expect "$1: $version is on" "^$version +enabled"; done
  expect "$1: fallback" 'supports TLS Fallback SCSV'
  expect "$1: renegotiation" 'Session renegotiation not supported'
  expect "$1: compression" 'Compression disabled|does not support compression'
  expect "$1: a cipher of 1.3" '^Preferred +TLSv1.3 '
  expect "$1: a cipher of 1.2" '^Preferred +TLSv1.2 +256 bits +ECDHE-ECDSA-AES256-GCM-SHA384'
  refuse "$1: heartbleed" '^TLSv1.[0-9] vulnerable'
  grep -E '^(Accepted|Preferred)' out >ciphers
  grep -vE ' (TLS_AES_|TLS_CHACHA20_|ECDHE-ECDSA-AES[0-9]+-GCM-|ECDHE-ECDSA-CHACHA20-)' ciphers >out || true
  refuse "$1: every other cipher" .
}

echo '== sslscan'
serve good
scan peer
stop
mkdir -p site && echo 'from a file' >site/page.txt
: >server.log
"$beck_serve" site --port 0 --cert good.pem --key good.key >server.log 2>&1 &
server=$!
started+=("$server")
listening server.log
scan beck-serve
fetch --resolve "example.com:$port:127.0.0.1" "https://example.com:$port/page.txt"
expect 'beck-serve: a file' '^from a file'
fetch --tls-max 1.1 --resolve "example.com:$port:127.0.0.1" "https://example.com:$port/page.txt"
expect 'beck-serve: an old version is refused' 'curl: 35'
stop

echo '== curl against the server'
serve good --ocsp good.ocsp
at example.com
expect 'the right name' '^hello'
at other.example
expect 'wrong name' 'curl: 60'
at example.com --cert-status
expect 'OCSP stapling' '^hello'
fetch --pinnedpubkey "sha256//$(openssl x509 -in rsa.pem -noout -pubkey | openssl pkey -pubin -outform der |
  openssl dgst -sha256 -binary | base64)" --resolve "example.com:$port:127.0.0.1" "https://example.com:$port/"
expect 'another pin' 'curl: 90'
stop
for wrong in expired not_yet_valid self_signed no_intermediate other_root; do
  serve "$wrong" --any-date yes
  at example.com
  expect "$wrong" 'curl: 60'
  at example.com -k
  expect "$wrong: the server serves on" '^hello'
  stop
done
serve revoked
at example.com
expect 'revoked, without a list' '^hello'
at example.com --crlfile lists.crl
expect 'revoked' 'curl: 60'
at example.com --cert-status
expect 'no OCSP response' 'curl: 91'
stop
serve good --clients root.pem
at example.com
expect 'client certificate missing' 'curl: (56|35)'
at example.com --tlsv1.2 --tls-max 1.2
expect 'client certificate missing, 1.2' 'curl: (56|35)'
at example.com --cert other_client.pem --key other_client.key
expect 'client certificate of another root' 'curl: (56|35)'
at example.com --cert client.pem --key client.key
expect 'client certificate' '^hello'
stop

echo '== the client against openssl s_server'
# foreign OPTION...: starts s_server with the input that the caller gives, and sets `port` and `server`.
foreign() {
  rm -f input
  mkfifo input
  : >server.log
  openssl s_server -accept 127.0.0.1:0 "$@" <input >server.log 2>&1 &
  server=$!
  started+=("$server")
  exec 9>input
  listening server.log
}
quit() {
  exec 9>&-
  stop
}
# get NAME OPTION...: the client of beck's; the output ends with its line.
get() { timeout 10 "$peer" get "$1" "$port" 'GET / HTTP/1.0
' --roots "$roots" "${@:2}" >out 2>&1 || true; }

chain() { echo -cert "$1.pem" -key "$1.key" -cert_chain "$1.pem"; }
# shellcheck disable=SC2046
foreign $(chain good) -www
get example.com
expect 'good' '^done TLSv1.3 - example.com whole'
get example.com --times 3
expect 'resumed, 1.3' '^done TLSv1.3 - example.com resumed'
get example.com --times 3 --most 1.2
expect 'resumed, 1.2' '^done TLSv1.2 - example.com resumed'
get other.example
expect 'wrong name' 'not valid for "other.example": it is a certificate for example.com, www.example.com'
get example.com --pin "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
expect 'wrong pin' 'no key of its chain is pinned'
get example.com --ocsp yes
expect 'OCSP demanded' 'the server sent none'
quit
for wrong in expired:'has expired' not_yet_valid:'is not valid yet' self_signed:'is self-signed' \
  no_intermediate:'was not sent along' other_root:'"Foreign Root"' for_clients:'unsuitable certificate purpose' \
  weak:'(too weak|key too|alert)'; do
  name=${wrong%%:*}
  # shellcheck disable=SC2046
  foreign $(chain "$name") -www -cipher 'ALL:@SECLEVEL=0'
  get example.com
  expect "$name" "^failed: .*${wrong#*:}"
  quit
done
# shellcheck disable=SC2046
foreign $(chain revoked) -www
get example.com --lists lists.crl
expect 'revoked' 'was revoked by its issuer'
quit
# shellcheck disable=SC2046
foreign $(chain good) -www -status_file good.ocsp
get example.com --ocsp yes
expect 'OCSP' '^done TLSv1.3'
get example.com --ocsp yes --most 1.2
expect 'OCSP, 1.2' '^done TLSv1.2'
quit
# shellcheck disable=SC2046
foreign $(chain good) -www -alpn http/1.1
get example.com --protocols 'h2 http/1.1'
expect 'ALPN' '^done TLSv1.3 http/1.1'
get example.com --protocols 'h2'
expect 'ALPN refused' '^failed: .*none of our application protocols'
quit
for version in tls1 tls1_1; do
  # shellcheck disable=SC2046
  foreign $(chain good) -www -"$version" -cipher 'ALL:@SECLEVEL=0'
  get example.com
  expect "$version" '^failed: .*(version)'
  quit
done
# shellcheck disable=SC2046
foreign $(chain good) -www -tls1_2 -cipher 'ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0'
get example.com
expect 'no shared cipher' '^failed: .*alert 40'
quit
# shellcheck disable=SC2046
foreign $(chain good) -www -Verify 2 "${issuing[@]}" -verify_return_error
get example.com
expect 'client certificate demanded' '^failed: The peer demands a client certificate'
get example.com --identity client.pem,client.key
expect 'client certificate' '^done TLSv1.3'
get example.com --identity other_client.pem,other_client.key
expect 'client certificate of another root' '^failed: The peer (does not trust|found|ended)'
quit
# shellcheck disable=SC2046
foreign $(chain good)
{ timeout 10 "$peer" get example.com "$port" hello --roots "$roots" >out 2>&1 || true; } &
getting=$!
lines >/dev/null
lines k K 'behind the key updates' Q >&9
wait "$getting" 2>/dev/null
expect 'key updates of both kinds' 'behind the key updates'
expect 'the missing close_notify of s_server is told' '^failed: The stream ended without close_notify'
quit
# shellcheck disable=SC2046
foreign $(chain good)
{ timeout 10 "$peer" get example.com "$port" hello --roots "$roots" >out 2>&1 || true; } &
getting=$!
lines 'then it dies' >&9
kill "$server"
wait "$server" 2>/dev/null || true
wait "$getting" 2>/dev/null
expect 'truncated' '^failed: The stream ended without close_notify'
quit
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
timeout 60 python3 -m http.server --bind 127.0.0.1 "$port" >server.log 2>&1 &
server=$!
started+=("$server")
until curl -s --noproxy '*' -o /dev/null "http://127.0.0.1:$port/root.pem"; do
  kill -0 "$server"
  pause
done
get example.com
expect 'a server without TLS' '^failed: The peer does not speak TLS'
stop

[ "$failures" -ne 0 ] || echo 'posture: passed'
exit "$((failures != 0))"
