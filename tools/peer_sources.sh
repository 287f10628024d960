#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Fetches peers of benchmarks that no package of this Debian has, into build/peers. Installs nothing.
#
# usage: peer_sources.sh NAME...
#
# hiredis       the sources of hiredis 1.0, from Debian's source package of redis
# redis-tests   the test suite of redis-server, from the same
# boost-redis   the headers of Boost 1.88, from Debian 13's libboost1.88-dev
# newer-redis   redis-server 8 and valkey-server 8, from Debian 13, with the libraries that they load: a program of the
#               name under build/peers/newer/bin starts each
set -euo pipefail
cd "$(dirname "$0")/.."
peers=$PWD/build/peers

# apt_of SUITE TYPE ARGUMENT...: apt-get with the packages of one suite only, and lists of its own.
apt_of() {
  local suite=$1 kind=$2 place=$peers/apt/$1
  shift 2
  mkdir -p "$place/lists/partial" "$place/cache/archives/partial"
  echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" \
    >"$place/sources.list"
  apt-get -qq -o Dir::Etc::SourceList="$place/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$place/lists" -o Dir::Cache="$place/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}

# fetch_redis NAME STRIP PATTERN...: these files of the sources of Redis, into a folder of that name.
fetch_redis() {
  local to=$peers/$1 strip=$2
  shift 2
  [ ! -e "$to/.complete" ] || return 0
  mkdir -p "$peers/source" "$to"
  compgen -G "$peers/source/redis_*.orig.tar.*" >/dev/null || {
    apt_of bookworm deb-src update &&
      (cd "$peers/source" && apt_of bookworm deb-src source --download-only redis)
  } || return 1
  tar -xf "$peers"/source/redis_*.orig.tar.* -C "$to" --strip-components="$strip" --wildcards "$@" &&
    touch "$to/.complete"
}

fetch_boost_redis() {
  [ ! -e "$peers/boost/usr/include/boost/redis/resp3/parser.hpp" ] || return 0
  mkdir -p "$peers/source"
  apt_of trixie deb update
  (cd "$peers/source" && apt_of trixie deb download libboost1.88-dev)
  dpkg -x "$peers"/source/libboost1.88-dev_*.deb "$peers/boost"
}

# fetch_newer_redis: programs of Debian 13 run beside those of this Debian, with the loader and the libraries of theirs.
fetch_newer_redis() {
  local to=$peers/newer package program
  [ ! -e "$to/.complete" ] || return 0
  apt_of trixie deb update
  # With no installed packages, so that all that the two depend on is loaded.
  apt_of trixie deb -y --no-install-recommends --download-only -o Dir::State::status=/dev/null \
    install redis-server valkey-server >/dev/null
  rm -rf "$to" && mkdir -p "$to/root" "$to/bin"
  for package in "$peers"/apt/trixie/cache/archives/*.deb; do dpkg -x "$package" "$to/root"; done
  for program in redis-server valkey-server; do
    cat >"$to/bin/$program" <<END
#!/bin/sh
exec "$to/root/usr/lib64/ld-linux-x86-64.so.2" --argv0 $program \\
  --library-path "$to/root/usr/lib/x86_64-linux-gnu" "$to/root/usr/bin/$program" "\$@"
END
    chmod 755 "$to/bin/$program"
    "$to/bin/$program" --version >/dev/null || return 1
  done
  touch "$to/.complete"
}

for name in "$@"; do
  case $name in
    hiredis) fetch_redis hiredis 3 '*/deps/hiredis/*' ;;
    redis-tests) fetch_redis redis 1 '*/tests/*' ;;
    boost-redis) fetch_boost_redis ;;
    newer-redis) fetch_newer_redis ;;
    *)
      echo "an unknown peer: $name" >&2
      exit 2
      ;;
  esac || echo "$name cannot be fetched" >&2
done
