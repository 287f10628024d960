#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# usage: peers.sh [PEER_SERVER EXAMPLES_DIR]; without them those of build/release, which ./test --peers builds
# Foreign clients, proxies and servers against beck's HTTP: peers_test.py, differential.py, form_differential.py, and
# client_peers.sh for its client. Ends with 0 if all agree; at most 13 minutes. On the loopback only; ends what it has
# started.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
built=$here/../../build/release
server=$(realpath -e "${1:-$built/tests/http_peer_server}")
examples=$(realpath -e "${2:-$built/examples}")
status=0
part() {
  echo "== $1"
  timeout --kill-after=10 200 "${@:2}" || { echo "peers: FAILED: $1" >&2; status=1; }
}
part 'clients and proxies' /usr/bin/python3 "$here/peers_test.py" "$server"
part 'what several servers accept' /usr/bin/python3 "$here/differential.py" "$server"
part 'forms with files' /usr/bin/python3 "$here/form_differential.py" "$(dirname "$server")/http_form_peer"
part 'servers behind the client' "$here/client_peers.sh" "$examples"
[ "$status" -ne 0 ] || echo 'peers: passed'
exit "$status"
