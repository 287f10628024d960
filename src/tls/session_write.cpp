// SPDX-License-Identifier: BSL-1.0
// The sending side of a session. What a step has encrypted is sent at once as far as the carrier
// takes it, the rest by a coroutine. So a read never waits for a write, and an answer that TLS owes
// to its peer needs no caller.
#include <algorithm>
#include <cstring>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/steady_timer.hpp>

#include "tls/session.hpp"

namespace beck::tls::detail {
namespace {

constexpr std::size_t waiting_max = 98'304;  // of answers that the peer asks for, and does not take
constexpr duration finish_max = duration(2'000'000'000);

}  // namespace

std::int64_t loop_time() noexcept {
  const beck::detail::runner* const here = beck::detail::runner::current();
  return here != nullptr ? here->read_at : steady_now().nanoseconds();
}

/// Returns why nothing more is sent; no error while something may be.
error_code session::end_of_output() const noexcept {
  if (handshake_error_) return handshake_error_;
  if (output_error_) return output_error_;
  if (engine_.state() == engine_state::failed) return engine_.code();
  if (finished_) return beck::error::broken_pipe;
  return {};
}

/// Sends what the carrier takes at once of all that there is to send. Returns the number of bytes.
/// Behind close_notify comes only the end of the carrier.
std::size_t session::send_now(const_buffer_span parts) noexcept {
  error_code ec;
  const std::size_t sent =
      engine_.has_said_end() ? carrier_->write_last(parts, ec) : carrier_->write_now(parts, ec);
  if (ec && ec != beck::error::would_block) fail_sending(ec);
  return sent;
}

/// Sends the output of a step, behind what was held back; what the carrier does not take at once is
/// sent in the background. A carrier that is TLS itself uses the memory that the output is in: it
/// gets a copy.
void session::send_output() noexcept {
  if (engine_.output().size() == 0) return;
  const bool is_next = !is_sending() && !output_error_;
  std::size_t sent = 0;
  if (is_next && carrier_->is_plain()) {
    const const_buffer parts[] = {waiting_.data(), engine_.output(), engine_.more_output()};
    sent = send_now(const_buffer_span(parts, 3));
    sent -= drop_waiting(sent);
  }
  try {
    add_waiting(engine_.output(), sent);
    add_waiting(engine_.more_output(), sent);
    engine_.drop_output();
    if (is_next && !carrier_->is_plain()) {
      const const_buffer all = waiting_.data();
      drop_waiting(send_now(const_buffer_span(&all, 1)));
    }
    if (!is_next && waiting_.size() > waiting_max) fail_sending(error::too_many_messages);
    start_sending();
  } catch (...) {
    fail_sending(make_error_code(std::errc::not_enough_memory));
    engine_.drop_output();
  }
}

/// Keeps the output of a step for the next one. Without memory it is sent now.
void session::hold_back_output() noexcept {
  if (is_sending() || output_error_) return;
  try {
    std::size_t sent = 0;
    add_waiting(engine_.output(), sent);
    add_waiting(engine_.more_output(), sent);
    engine_.drop_output();
  } catch (...) {
    waiting_.release();
  }
}

/// Copies a part of the output behind what is waiting, but for its first `sent` bytes, which are
/// taken off that number.
void session::add_waiting(const_buffer part, std::size_t& sent) {
  const std::size_t skipped = std::min(sent, part.size());
  const std::size_t left = part.size() - skipped;
  sent -= skipped;
  if (left == 0 || output_error_) return;
  std::memcpy(waiting_.prepare(left).data(), static_cast<const char*>(part.data()) + skipped, left);
  waiting_.commit(left);
}

/// Removes up to `sent` bytes of what is waiting. Returns their number.
std::size_t session::drop_waiting(std::size_t sent) noexcept {
  const std::size_t bytes = std::min(sent, waiting_.size());
  waiting_.consume(bytes);
  if (waiting_.empty()) waiting_.release();
  return bytes;
}

void session::start_sending() {
  if (sending_ || waiting_.empty()) return;
  co_spawn(executor_, send_waiting(share()), [self = share()](const std::exception_ptr& failed) {
    if (failed) self->fail_sending(make_error_code(std::errc::not_enough_memory));
    self->sending_ = false;
    self->drained_.set();
  });
  sending_ = true;
  drained_.reset();
}

void session::fail_sending(error_code why) noexcept {
  error_code ignored;
  output_error_ = why;
  waiting_.release();
  if (shaking_ && is_starved()) carrier_->socket().cancel(ignored);  // the handshake sees it
}

task<> session::send_waiting(session_ref self) {
  session& s = *self;
  while (!s.waiting_.empty()) {
    flat_buffer sending = std::move(s.waiting_);  // more may be added to the other one
    while (!sending.empty()) {
      const const_buffer part = sending.data();
      auto sent = co_await s.carrier_->write_some(const_buffer_span(&part, 1));
      sending.consume(sent.value_);
      if (!sent.error()) continue;
      if (sent.error() == beck::error::operation_aborted && s.carrier_->socket().is_open()) {
        ++s.cancels_;  // ends those who wait for this, but what is encrypted has to be sent
        s.drained_.set();
        s.drained_.reset();
        continue;
      }
      s.fail_sending(sent.error());
      co_return;
    }
  }
}

/// Writes by a call of the engine, which returns a number of bytes, if that is possible now.
template <class Call>
std::size_t session::write_with(Call call, error_code& ec) noexcept {
  ec = end_of_output();
  if (ec) return 0;
  if (is_sending()) {
    ec = beck::error::would_block;
    return 0;
  }
  const std::size_t bytes = call(step(*this));
  ec = end_of_output();
  return ec ? 0 : bytes;
}

std::size_t session::write_now(const_buffer_span parts, error_code& ec) noexcept {
  return write_with([&](const step& now) { return now->write(parts, loop_time()); }, ec);
}

std::size_t session::write_last(const_buffer_span parts, error_code& ec) noexcept {
  const std::size_t bytes =
      write_with([&](const step& now) { return now->write_last(parts, loop_time()); }, ec);
  finished_ = finished_ || engine_.has_said_end();
  return bytes;
}

/// Waits until nothing is being sent. Errors: those of the carrier, operation_aborted.
task<error_code> session::drain() {
  const unsigned cancels = cancels_;
  while (is_sending()) {
    auto waited = co_await drained_.wait();
    if (waited.error()) co_return waited.error();
    if (cancels != cancels_) co_return beck::error::operation_aborted;
  }
  co_return error_code();
}

task<io_result<std::size_t>> session::write_some(const_buffer_span parts) {
  error_code ec;
  if (is_sending()) ec = co_await drain();
  const std::size_t bytes = ec ? 0 : write_now(parts, ec);
  co_return io_result<std::size_t>(ec, bytes);
}

task<io_result<>> session::finish() {
  if (!std::exchange(finished_, true)) step(*this)->end();
  error_code ec;
  if (is_sending()) {
    auto drained = co_await timeout(drain(), finish_max);
    ec = drained.error() ? drained.error() : drained.value_;
  }
  if (!ec) ec = output_error_;
  if (ec) co_return io_result<>(ec);
  auto ended = co_await carrier_->finish();
  co_return ended;
}

void session::close(bool says_end) noexcept {
  error_code ignored;
  if (says_end && !finished_ && !is_sending()) step(*this)->end();
  finished_ = true;
  carrier_->socket().close(ignored);
}

}  // namespace beck::tls::detail
