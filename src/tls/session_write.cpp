// SPDX-License-Identifier: BSL-1.0
// The sending side of a session. What a step has encrypted is sent at once as far as the carrier
// takes it, the rest in the background. So a read never waits for a write, and an answer that TLS
// owes to its peer needs no caller.
#include <algorithm>

#include <beck/coro/timeout.hpp>

#include "tls/session.hpp"

namespace beck::tls::detail {
namespace {

constexpr std::size_t waiting_max = 98'304;  // of answers that the peer asks for, and does not take
constexpr duration finish_max = duration(2'000'000'000);

}  // namespace

/// Returns why nothing more is sent; no error while something may be.
error_code session::end_of_output() const noexcept {
  if (handshake_error_) return handshake_error_;
  if (output_ == output_state::failed) return output_error_;
  if (engine_.state() == engine_state::failed) return engine_.code();
  if (output_ == output_state::ended) return beck::error::broken_pipe;
  return {};
}

/// Sends the output of a step, behind what was held back. A carrier that is TLS itself uses the
/// memory that the output is in: it gets a copy. Behind close_notify comes only the end of the
/// carrier.
void session::send_output() noexcept {
  if (engine_.output().size() == 0) return;
  const bool is_next = !is_sending();
  if (engine_.has_said_end()) writer_.end_follows();
  try {
    if (carrier_->is_plain()) {
      const const_buffer parts[] = {engine_.output(), engine_.more_output()};
      writer_.send_behind(const_buffer_span(parts, 2));
    } else {
      copy_output();
      writer_.flush();
    }
    if (is_next) answers_at_ = waiting_.added();
    const std::uint64_t sent = std::max(answers_at_, waiting_.removed());
    if (waiting_.added() - sent > waiting_max) fail_sending(error::too_many_messages);
  } catch (...) {
    fail_sending(make_error_code(std::errc::not_enough_memory));
  }
  engine_.drop_output();
}

/// Keeps the output of a step for the next one. Without memory it is sent now.
void session::hold_back_output() noexcept {
  if (is_sending()) return;
  try {
    copy_output();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the engine still has all of it
  }
}

void session::copy_output() {
  const const_buffer parts[] = {engine_.output(), engine_.more_output()};
  keep_rest(const_buffer_span(parts, 2), 0);
  engine_.drop_output();
}

/// Notes that the user writes nothing more.
void session::end_output(bool says_end) noexcept {
  if (output_ != output_state::open) return;
  output_ = output_state::ended;
  if (says_end) step(*this)->end();
}

void session::fail_sending(error_code why) noexcept {
  if (output_ == output_state::failed) return;
  output_ = output_state::failed;
  output_error_ = why;
  writer_.stop();
  if (!is_sending()) waiting_.clear();
  drained_.set();  // also while the carrier takes nothing
  drained_.reset();
  error_code ignored;
  if (shaking_ && is_starved()) carrier_->socket().cancel(ignored);  // the handshake sees it
}

// --- the source of the writer --------------------------------------------------------------------

void session::keep_rest(const_buffer_span parts, std::size_t sent) {
  if (output_ == output_state::failed) return;
  std::size_t bytes = 0;
  for (const const_buffer& part : parts) bytes += part.size();
  waiting_.reserve(bytes - sent);
  for (const const_buffer& part : parts) {
    const const_buffer rest = part + sent;
    sent -= part.size() - rest.size();
    waiting_.copy({static_cast<const char*>(rest.data()), rest.size()});
  }
}

void session::take_write_error(const error_code& why) noexcept {
  const bool is_cancelled = why == beck::error::operation_aborted && is_sending();
  if (!is_cancelled || !carrier_->socket().is_open()) return fail_sending(why);
  ++cancels_;  // ends those who wait for this, but what is encrypted has to be sent
  drained_.set();
  drained_.reset();
}

void session::end_stall() noexcept {
  if (writer_.is_stopped()) waiting_.clear();
  drained_.set();
  drained_.reset();
}

// --- writes and the end --------------------------------------------------------------------------

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
  if (engine_.has_said_end()) end_output(false);
  return bytes;
}

/// Waits until nothing is being sent. Errors: those of the carrier, operation_aborted.
task<error_code> session::drain() {
  const unsigned cancels = cancels_;
  while (is_sending()) {
    auto waited = co_await drained_.wait();
    if (waited.error()) co_return waited.error();
    if (output_ == output_state::failed) co_return output_error_;
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
  end_output(true);
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
  end_output(says_end && !is_sending());
  carrier_->socket().close(ignored);
}

}  // namespace beck::tls::detail
