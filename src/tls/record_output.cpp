// SPDX-License-Identifier: BSL-1.0
// Answers of TLS, such as new keys, are queued without a limit of the user's; a peer that asks for
// them and takes none has a limit of its own.
#include "tls/record_output.hpp"

#include <algorithm>

#include <beck/coro/timeout.hpp>

#include "base/transitions.hpp"
#include "tls/session.hpp"

namespace beck::tls::detail {
namespace {

constexpr std::size_t answers_max = 98'304;  // bytes that the peer has asked for and does not take
constexpr duration finish_max = duration(2'000'000'000);

enum class output_event : std::uint8_t {
  end,   ///< the user has ended the direction, or closed the session
  fail,  ///< the transport takes no more, or the output was lost
};

/// In the order of output_event.
constexpr beck::detail::transition_table<output_state, 2> output_transitions = [] {
  using beck::detail::any_of;
  using enum output_state;
  return beck::detail::transition_table<output_state, 2>{{
      /* end  */ {ended, any_of({open})},
      /* fail */ {failed, any_of({open, ended})},
  }};
}();

}  // namespace

record_output::record_output(session& of) noexcept : session_(of), writer_(*this) {
  writer_.start(of.executor(), of.transport());
}

/// Returns the error that a write gets now; no error while bytes can be sent.
error_code record_output::write_error() const noexcept {
  const engine& e = session_.engine();
  if (session_.handshake_error()) return session_.handshake_error();
  if (state_ == output_state::failed) return error_;
  if (e.state() == engine_state::failed) return e.error();
  if (state_ == output_state::ended) return beck::error::broken_pipe;
  return {};
}

/// Sends the output of a step, after the bytes that were held back. A transport that is TLS itself
/// uses the memory that holds the output: it gets a copy. After close_notify comes only the end of
/// the transport.
void record_output::send() noexcept {
  engine& e = session_.engine();
  if (e.output().size() == 0) return;
  const bool is_next = !is_sending();
  if (e.has_said_end()) writer_.end_follows();
  try {
    if (session_.transport().is_plain()) {
      const const_buffer parts[] = {e.output(), e.more_output()};
      writer_.send_behind(const_buffer_span(parts, 2));
    } else {
      copy_output();
      writer_.flush();
    }
    if (is_next) answers_at_ = waiting_.added();
    const std::uint64_t sent = std::max(answers_at_, waiting_.removed());
    if (waiting_.added() - sent > answers_max) fail(error::too_many_messages);
  } catch (...) {
    fail(make_error_code(std::errc::not_enough_memory));
  }
  e.drop_output();
}

void record_output::hold_back() noexcept {
  if (is_sending()) return;
  try {
    copy_output();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the engine still has all of it
  }
}

void record_output::copy_output() {
  engine& e = session_.engine();
  const const_buffer parts[] = {e.output(), e.more_output()};
  keep_rest(const_buffer_span(parts, 2), 0);
  e.drop_output();
}

void record_output::end(bool says_end) noexcept {
  if (state_ != output_state::open) return;
  advance(state_, output_event::end, output_transitions);
  if (says_end) step(*this)->end();
}

void record_output::fail(error_code why) noexcept {
  BECK_ASSERT(why, "the output of TLS failed without an error");
  if (state_ == output_state::failed) return;
  advance(state_, output_event::fail, output_transitions);
  error_ = why;
  writer_.stop();
  if (!is_sending()) waiting_.clear();
  wake_writers();  // also while the transport takes nothing
  session_.take_output_error();
}

void record_output::wake_writers() noexcept {
  drained_.set();
  drained_.reset();
}

// --- the source of the writer --------------------------------------------------------------------

void record_output::keep_rest(const_buffer_span parts, std::size_t sent) {
  if (state_ == output_state::failed) return;
  std::size_t bytes = 0;
  for (const const_buffer& part : parts) bytes += part.size();
  BECK_ASSERT(sent <= bytes, "the transport took more bytes than it was given");
  waiting_.reserve(bytes - sent);
  for (const const_buffer& part : parts) {
    const const_buffer rest = part + sent;
    sent -= part.size() - rest.size();
    waiting_.copy({static_cast<const char*>(rest.data()), rest.size()});
  }
}

void record_output::take_write_error(const error_code& why) noexcept {
  const bool is_cancelled = why == beck::error::operation_aborted && is_sending();
  if (!is_cancelled || !session_.transport().socket().is_open()) return fail(why);
  ++cancels_;  // ends the waits, but bytes that are encrypted have to be sent
  wake_writers();
}

void record_output::end_stall() noexcept {
  if (writer_.is_stopped()) waiting_.clear();
  wake_writers();
}

void record_output::hold() noexcept { session_.add_share(); }
void record_output::let_go() noexcept { session_.drop_share(); }

// --- writes and the end --------------------------------------------------------------------------

/// Writes by a call of the engine, which returns a number of bytes, if that is possible now.
template <class Call>
std::size_t record_output::write_with(Call call, error_code& ec) noexcept {
  ec = write_error();
  if (ec) return 0;
  BECK_ASSERT(session_.engine().state() != engine_state::shaking, "a write before the handshake");
  if (is_sending()) {
    ec = beck::error::would_block;
    return 0;
  }
  const std::size_t bytes = call(step(*this));
  ec = write_error();
  return ec ? 0 : bytes;
}

std::size_t record_output::write_now(const_buffer_span parts, error_code& ec) noexcept {
  return write_with([&](const step& now) { return now->write(parts, loop_time()); }, ec);
}

std::size_t record_output::write_last(const_buffer_span parts, error_code& ec) noexcept {
  const std::size_t bytes =
      write_with([&](const step& now) { return now->write_last(parts, loop_time()); }, ec);
  if (session_.engine().has_said_end()) end(false);
  return bytes;
}

/// Waits until nothing is being sent. Errors: those of the transport, operation_aborted.
task<error_code> record_output::drain() {
  const unsigned cancels = cancels_;
  while (is_sending()) {
    auto waited = co_await drained_.wait();
    if (waited.error()) co_return waited.error();
    if (state_ == output_state::failed) co_return error_;
    if (cancels != cancels_) co_return beck::error::operation_aborted;
  }
  co_return error_code();
}

task<io_result<std::size_t>> record_output::write_some(const_buffer_span parts) {
  error_code ec;
  if (is_sending()) ec = co_await drain();
  const std::size_t bytes = ec ? 0 : write_now(parts, ec);
  co_return io_result<std::size_t>(ec, bytes);
}

task<io_result<>> record_output::finish() {
  end(true);
  error_code ec;
  if (is_sending()) {
    auto drained = co_await timeout(drain(), finish_max);
    ec = drained.error() ? drained.error() : drained.value_;
  }
  if (!ec) ec = error_;
  if (ec) co_return io_result<>(ec);
  auto ended = co_await session_.transport().finish();
  co_return ended;
}

}  // namespace beck::tls::detail
