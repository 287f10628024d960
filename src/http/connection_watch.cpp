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
unsigned connection::peer_events() noexcept {
  beck::detail::descriptor& d = *stream_->socket().slot();
  if (d.fd < 0) return beck::detail::poll_hang_up;
  const int seen = d.loop->sys().poll(d.fd, beck::detail::poll_read_hang_up, INT64_MIN);
  return seen < 0 ? 0U : static_cast<unsigned>(seen);
}

bool connection::client_left() noexcept {
  const bool left = lost_ || client_left_ || peer_events() != 0;
  if (left) active_->knows_end = true;
  return left;
}

/// Watches for the end of what the client sends, and behind that for a reset.
void connection::watch_client(std::shared_ptr<connection> self) {
  connection& c = *self;
  c.watched_ = true;
  const std::size_t what = c.client_left_ ? 0 : beck::detail::with_peer_end;
  beck::detail::launch(
      beck::detail::void_operation(op_kind::wait_error, c.stream_->socket().slot(), nullptr, what),
      [self = std::move(self)](const error_code& ec) {
        if (!ec && !self->is_tunnel_) self->on_client_event();
      });
}

void connection::on_client_event() {
  watched_ = false;
  const bool is_end = !client_left_ && peer_events() == beck::detail::poll_read_hang_up;
  client_left_ = true;
  if (!is_end) return lose();
  const bool is_handled = active_ != nullptr && (handler_scope_ != nullptr || active_->is_taken());
  if (!is_handled) return;  // the next receive ends
  watch_client(shared_from_this());
  note_left();
}

/// The client has left while its request is handled: the handler is told, and is stopped if its
/// route says so; at the limit of connections this one makes room.
void connection::note_left() noexcept {
  worker& w = *worker_;
  w.note_left(*this);
  if (active_->waits_for_events) return lose();
  end_client_wait(error_code());
}

/// Stops a handler that waits for events, because the server is being stopped.
void connection::stop_waiting() noexcept {
  if (active_ == nullptr || !active_->waits_for_events) return;
  if (handler_scope_ == nullptr || is_tunnel_ || lost_) return;
  active_->is_stopped = true;
  handler_scope_->stop();
}

void connection::wait_for_end(client_wait::handler done) {
  exchange_state& x = *active_;
  BECK_ASSERT(!x.waits_for_end, "a handler waits twice for the end of its client");
  x.client_gone = std::move(done);
  x.waits_for_end = true;
}

/// Ends the wait of the handler, if there is one.
void connection::end_client_wait(error_code ec) noexcept {
  if (active_ == nullptr || !std::exchange(active_->waits_for_end, false)) return;
  active_->knows_end = active_->knows_end || !ec;
  client_wait::handler done = std::move(active_->client_gone);
  done(ec);
}

bool client_wait::ready() { return of_->client_left() && finish(error_code()); }

void client_wait::initiate(handler done) { of_->wait_for_end(std::move(done)); }

void client_wait::cancel() noexcept { of_->end_client_wait(error::operation_aborted); }

any_io_executor client_wait::get_executor() const noexcept { return of_->executor(); }

}  // namespace beck::http::detail

namespace beck::http {

bool request::client_left() noexcept { return connection_->client_left(); }

}  // namespace beck::http
