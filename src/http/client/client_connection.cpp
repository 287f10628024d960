// SPDX-License-Identifier: BSL-1.0
// The coroutine that receives, the bytes that the stream does not take at once, and the ends.
#include "http/client/client_connection.hpp"

#include <algorithm>
#include <exception>

#include <beck/base/assert.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/http/client_error.hpp>

#include "base/transitions.hpp"
#include "http/client/client_pool.hpp"

namespace beck::http::detail {
namespace {

constexpr std::size_t room_again = 32'768;  // below it a waiting write continues
constexpr std::size_t kept_bytes = 16'384;  // of the input's memory, while idle

enum class use_event : std::uint8_t {
  rest,   ///< no call uses it
  serve,  ///< another call does
  close,
};

/// In the order of use_event.
constexpr beck::detail::transition_table<connection_use, 3> use_transitions = [] {
  using beck::detail::any_but;
  using beck::detail::any_of;
  using enum connection_use;
  return beck::detail::transition_table<connection_use, 3>{{
      /* rest  */ {idle, any_of({busy})},
      /* serve */ {busy, any_of({busy, idle})},
      /* close */ {closed, any_but({closed})},
  }};
}();

}  // namespace

client_connection::client_connection(place at, owned_stream stream) noexcept
    : place_(std::move(at)),
      stream_(std::move(stream)),
      writer_(*this),
      send_timer_(place_.pool().executor()) {
  writer_.start(place_.pool().executor(), *stream_);
  place_.pool().add(*this);
}

client_connection::~client_connection() { close(); }

void client_connection::start() {
  co_spawn(place_.pool().executor(), receive_loop(shared_from_this()),
           [self = shared_from_this()](const std::exception_ptr& failed) {
             if (!failed) return;
             self->input_.fail(make_error_code(std::errc::not_enough_memory));
           });
}

task<> client_connection::receive_loop(std::shared_ptr<client_connection> self) {
  client_connection& c = *self;
  for (;;) {
    auto waited = co_await c.input_.wanted().wait();
    if (waited.error() || c.is_closed()) break;
    auto got = co_await c.receive();
    if (c.is_closed()) break;
    if (c.use_ == connection_use::idle) {  // an unexpected byte, an end, or the idle time is over
      c.place_.pool().counters().discarded.add();
      c.close();
      break;
    }
    if (got.error() == error::timeout) {  // the limit of an earlier idle time
      c.input_.wanted().set();
      continue;
    }
    c.input_.take(std::move(got));
    c.sent_.set();  // a waiting write checks whether a response has come
    if (c.input_.end()) break;
  }
}

task<io_result<buffer_lease>> client_connection::receive() {
  if (use_ != connection_use::idle) {
    auto got = co_await stream_->receive();
    co_return got;
  }
  auto got = co_await timeout(stream_->receive(), idle_time_);
  co_return got;
}

void client_connection::become_idle(duration time) noexcept {
  BECK_ASSERT(out_.empty(), "bytes of a call would be sent before another one");
  input_.rest(kept_bytes);
  advance(use_, use_event::rest, use_transitions);
  idle_time_ = time;
  input_.want_more();
}

void client_connection::become_busy() noexcept {
  advance(use_, use_event::serve, use_transitions);
  reused_ = true;
}

void client_connection::send(const_buffer_span parts) {
  if (send_error_) return;
  writer_.send_behind(parts);
}

void client_connection::keep_rest(const_buffer_span parts, std::size_t sent) {
  try {
    for (const const_buffer& part : parts) {
      const std::size_t skipped = std::min(sent, part.size());
      out_.append({static_cast<const char*>(part.data()) + skipped, part.size() - skipped});
      sent -= skipped;
    }
  } catch (...) {  // the output may end in an incomplete part: nothing can follow it
    take_write_error(make_error_code(std::errc::not_enough_memory));
    throw;
  }
}

void client_connection::take_sent(std::size_t bytes) noexcept {
  out_.remove(bytes);
  if (writer_.is_writing() && out_.size() < room_again) sent_.set();
}

void client_connection::take_write_error(const error_code& why) noexcept {
  if (!send_error_) send_error_ = why;
  writer_.stop();
  if (!writer_.is_writing()) out_.clear();
  sent_.set();
  input_.received().set();
}

/// Begins the time within which the server has to take a byte.
void client_connection::begin_stall() noexcept {
  sent_at_check_ = writer_.sent();
  try {
    send_timer_.expires_after(place_.pool().bounds().send_timeout);
    send_timer_.async_wait([weak = weak_from_this()](const error_code& ec) {
      const std::shared_ptr<client_connection> self = ec ? nullptr : weak.lock();
      if (self) self->check_stall();
    });
  } catch (const std::exception&) {  // without a limit the wait could last for ever
    take_write_error(make_error_code(std::errc::not_enough_memory));
  }
}

void client_connection::check_stall() noexcept {
  if (!writer_.is_writing() || writer_.is_stopped()) return;
  if (writer_.sent() != sent_at_check_) return begin_stall();
  take_write_error(make_error_code(client_error::send_late));
}

void client_connection::end_stall() noexcept {
  try {
    static_cast<void>(send_timer_.cancel());
  } catch (...) {  // NOLINT(bugprone-empty-catch): then the limit expires without effect
  }
  if (writer_.is_stopped()) out_.clear();
  sent_.set();
  input_.received().set();
}

void client_connection::stop_coroutines() noexcept {
  const bool was_idle = use_ == connection_use::idle;
  advance(use_, use_event::close, use_transitions);
  input_.stop();
  take_write_error(input_.end());
  if (was_idle) place_.pool().forget_idle(*this);
  place_.pool().remove(*this);
  sent_.set();
}

void client_connection::close() noexcept {
  if (is_closed()) return;
  stop_coroutines();
  stream_->close();
  place_.release();
}

place client_connection::surrender() noexcept {
  stop_coroutines();
  stream_->close();
  return std::move(place_);
}

owned_stream client_connection::release() noexcept {
  BECK_ASSERT(!input_.is_receiving(), "a stream is taken over whose next bytes are being received");
  if (!is_closed()) {  // by the end of the client
    stop_coroutines();
    place_.release();
  }
  return std::move(stream_);
}

}  // namespace beck::http::detail
