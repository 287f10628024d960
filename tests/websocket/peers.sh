#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# usage: peers.sh [WEBSOCKET_PEER]; without it that of build/release, which ./test --peers builds
# Foreign clients and servers of WebSocket against beck's: peers_test.py. Ends with 0 if all agree; at most 5 minutes.
# On the loopback only; ends what it has started.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
peer=$(realpath -e "${1:-$here/../../build/release/tests/websocket_peer}")
exec timeout --kill-after=10 300 /usr/bin/python3 "$here/peers_test.py" "$peer"
