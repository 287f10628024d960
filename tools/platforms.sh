#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Builds the library and its programs with the compilers of other systems: ./test --platforms. See usage().
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/bootstrap.sh

usage() {
  cat <<'END'
usage: tools/platforms.sh [PLATFORM...]
g++, clang++             the newest of this system: library, examples and tools, not united, warnings are errors; a
                         program with all headers of the services, also as C++23 and C++26
SUITE-g++, SUITE-clang++ the same in a chroot with this suite of Debian, such as trixie or sid; needs root, debootstrap
aarch64, s390x           the core with this Debian's cross compiler
Each then runs the example simulated_echo, those of other processors under qemu-user: its hashes are those of README.

Without arguments: g++ trixie-g++ trixie-clang++ sid-g++ sid-clang++ aarch64 s390x, each left out with a line where
this machine cannot build it. A platform that is named must be built. Logs are in build/logs; chroots and builds are
kept in build/platforms, which may be removed to begin with the packages of today.
END
}

# newest NAME: prints the package of the newest compiler of this system, such as g++-14 or clang-19.
newest() {
  local package
  [ -n "$(apt-cache pkgnames "$1-")" ] || apt-get update >&2   # a system that is just installed has no lists
  while read -r package; do
    apt-cache policy "$package" | grep 'Candidate: [0-9]' >/dev/null && echo "$package" && return
  done < <(apt-cache pkgnames "$1-" | grep -x -- "$1-[0-9]*" | sort -rV)
}

# packages_of g++|clang++|PROCESSOR: prints what a build on this system needs. clang takes the newest libstdc++.
packages_of() {
  echo cmake ninja-build ccache pkg-config
  case $1 in
    g++) echo "${tool_packages[@]}" "$(newest g++)" ;;
    clang++) echo "${tool_packages[@]}" "$(newest g++)" "$(newest clang)" ;;
    *) echo qemu-user "g++-$1-linux-gnu" ;;
  esac
}

# same_hashes COMMAND...: whether simulated_echo, run by COMMAND, prints the hashes that README has.
same_hashes() {
  local expected printed
  expected=$(sed -n '/^\$ .*simulated_echo --seeds 1000 --shrink/,/^```/s/^  hash: *//p' README.md)
  [ -n "$expected" ] || { echo "README has no hashes of simulated_echo" >&2; return 1; }
  printed=$("$@" --seeds 1000 --shrink 2>&1) || true   # a world of it is meant to fail
  echo "$printed"
  diff <(echo "$expected") <(sed -n 's/^  hash: *//p' <<<"$printed")
}

# consumer COMPILER BUILD_FOLDER: compiles a user's program in each standard that the compiler knows, and runs it.
consumer() {
  local source=tests/platforms/consumer.cpp standard
  local flags=(-Iinclude -pthread -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    -Wold-style-cast -Werror)
  for standard in c++23 c++26; do
    ! "$1" "-std=$standard" -E -x c++ /dev/null >/dev/null 2>&1 ||
      "$1" "-std=$standard" "${flags[@]}" -fsyntax-only "$source"
  done
  "$1" -std=c++20 -O2 "${flags[@]}" "$source" -o "$2/consumer" \
    "$2"/src/libbeck_{websocket,tls,http,redis_testing,redis}.a "$2/src/libbeck.a" -lssl -lcrypto
  "$2/consumer"
}

options=(-G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG" -DBECK_WERROR=ON
  -DBECK_USE_CCACHE=ON -DBECK_BUILD_EXAMPLES=ON -DBECK_INSTALL=OFF)

# native g++|clang++: builds with this system's newest compiler of that name.
native() {
  local compiler folder
  case $1 in
    g++) compiler=$(newest g++) ;;
    clang++) compiler=$(newest clang) && compiler=${compiler/clang/clang++} ;;
  esac
  folder=build/platforms/$(. /etc/os-release && echo "$VERSION_CODENAME")-$compiler
  cmake -S . -B "$folder" "${options[@]}" "-DCMAKE_CXX_COMPILER=$compiler" \
    -DBECK_BUILD_APPS=ON -DBECK_TLS=ON -DBECK_UNITE=OFF
  cmake --build "$folder" -j "$jobs"
  consumer "$compiler" "$folder"
  same_hashes "$folder/examples/simulated_echo"
}

# cross PROCESSOR: builds the core for another processor.
cross() {
  local folder=build/platforms/$1
  cmake -S . -B "$folder" "${options[@]}" "-DCMAKE_CXX_COMPILER=$1-linux-gnu-g++" \
    -DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=$1" -DBECK_TLS=OFF -DBECK_UNITE=ON
  cmake --build "$folder" -j "$jobs" --target simulated_echo
  same_hashes "qemu-$1" -L "/usr/$1-linux-gnu" "$folder/examples/simulated_echo"
}

# in_chroot SUITE COMMAND...: runs a command of this tree in a chroot of a suite, which is made if there is none.
in_chroot() {
  local suite=$1 root=build/platforms/chroot-$1
  shift
  if [ ! -d "$root" ]; then
    mkdir -p build/platforms
    rm -rf --one-file-system "$root.part"
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$root.part" http://deb.debian.org/debian
    # A mirror or the clock of this machine may be days behind.
    echo 'Acquire::Check-Valid-Until "false";' >"$root.part/etc/apt/apt.conf.d/90beck"
    mkdir "$root.part/beck"
    mv "$root.part" "$root"
  fi
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  # The mounts and the processes end with the command, however it ends.
  unshare --mount --pid --uts --ipc --fork --kill-child --propagation private bash -euc '
    root=$1
    shift
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --bind . "$root/beck"
    exec chroot "$root" /usr/bin/env -i "$@"' _ "$root" HOME=/root LANG=C.UTF-8 TERM=dumb \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "http_proxy=${http_proxy:-}" \
    "BECK_JOBS=$jobs" CCACHE_DIR=/beck/build/platforms/ccache /beck/tools/platforms.sh "$@"
}

# obstacle PLATFORM: prints why this machine cannot build a platform; nothing if it can. Installs what is missing.
obstacle() {
  local packages=debootstrap said
  [[ $1 = *-* ]] || packages=$(packages_of "$1")
  if ! command -v apt-get >/dev/null; then
    echo "needs a Debian system"
  elif [[ $1 = *-* ]] && [ "$(id -u)" -ne 0 ]; then
    echo "needs root"
  elif ! said=$( (need_packages $packages) 2>&1); then
    echo "${said##*$'\n'}"
  elif [[ $1 = *-* ]] && ! unshare --mount --pid --fork --propagation private true 2>/dev/null; then
    echo "no mounts can be made here"
  fi
}

# build_one PLATFORM: builds a platform, with all that the compilers print.
build_one() {
  case $1 in
    *-*) in_chroot "${1%%-*}" --one "${1#*-}" ;;
    *)
      need_packages $(packages_of "$1")
      case $1 in *++) native "$1" ;; *) cross "$1" ;; esac
      ;;
  esac
}

# build_all PLATFORM...: prints a line for each, and how many were built.
build_all() {
  local platform reason built=0 left_out=0 failed=0
  step_limit_seconds=7200
  begin_steps
  for platform; do
    reason=$(obstacle "$platform")
    if [ -n "$reason" ]; then
      printf '%-10s %-28s left out: %s\n' platform "$platform" "$reason" >&"$progress"
      left_out=$((left_out + 1))
    elif step platform "$platform" tools/platforms.sh --one "$platform"; then
      built=$((built + 1))
    else
      failed=$((failed + 1))
    fi
  done
  echo "totals: platforms=$built left_out=$left_out failed=$failed" >&"$progress"
  [ "$failed" -eq 0 ]
  [ "$left_out" -eq 0 ] || [ -z "$must" ]
}

case ${1:-} in
  '') must= && build_all g++ trixie-g++ trixie-clang++ sid-g++ sid-clang++ aarch64 s390x ;;
  -h | --help | help) usage ;;
  --one) build_one "$2" ;;
  *)
    for name; do
      [[ $name =~ ^([a-z]+-)?(g|clang)\+\+$|^(aarch64|s390x)$ ]] ||
        { echo "unknown platform: $name" >&2; usage >&2; exit 2; }
    done
    must=yes && build_all "$@"
    ;;
esac
