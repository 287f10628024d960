// SPDX-License-Identifier: BSL-1.0
// The stream of a connection: the handshake of its layer, before the first request.
#include <system_error>
#include <utility>

#include <beck/coro/within.hpp>

#include "http/server/connection.hpp"
#include "http/server/worker.hpp"

namespace beck::http::detail {

/// The scope of a handshake, which is stopped when the connection is lost.
class connection::stoppable {
 public:
  using scope_type = beck::detail::inner_scope;

  explicit stoppable(connection& of) noexcept : connection_(&of) {}
  static void enter(beck::detail::deferred_init<scope_type>& place,
                    beck::detail::scope& outer) noexcept {
    place.emplace(outer);
  }
  void set_on(scope_type& inner) const noexcept { connection_->scope_ = &inner; }

 private:
  connection* connection_;
};

/// Makes a layer over the accepted socket. Returns false if that fails; the connection is then
/// lost.
task<bool> connection::make_layer(stream_layer& layer) {
  worker& w = *worker_;
  handshake_record record;
  owned_stream failed;  // has the reason of the failure
  w.begin_handshake(*this);
  try {
    owned_stream carrier(new socket_stream(std::move(plain_)));
    task<io_result<owned_stream>> handshake = layer.accept(std::move(carrier));
    auto made = co_await beck::detail::within(stoppable(*this), std::move(handshake));
    record.error = made.error();
    (made ? layered_ : failed) = std::move(made.value_);
    if (layered_) stream_ = layered_.get();
  } catch (...) {
    record.error = beck::detail::caught_code();
    if (!record.error) record.error = make_error_code(std::errc::not_enough_memory);
  }
  scope_ = nullptr;
  w.end_handshake();
  requests_.enter(phase::none);
  if (is_lost() || !layered_) {
    record.peer = peer;
    if (is_lost()) record.error = error::operation_aborted;
    if (requests_.state() == input_state::late) record.error = error::timeout;
    if (failed) record.error_text = failed->error_text();
    w.counters().handshakes_failed.add();
    w.server().report(record);
    lose();
  }
  co_return !is_lost();
}

}  // namespace beck::http::detail
