// SPDX-License-Identifier: BSL-1.0
// Detects clients that leave while their request is handled, by a reset or by an end, and notifies
// or stops the handler. Also stops handlers that wait for events.
#include <beck/base/assert.hpp>

#include "http/server/connection.hpp"
#include "http/server/worker.hpp"

namespace beck::http::detail {

using peer_status = beck::detail::stream_object::peer_status;

peer_status handler_run::peer() const noexcept { return connection_.stream().socket().peer(); }

bool handler_run::client_left() noexcept {
  const bool left = connection_.is_lost() || client_left_ || peer() != peer_status::open;
  if (left) state().knows_end = true;
  return left;
}

/// Watches for the end of the client's data, and then for a reset.
void handler_run::watch_client() {
  BECK_ASSERT(!is_watching_, "a client is watched twice");
  is_watching_ = true;
  connection_.stream().socket().async_wait_peer(
      client_left_ ? peer_status::gone : peer_status::finished,
      [this, keep = connection_.shared_from_this()](const error_code& ec) {
        is_watching_ = false;
        if (!ec && !connection_.is_tunnel()) on_client_event();
      });
}

void handler_run::on_client_event() {
  const bool is_end = !client_left_ && peer() == peer_status::finished;
  client_left_ = true;
  if (!is_end) return connection_.lose();
  if (!connection_.is_handled()) return;  // the next receive reports the end
  watch_client();
  note_left();
}

/// Notes that the client has left while its request is handled: notifies the handler, stops it if
/// its route asks for that, and offers the connection for eviction at the limit of connections.
void handler_run::note_left() noexcept {
  connection_.server_worker().room().note_left(connection_);
  if (state().waits_for_events) return connection_.lose();
  end_client_wait(error_code());
}

void handler_run::stop_waiting() noexcept {
  if (!connection_.is_active() || !state().waits_for_events) return;
  if (connection_.stop_handler()) state().is_stopped = true;
}

void handler_run::end_client_wait(error_code ec) noexcept {
  if (connection_.is_active()) state().end_client_wait(ec);
}

}  // namespace beck::http::detail
