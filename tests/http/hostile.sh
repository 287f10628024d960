#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# usage: hostile.sh [PEER_SERVER [--seconds N]]; without it that of build/release, which ./test --peers builds
# Hostile peers beside good ones (hostile.py). Ends with 0 if the server and the good ones stood it; at most 5 minutes.
# On the loopback only; ends what it has started.
set -euo pipefail
ulimit -Sn "$(ulimit -Hn)"
here=$(dirname "${BASH_SOURCE[0]}")
server=$(realpath -e "${1:-$here/../../build/release/tests/http_peer_server}")
exec timeout --kill-after=10 300 /usr/bin/python3 "$here/hostile.py" "$server" "${@:2}"
