#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# usage: [OLD_CMAKE=/path/of/cmake-3.16] check.sh WORK_DIR
# Builds and installs beck as a packager does, static and shared, and builds a user's project against it in every way
# that the README names. Fails at the first thing that does not work.
set -euo pipefail
work=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source=$PWD
consumer=$source/tests/install/consumer
jobs=${BECK_JOBS:-$(nproc)}
old_cmake=${OLD_CMAKE:-}   # configures the users of the package; such as: pip install cmake==3.16.8
! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache
export CCACHE_BASEDIR=$source
# The library is compiled with the options of ./test's release build, so that ccache has it. For that WORK_DIR must be a
# folder of build/, too. Users' programs are compiled as quickly as can be.
quickly=("-DCMAKE_CXX_FLAGS_RELEASE=-O0")
as_tested=(-DCMAKE_CXX_COMPILER=g++ "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG" -DBECK_WERROR=ON -DBECK_UNITE=ON)

say() { printf '== %s\n' "$*"; }

# build_and_run NAME OPTION...: configures the consumer, builds it and runs it.
build_and_run() {
  local folder=$work/consumer   # one for all, so that ccache knows the sources of the library that stand in it
  say "$1"
  shift
  rm -rf "$folder"
  cmake -S "$consumer" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release "${quickly[@]}" "$@"
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
  cmake -S . -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_LIBDIR=lib "${as_tested[@]}" "$@"
  cmake --build "$work" -j "$jobs"
  cmake --install "$work" --prefix "$work/$kind-prefix"
}

expect() {
  say "$1"
  shift
  "$@" || { echo "this failed: $*" >&2; exit 1; }
}

# with_components KIND TLS OPTION...: configures, builds and runs the project that asks for components, in a prefix.
# TLS says what find_package shall find of it.
with_components() {
  local prefix=$work/$1-prefix tls=$2 folder=$work/components
  shift 2
  say "components of ${prefix##*/}, tls $tls"
  rm -rf "$folder"
  "${old_cmake:-cmake}" -S "$source/tests/install/components" -B "$folder" -G Ninja "-DCMAKE_PREFIX_PATH=$prefix" \
    "-DBECK_TLS=$tls" "$@"
  ninja -C "$folder"
  "$folder/components"
  if [ "$tls" = found ]; then "$folder/component_tls"; fi
}

# with_pkg_configs PREFIX: links the same programs by the pkg-config files.
with_pkg_configs() {
  local flags
  say "pkg-config files of ${1##*/}"
  flags=$(PKG_CONFIG_PATH=$1/lib/pkgconfig pkg-config --cflags --libs beck-redis-testing beck-websocket)
  # shellcheck disable=SC2086
  g++ -std=c++20 "$consumer/components.cpp" $flags -Wl,-rpath,"$1/lib" -o "$work/components-by-hand"
  "$work/components-by-hand"
  flags=$(PKG_CONFIG_PATH=$1/lib/pkgconfig pkg-config --cflags --libs beck-tls)
  # shellcheck disable=SC2086
  g++ -std=c++20 "$consumer/component_tls.cpp" $flags -Wl,-rpath,"$1/lib" -o "$work/components-by-hand"
  "$work/components-by-hand"
}

# foreign_names LIBRARY: prints what a shared library exports, but for names of beck and the name of its version.
foreign_names() {
  nm -D --defined-only "$1" | cut -d ' ' -f 3 | grep -Ev '^_Z(T[ISTV]|T[hvc].*_|Z|GV|GVZ)?N[KRO]*4beck|^BECK_0\.[0-9]+$'
}

install_as static -DBUILD_SHARED_LIBS=OFF
install_as shared -DBUILD_SHARED_LIBS=ON
for kind in static shared; do
  build_and_run "package-$kind" -DFROM=package "-DCMAKE_PREFIX_PATH=$work/$kind-prefix"
  with_pkg_config "pkg-config-$kind" "$work/$kind-prefix"
  with_pkg_configs "$work/$kind-prefix"
  with_components "$kind" found
done
if [ -n "$old_cmake" ]; then say "with $("$old_cmake" --version | head -n 1)"; fi
with_components static without-openssl -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON
rm -rf "$work/plain-prefix"
cp -r "$work/static-prefix" "$work/plain-prefix"
rm "$work/plain-prefix"/lib/cmake/beck/beckTls*   # as a build with -DBECK_TLS=OFF installs it
with_components plain unbuilt

say "a protocol that is written outside of the tree"
mkdir -p "$work/outside"
cp examples/memcached.hpp examples/memcached_client.cpp examples/number.hpp "$work/outside"
flags=$(PKG_CONFIG_PATH=$work/static-prefix/lib/pkgconfig pkg-config --cflags --libs beck)
# shellcheck disable=SC2086
g++ -std=c++20 "$work/outside/memcached_client.cpp" $flags -o "$work/outside/memcached_client"
expect "it talks to memcached" python3 tests/examples/memcached_test.py "$work/outside"

version=$(sed -n 's/^#define BECK_VERSION_M[A-Z]* //p' include/beck/base/version.hpp | paste -sd .)
for name in beck beck_http beck_redis beck_redis_testing beck_websocket beck_tls; do
  library=$work/shared-prefix/lib/lib$name.so
  soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
  expect "before 1.0 the SONAME of lib$name.so has the minor version" test "$soname" = "lib$name.so.$version"
  expect "lib$name.so exports names of beck" sh -c "nm -DC --defined-only '$library' | grep -q 'beck::'"
  expect "lib$name.so exports nothing else" test -z "$(foreign_names "$library")"
done
expect "a program links to the shared library" \
  sh -c "readelf -d '$work/pkg-config-shared/consumer' | grep -q 'NEEDED.*libbeck.so.$version'"

# Shared objects of users, each with a static beck of its own.
say "shared objects"
libraries=(beck-redis-testing beck-websocket beck-tls)
flags=$(PKG_CONFIG_PATH=$work/static-prefix/lib/pkgconfig pkg-config --cflags --libs "${libraries[@]}")
objects=$source/tests/install/shared_objects
# shellcheck disable=SC2086
g++ -std=c++20 -fPIC -shared -fno-gnu-unique "$objects/plugin.cpp" \
  -Wl,--whole-archive "$work"/static-prefix/lib/libbeck*.a -Wl,--no-whole-archive $flags -o "$work/plugin-1.so"
g++ -std=c++20 "$objects/host.cpp" -pthread -o "$work/host"
bytes=$(($(readelf -lW "$work/plugin-1.so" | awk '$1 == "TLS" { print $6 }')))
expect "a shared object with all libraries needs at most 64 bytes for each thread, not $bytes" test "$bytes" -le 64
for i in {2..12}; do cp "$work/plugin-1.so" "$work/plugin-$i.so"; done
expect "twelve of them work in one process, and leave no signal handler" timeout 60 "$work/host" "$work"/plugin-*.so

for component in runtime dev; do
  rm -rf "$work/$component-prefix"
  cmake --install "$work" --component "$component" --prefix "$work/$component-prefix"
done
of_runtime='^./(lib/lib[a-z_]+\.so\.[0-9.]+|share/doc/beck/LICENSE)$'
expect "the component runtime is the libraries that programs load" \
  test -z "$(cd "$work/runtime-prefix" && find . ! -type d | grep -Ev "$of_runtime")"
expect "runtime and dev are all that is installed" diff <(cd "$work/shared-prefix" && find . ! -type d | sort) \
  <(for component in runtime dev; do (cd "$work/$component-prefix" && find . ! -type d); done | sort -u)
expect "CMake before 3.23 finds the headers of all six libraries" \
  test "$(cat "$work"/static-prefix/lib/cmake/beck/*Targets.cmake | grep -c '^  INTERFACE_INCLUDE_DIRECTORIES ')" = 6
expect "every public header is installed" \
  diff <(cd include && find beck -type f | sort) <(cd "$work/static-prefix/include" && find beck -type f | sort)
expect "nothing but the headers, the library and its package files is installed" \
  test -z "$(cd "$work/static-prefix" && find . -type f | grep -Ev '^./(include/beck|lib|share/doc/beck)/')"
expect "the installed files do not name the tree they were built in" \
  sh -c "! grep -rIl '$source' '$work/static-prefix' --include=*.cmake --include=*.pc"

# Configures the library where OpenSSL is not found; the log has what it says.
configure_without_openssl() {
  rm -rf "$work/no-openssl"
  cmake -S . -B "$work/no-openssl" -G Ninja -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON >"$work/no-openssl.log" 2>&1
}
expect "a build without OpenSSL goes on" configure_without_openssl
expect "it warns that it leaves TLS out" grep -q 'beck::tls is left out' "$work/no-openssl.log"
expect "a build that must have TLS is refused without OpenSSL" sh -c '! "$@"' - \
  cmake -S . -B "$work/no-openssl" -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON -DBECK_TLS=ON

# A parent project gets the library alone, without warnings turned to errors and without install rules.
build_and_run fetch -DFROM=fetch "-DBECK_SOURCE=$source" "${as_tested[@]}"
# The options of its own code do not become those of the library.
build_and_run folder -DFROM=folder "-DBECK_SOURCE=$source" "${as_tested[@]}" -DBUILD_SHARED_LIBS=ON \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_CXX_VISIBILITY_PRESET=hidden -DCMAKE_VISIBILITY_INLINES_HIDDEN=ON
expect "a parent project gets no tests of ours" test ! -e "$work/consumer/_deps/beck-build/tests"
say "all good"
