// SPDX-License-Identifier: BSL-1.0
// Clients that leave while their request is handled, by a reset or by an end, and what becomes of
// the handler then; and the stop of handlers that wait for events.
#include <utility>

#include <beck/base/assert.hpp>

#include "http/connection.hpp"
#include "http/worker.hpp"
#include "io/loop/io_loop.hpp"
#include "io/op/op_table.hpp"

namespace beck::http::detail {

using beck::detail::op_kind;

/// Asks the kernel how the socket's peer is: returns the end of its data, errors and hang-ups.
unsigned handler_run::peer_events() const noexcept {
  beck::detail::descriptor& d = *connection_.stream().socket().slot();
  if (d.fd < 0) return beck::detail::poll_hang_up;
  const int seen = d.loop->sys().poll(d.fd, beck::detail::poll_read_hang_up, INT64_MIN);
  return seen < 0 ? 0U : static_cast<unsigned>(seen);
}

bool handler_run::client_left() noexcept {
  const bool left = connection_.is_lost() || client_left_ || peer_events() != 0;
  if (left) state().knows_end = true;
  return left;
}

/// Watches for the end of what the client sends, and behind that for a reset.
void handler_run::watch_client() {
  is_watching_ = true;
  const std::size_t what = client_left_ ? 0 : beck::detail::with_peer_end;
  beck::detail::launch(
      beck::detail::void_operation(op_kind::wait_error, connection_.stream().socket().slot(),
                                   nullptr, what),
      [this, keep = connection_.shared_from_this()](const error_code& ec) {
        is_watching_ = false;
        if (!ec && !connection_.is_tunnel()) on_client_event();
      });
}

void handler_run::on_client_event() {
  const bool is_end = !client_left_ && peer_events() == beck::detail::poll_read_hang_up;
  client_left_ = true;
  if (!is_end) return connection_.lose();
  if (!connection_.is_handled()) return;  // the next receive ends
  watch_client();
  note_left();
}

/// The client has left while its request is handled: the handler is told, and is stopped if its
/// route says so; at the limit of connections this one makes room.
void handler_run::note_left() noexcept {
  connection_.server_worker().room().note_left(connection_);
  if (state().waits_for_events) return connection_.lose();
  end_client_wait(error_code());
}

void handler_run::stop_waiting() noexcept {
  if (!connection_.is_active() || !state().waits_for_events) return;
  if (connection_.stop_handler()) state().is_stopped = true;
}

void handler_run::wait_for_end(client_wait::handler done) {
  handler_state& x = state();
  BECK_ASSERT(!x.client_gone, "a handler waits twice for the end of its client");
  x.client_gone = std::move(done);
}

void handler_run::end_client_wait(error_code ec) noexcept {
  if (!connection_.is_active() || !state().client_gone) return;
  state().knows_end = state().knows_end || !ec;
  client_wait::handler done = std::move(state().client_gone);
  done(ec);
}

bool client_wait::ready() { return of_->handlers().client_left() && finish(error_code()); }

void client_wait::initiate(handler done) { of_->handlers().wait_for_end(std::move(done)); }

void client_wait::cancel() noexcept { of_->handlers().end_client_wait(error::operation_aborted); }

any_io_executor client_wait::get_executor() const noexcept { return of_->executor(); }

}  // namespace beck::http::detail

namespace beck::http {

bool request::client_left() noexcept { return connection_->handlers().client_left(); }

}  // namespace beck::http
