#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# usage: leaderboard.sh PROGRAM [OPTION]...
# Runs the leaderboard with a redis-server of its own, which listens on a UNIX socket in a new folder under build/,
# keeps nothing on the disk, and ends behind the program.
set -euo pipefail
program=$1
shift
mkdir -p build
folder=$(mktemp -d "$PWD/build/leaderboard.XXXXXX")
trap 'rm -rf "$folder"' EXIT

# Both are in sessions of their own, so that Ctrl-C ends the program alone: its last requests need the server. They end
# with this shell, whatever ends it.
apart=(setsid setpriv --pdeathsig TERM)

"${apart[@]}" redis-server --port 0 --unixsocket "$folder/redis.sock" --save '' --dir "$folder" >"$folder/log" 2>&1 &
redis=$!
until [ -S "$folder/redis.sock" ]; do
  kill -0 "$redis" 2>/dev/null || { cat "$folder/log" >&2; exit 1; }
  sleep 0.02
done

"${apart[@]}" "$program" --redis "unix://$folder/redis.sock" "$@" &
leaderboard=$!
trap 'kill "$leaderboard" 2>/dev/null || true' INT TERM HUP
while kill -0 "$leaderboard" 2>/dev/null; do wait "$leaderboard" || true; done  # a signal ends a wait
status=0
wait "$leaderboard" || status=$?
kill "$redis"
wait "$redis" || true
exit "$status"
