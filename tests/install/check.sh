#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# usage: check.sh WORK_DIR
# Builds and installs beck as a packager does, static and shared, and builds a user's project against it in every way
# that the README names. Fails at the first thing that does not work.
set -euo pipefail
work=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source=$PWD
consumer=$source/tests/install/consumer
jobs=${BECK_JOBS:-$(nproc)}
! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache
export CCACHE_BASEDIR=$source
# The code is tested elsewhere: here the library is compiled as quickly as can be, and with the options of ./test's dev
# build, so that ccache has it. For that WORK_DIR must be a folder of build/, too.
quickly=(-DCMAKE_CXX_COMPILER=g++ "-DCMAKE_CXX_FLAGS_RELEASE=-O0" -DCMAKE_POSITION_INDEPENDENT_CODE=ON
  -DBECK_WERROR=ON -DBECK_UNITE=ON)

say() { printf '== %s\n' "$*"; }

# build_and_run NAME OPTION...: configures the consumer, builds it and runs it.
build_and_run() {
  local folder=$work/consumer   # one for all, so that ccache knows the sources of the library that stand in it
  say "$1"
  shift
  rm -rf "$folder"
  cmake -S "$consumer" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@"
  cmake --build "$folder" -j "$jobs" --target consumer
  "$folder/consumer"
}

# with_pkg_config NAME PREFIX: builds and runs the consumer with nothing but the compiler and pkg-config.
with_pkg_config() {
  local name=$1 prefix=$2 flags
  say "$name"
  mkdir -p "$work/$name"
  flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs beck)
  # shellcheck disable=SC2086
  g++ -std=c++20 "$consumer/main.cpp" $flags -Wl,-rpath,"$prefix/lib" -o "$work/$name/consumer"
  "$work/$name/consumer"
}

# install_as KIND OPTION...: the commands of the README, into WORK_DIR/KIND-prefix. The sources are compiled once for
# both kinds.
install_as() {
  local kind=$1
  shift
  say "install $kind"
  rm -rf "$work/$kind-prefix"
  cmake -S . -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_LIBDIR=lib "${quickly[@]}" "$@"
  cmake --build "$work" -j "$jobs"
  cmake --install "$work" --prefix "$work/$kind-prefix"
}

expect() {
  say "$1"
  shift
  "$@" || { echo "this failed: $*" >&2; exit 1; }
}

install_as static -DBUILD_SHARED_LIBS=OFF
install_as shared -DBUILD_SHARED_LIBS=ON
for kind in static shared; do
  build_and_run "package-$kind" -DFROM=package "-DCMAKE_PREFIX_PATH=$work/$kind-prefix"
  with_pkg_config "pkg-config-$kind" "$work/$kind-prefix"
done

library=$work/shared-prefix/lib/libbeck.so
soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
expect "the shared library's SONAME is libbeck.so.0" test "$soname" = libbeck.so.0
expect "the consumer of the shared library links to it" \
  sh -c "readelf -d '$work/consumer/consumer' | grep -q 'NEEDED.*libbeck.so.0'"
expect "every public header is installed" \
  diff <(cd include && find beck -type f | sort) <(cd "$work/static-prefix/include" && find beck -type f | sort)
expect "nothing but the headers, the library and its package files is installed" \
  test -z "$(cd "$work/static-prefix" && find . -type f | grep -Ev '^./(include/beck|lib|share/doc/beck)/')"
expect "the installed files do not name the tree they were built in" \
  sh -c "! grep -rIl '$source' '$work/static-prefix' --include=*.cmake --include=*.pc"

# A parent project gets the library alone, without warnings turned to errors and without install rules.
build_and_run fetch -DFROM=fetch "-DBECK_SOURCE=$source" "${quickly[@]}"
build_and_run folder -DFROM=folder "-DBECK_SOURCE=$source" "${quickly[@]}"
expect "a parent project gets no tests of ours" test ! -e "$work/consumer/_deps/beck-build/tests"
say "all good"
