# SPDX-License-Identifier: BSL-1.0
# What ./run and ./test share: installing what is missing on Debian, and running the steps of a build with one line of
# progress each. Sourced by bash from the root of the tree.

# What each kind of work needs. A packager needs the first line alone.
build_packages=(g++ cmake ninja-build python3)
tool_packages=(libcli11-dev libfmt-dev libssl-dev)   # of apps/
llhttp_package=libllhttp-dev
! grep -qsx 'VERSION_ID="12"' /etc/os-release || llhttp_package=node-llhttp   # Debian 12 has its C sources alone
test_packages=(ccache curl pkg-config doctest-dev libasio-dev liburing-dev libseccomp-dev "$llhttp_package"
  redis-server memcached openssl socat strace "${tool_packages[@]}")
check_packages=(clang-19 libclang-rt-19-dev llvm-19 clang-format-19 clang-tidy-19)
peer_packages=(curl wrk apache2-utils python3-requests python3-websockets nginx-light haproxy slowhttptest chromium
  openssl sslscan)
redis_suite_packages=(redis-server redis-tools tcl procps)

jobs=${BECK_JOBS:-$(nproc)}
# ccache takes the names of the headers from the compiler, instead of preprocessing each source before it compiles it.
# It finds what another folder of build/ has compiled with the same options, because paths are hashed from the folder.
export CCACHE_DEPEND=1 CCACHE_BASEDIR=$PWD
step_limit_seconds=1800
steps_file=build/reports/steps.tsv
progress=2                         # the descriptor of the lines of progress
beside_pid= beside= two_lines=     # the state of the steps
lists_are_new=                     # apt's lists have been updated

# has_dpkg: is this a Debian system?
has_dpkg() { command -v dpkg-query >/dev/null; }

# missing_of PACKAGE...: prints those that are not installed, each once.
missing_of() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' || echo "$package"
  done | sort -u
}

# update_lists: brings apt's lists up to date, once.
update_lists() {
  [ -z "$lists_are_new" ] || return 0
  mkdir -p build/logs
  apt_waits update >build/logs/apt.log 2>&1 </dev/null || return 1
  lists_are_new=yes
}

# need_packages PACKAGE...: installs the missing ones. Touches no network when nothing is missing.
need_packages() {
  if ! has_dpkg; then
    echo "not a Debian system: assuming that these are installed: $*" >&2
    return 0
  fi
  local missing
  mapfile -t missing < <(missing_of "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    echo "These packages are missing and only root can install them. Run this, then try again:" >&2
    echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 3
  fi
  echo "installing: ${missing[*]}" >&2
  export DEBIAN_FRONTEND=noninteractive
  start_no_daemons
  if ! { update_lists && apt_waits install -y --no-install-recommends "${missing[@]}" >>build/logs/apt.log 2>&1; } \
    </dev/null; then
    daemons_as_before "${missing[@]}"
    tail -n 20 build/logs/apt.log >&2
    echo "apt could not install them (see above; the whole log is build/logs/apt.log)" >&2
    exit 3
  fi
  daemons_as_before "${missing[@]}"
}

# want_packages PACKAGE...: as need_packages, but prints a line for a package that this system does not have, or that
# only root could install, and goes on: what needs it is left out.
want_packages() {
  has_dpkg || return 0
  local missing package known=()
  mapfile -t missing < <(missing_of "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    echo "left out, because only root can install them: ${missing[*]}" >&2
    return 0
  fi
  update_lists || true
  for package in "${missing[@]}"; do
    if apt-cache show "$package" >/dev/null 2>&1; then
      known+=("$package")
    else
      echo "left out: $package: this system has no such package" >&2
    fi
  done
  need_packages "${known[@]}"
}

# start_no_daemons, daemons_as_before PACKAGE...: what a package of a server installs between the two is not started,
# now or when the machine starts. Source: invoke-rc.d(8), /usr/share/doc/init-system-helpers/README.policy-rc.d.gz.
start_no_daemons() {
  no_daemons=
  [ ! -e /usr/sbin/policy-rc.d ] || return 0   # the administrator's rules, or those of a container
  no_daemons=/usr/sbin/policy-rc.d
  printf '#!/bin/sh\nexit 101\n' >"$no_daemons" && chmod 755 "$no_daemons"
}

daemons_as_before() {
  [ -z "$no_daemons" ] || rm -f "$no_daemons"
  local package
  for package in "$@"; do
    package=${package%-light}
    [ ! -e "/etc/init.d/$package" ] || update-rc.d "$package" disable >>build/logs/apt.log 2>&1 || true
  done
}

# apt_waits ARGUMENT...: apt-get, which waits up to ten minutes for another one that is at work. It waits by itself for
# the lock of dpkg, not for that of the lists.
apt_waits() {
  local log tries=120 told=
  log=$(mktemp)
  until apt-get -o DPkg::Lock::Timeout=5 "$@" >"$log" 2>&1; do
    if ! grep -q 'Could not get lock\|Unable to lock' "$log" || [ $((tries -= 1)) -le 0 ]; then
      cat "$log"
      rm -f "$log"
      return 1
    fi
    [ -n "$told" ] || echo "another apt is at work: waiting up to ten minutes for it" >&"$progress"
    told=yes
    sleep 1
  done
  cat "$log"
  rm -f "$log"
}

# begin_steps [FD]: forgets the steps of an earlier run. Progress goes to a copy of that descriptor (1).
begin_steps() {
  trap end_early INT TERM HUP PIPE
  mkdir -p build/logs build/reports
  : >"$steps_file"
  exec {progress}>&"${1:-1}"   # a number that bash chooses: the caller's descriptors stay as they are
}

# end_early: ends the steps under way, also those beside, and the script. A step is a process group that timeout(1)
# leads. A signal is lost on a process that is just starting, and timeout does not pass on one that comes just when it
# starts the command. So each process gets it until it has ended, for at most 20 s, and then its group.
end_early() {
  local pid tries=400
  for pid in $beside_pid $(jobs -p); do
    while [ $((tries -= 1)) -gt 0 ] && kill "$pid" 2>/dev/null; do sleep 0.05; done
    kill -- "-$pid" 2>/dev/null || true
  done
  exit 130
}

# begin_beside: from now on `beside` runs steps in the background, one after another. The other steps yield to them.
begin_beside() {
  two_lines=yes
  exec {beside}> >(
    trap end_early INT TERM HUP PIPE
    while read -r -a call; do "${call[@]}"; done
  )
  beside_pid=$!
}

# beside FUNCTION ARGUMENT...: calls a function, which runs steps, when those before it have ended. The arguments have
# no spaces.
beside() {
  (trap '' PIPE && echo "$*" >&"$beside") 2>/dev/null || true   # end_beside counts the death of its process
}

# end_beside: waits for the steps in the background. If their process died, that counts as a failed step.
end_beside() {
  exec {beside}>&-
  wait "$beside_pid" || printf 'all\tbeside\t%s\n' $? >>"$steps_file"
  beside_pid= beside= two_lines=
}

# step GROUP NAME COMMAND...: runs a command with its output in build/logs, prints one line, two if steps run beside
# others, and the log's tail if the command fails. Gives the command's status and writes it down for tools/totals.py.
step() {
  local group=$1 name=$2 start=$SECONDS status=0 log title
  shift 2
  log=build/logs/$group.${name// /-}.log
  printf -v title '%-10s %-28s' "$group" "$name"
  if [ -n "$two_lines" ]; then
    echo "$title ..." >&"$progress"
  else
    printf '%s ' "$title" >&"$progress"
    title=
  fi
  (
    exec {progress}>&-
    [ -z "$beside" ] || exec {beside}>&-
    exec timeout --kill-after=10 "$step_limit_seconds" ${beside_pid:+nice -n 10} "$@"
  ) >"$log" 2>&1 </dev/null &
  wait $! || status=$?
  printf '%s\t%s\t%s\n' "$group" "$name" "$status" >>"$steps_file"
  if [ "$status" -eq 0 ]; then
    printf '%sok %4d s\n' "${title:+$title }" $((SECONDS - start)) >&"$progress"
  else
    {
      printf '%sFAILED %4d s (status %s, log %s)\n' "${title:+$title }" $((SECONDS - start)) "$status" "$log"
      tail -n 40 "$log" | sed 's/^/    | /'
    } >&"$progress"
  fi
  return "$status"
}
