#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# usage: client_peers.sh EXAMPLES_DIR
# The client against servers that know nothing of beck: nginx and Go's net/http, straight and through the proxy of the
# examples. Ends with 0 if every response is what it should be; leaves out a server that is not installed, and says so.
set -euo pipefail
examples=$(cd "$1" && pwd)
room=$(mktemp -d)
started=()
finish() {
  for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$room"
}
trap finish EXIT

failures=0
# expect NAME STATUS BYTES URL...: every URL is got with this status and so many bytes, all of them at once.
expect() {
  local name=$1 status=$2 bytes=$3
  shift 3
  timeout 60 "$examples/http_get" "$@" >"$room/out" || true
  if [ "$(grep -c "^$status $bytes " "$room/out")" = $# ]; then
    echo "ok: $name"
  else
    failures=$((failures + 1))
    echo "FAILED: $name"
    head -5 "$room/out"
  fi
}
# listening FILE: waits until a started server has written its port there, and prints it.
listening() {
  for _ in $(seq 500); do
    if grep -qE '[0-9]+' "$1" 2>/dev/null; then
      grep -oE '[0-9]+' "$1" | head -1
      return
    fi
    read -r -t 0.02 <> <(:) || true
  done
  echo "no port in $1" >&2
  return 1
}
# requests NAME BASE: what every server below can do.
requests() {
  local name=$1 base=$2 many=()
  for i in $(seq 100); do many+=("$base/small?$i"); done
  expect "$name: 100 at once over 8 connections" 200 6 "${many[@]}"
  expect "$name: 10 MB" 200 10000000 "$base/large" "$base/large"
  expect "$name: an empty body" 200 0 "$base/empty"
  expect "$name: a redirect" 200 6 "$base/moved"
}

mkdir "$room/files"
printf 'small\n' >"$room/files/small"
head -c 10000000 /dev/zero >"$room/files/large"
: >"$room/files/empty"

if command -v nginx >/dev/null; then
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  cat >"$room/nginx.conf" <<CONF
daemon off; worker_processes 1; pid $room/nginx.pid; error_log $room/nginx.log;
events {}
http {
  access_log off; keepalive_requests 30; client_body_temp_path $room; proxy_temp_path $room;
  fastcgi_temp_path $room; uwsgi_temp_path $room; scgi_temp_path $room;
  server { listen 127.0.0.1:$port; root $room/files; location /moved { return 302 /small; } }
}
CONF
  nginx -e "$room/nginx.log" -c "$room/nginx.conf" &
  started+=($!)
  until timeout 5 "$examples/http_get" "http://127.0.0.1:$port/small" >/dev/null; do
    kill -0 "${started[-1]}"  # it has ended: its log says why
  done
  requests nginx "http://127.0.0.1:$port"
  nginx_port=$port
else
  echo "left out: nginx is not installed"
fi

go=$(command -v go || echo /usr/local/go/bin/go)
if [ -x "$go" ]; then
  cat >"$room/server.go" <<'GO'
package main

import (
    "fmt"
    "io"
    "net"
    "net/http"
    "os"
    "strings"
)

func main() {
    http.HandleFunc("/small", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "small\n") })
    http.HandleFunc("/empty", func(w http.ResponseWriter, r *http.Request) {})
    http.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/small", 307) })
    http.HandleFunc("/large", func(w http.ResponseWriter, r *http.Request) { // no length: it is sent in chunks
        for i := 0; i < 1000; i++ {
            io.WriteString(w, strings.Repeat("x", 10000))
        }
    })
    http.HandleFunc("/cut", func(w http.ResponseWriter, r *http.Request) {
        w.Header().Set("Content-Length", "100")
        io.WriteString(w, "only this")
        w.(http.Flusher).Flush()
        panic(http.ErrAbortHandler)
    })
    listener, err := net.Listen("tcp", "127.0.0.1:0")
    if err != nil {
        panic(err)
    }
    fmt.Fprintln(os.Stdout, listener.Addr().(*net.TCPAddr).Port)
    http.Serve(listener, nil)
}
GO
  (cd "$room" && GOCACHE="$room/go-cache" GOFLAGS=-mod=mod "$go" build -o go-server server.go)
  "$room/go-server" >"$room/go.port" &
  started+=($!)
  port=$(listening "$room/go.port")
  requests Go "http://127.0.0.1:$port"
  timeout 60 "$examples/http_get" "http://127.0.0.1:$port/cut" >"$room/out" && failures=$((failures + 1))
  if grep -q "before the response was whole after 9 bytes" "$room/out"; then
    echo "ok: Go: a response that is cut short"
  else
    failures=$((failures + 1))
    echo "FAILED: Go: a response that is cut short"
    cat "$room/out"
  fi
else
  echo "left out: Go is not installed"
fi

if [ -n "${nginx_port:-}" ]; then
  "$examples/http_proxy" 0 "http://127.0.0.1:$nginx_port" 2>"$room/proxy.port" &
  started+=($!)
  port=$(listening "$room/proxy.port")
  requests "the proxy before nginx" "http://127.0.0.1:$port"
fi
[ "$failures" = 0 ] || { echo "$failures failed" && exit 1; }
