// SPDX-License-Identifier: BSL-1.0
// Each call of the engine is a step, at whose end its output is sent: at once as far as the carrier
// takes it, the rest by a coroutine. So a read never waits for a write, and an answer that TLS owes
// to its peer needs no caller.
#include "tls/session.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/steady_timer.hpp>

#include "io/op/descriptor.hpp"

namespace beck::tls::detail {
namespace {

constexpr std::size_t direct_min = 1024;     // less room is no place for encrypted bytes
constexpr std::size_t direct_max = 131'072;  // decrypted in one go
constexpr std::size_t waiting_max = 98'304;  // of answers that the peer asks for, and does not take
constexpr duration finish_max = duration(2'000'000'000);

/// Returns whether an operation that ended so may be started again.
bool is_passing(error_code ec) noexcept {
  return ec == beck::error::operation_aborted || ec == beck::error::timeout;
}

/// Returns the time at which the context that runs this thread last read its clock.
std::int64_t loop_time() noexcept {
  const beck::detail::runner* const here = beck::detail::runner::current();
  return here != nullptr ? here->read_at : steady_now().nanoseconds();
}

}  // namespace

/// A call of the engine.
class session::step {
 public:
  explicit step(session& of) noexcept : session_(of) {}
  step(const step&) = delete;
  step& operator=(const step&) = delete;
  ~step() { session_.send_output(); }
  detail::engine* operator->() const noexcept { return &session_.engine_; }

 private:
  session& session_;
};

session::session(owned_stream carrier, ssl_ptr prepared)
    : executor_(carrier->socket().slot()->executor),
      carrier_(std::move(carrier)),
      engine_(std::move(prepared)) {
  if (executor_.table()->concurrent)
    throw std::logic_error("tls: a stream needs a context for one thread");
}

beck::detail::text_view session::failure() const noexcept { return engine_.text(); }

// --- the handshake -------------------------------------------------------------------------------

/// Returns whether the output of the call that ended the handshake is tickets alone, for which no
/// peer waits. A client of TLS 1.2 may wait for the server's last message.
bool has_only_tickets(SSL* of) noexcept {
  return SSL_is_server(of) == 1 && SSL_version(of) == TLS1_3_VERSION;
}

/// Continues the handshake. What comes behind it is decrypted at once; the answer to that is near,
/// and takes the tickets along in its packet.
void session::shake(const_buffer received) noexcept {
  engine_.give(static_cast<const char*>(received.data()), received.size());
  {
    const step now(*this);
    now->shake();
    if (engine_.state() == engine_state::open && engine_.has_input() &&
        has_only_tickets(engine_.ssl()))
      hold_back_output();
  }
  if (engine_.state() != engine_state::open || !engine_.has_input()) return;
  try {
    buffer_lease opened = beck::detail::make_lease(received.size());
    opened.truncate(step(*this)->read(opened.data(), opened.size()));
    ahead_ = std::move(opened);
  } catch (...) {
    input_error_ = make_error_code(std::errc::not_enough_memory);
  }
}

/// Returns whether output was lost that the peer waits for. Other errors of sending come by the
/// carrier's receive, too, behind the alert that may explain them.
bool session::is_starved() const noexcept { return output_error_ == std::errc::not_enough_memory; }

task<error_code> session::exchange_messages() {
  if (SSL_is_server(engine_.ssl()) == 0) shake({});  // a server has nothing to say yet
  while (engine_.state() == engine_state::shaking) {
    if (is_starved()) co_return output_error_;
    auto got = co_await carrier_->receive();
    if (is_starved()) co_return output_error_;
    if (got.error() == beck::error::eof) {
      engine_.fail(error::truncated, "the peer ended the connection during the handshake");
    } else if (got.error()) {
      co_return got.error();
    } else {
      shake(got.value_);
    }
  }
  if (engine_.state() == engine_state::failed) co_return engine_.code();
  co_return error_code();
}

task<error_code> session::handshake(session_ref self) {
  session& s = *self;
  while (s.engine_.state() == engine_state::shaking && !s.handshake_error_) {
    if (s.shaking_) {
      auto waited = co_await s.shaken_.wait();
      if (waited.error()) co_return waited.error();
      continue;
    }
    s.shaking_ = true;
    error_code ec;
    try {
      ec = co_await s.exchange_messages();
    } catch (...) {
      ec = make_error_code(std::errc::not_enough_memory);
    }
    s.shaking_ = false;
    if (!is_passing(ec)) s.handshake_error_ = ec;
    s.shaken_.set();  // another operation may go on with a handshake that was cancelled here
    s.shaken_.reset();
    if (ec) co_return ec;
  }
  co_return s.handshake_error_;
}

// --- receiving -----------------------------------------------------------------------------------

/// Returns why nothing more comes; no error while something may.
error_code session::end_of_input() const noexcept {
  if (handshake_error_) return handshake_error_;
  if (input_error_) return input_error_;
  if (engine_.state() == engine_state::failed) return engine_.code();
  if (engine_.state() == engine_state::ended) return beck::error::eof;
  return {};
}

/// Notes the error of a receive. Returns it as the caller shall see it.
error_code session::note_end(error_code why) noexcept {
  if (is_passing(why)) return why;
  input_error_ = why == beck::error::eof ? make_error_code(error::truncated) : why;
  return input_error_;
}

/// Decrypts the bytes of a lease, in it if no record began before it.
buffer_lease session::unseal(buffer_lease&& received) noexcept {
  buffer_lease sealed = std::move(received);
  engine_.give(sealed.data(), sealed.size());
  if (engine_.held() == 0) {
    sealed.truncate(step(*this)->read(sealed.data(), sealed.size()));
    return sealed;
  }
  try {
    buffer_lease opened = beck::detail::make_lease(engine_.held() + sealed.size());
    opened.truncate(step(*this)->read(opened.data(), opened.size()));
    return opened;
  } catch (...) {
    input_error_ = make_error_code(std::errc::not_enough_memory);
    return {};
  }
}

/// Keeps decrypted bytes for the next read.
void session::keep(const_buffer rest) noexcept {
  if (rest.size() == 0) return;
  try {
    ahead_ = beck::detail::make_lease(rest.size());
    std::memcpy(ahead_.data(), rest.data(), rest.size());
  } catch (...) {
    input_error_ = make_error_code(std::errc::not_enough_memory);
  }
}

/// Moves kept bytes to a reader. Returns their number.
std::size_t session::take(mutable_buffer to) noexcept {
  const std::size_t bytes = std::min(to.size(), ahead_.size() - ahead_at_);
  std::memcpy(to.data(), ahead_.data() + ahead_at_, bytes);
  ahead_at_ += bytes;
  if (ahead_at_ == ahead_.size()) {
    ahead_.reset();
    ahead_at_ = 0;
  }
  return bytes;
}

task<io_result<buffer_lease>> session::receive() {
  io_result<buffer_lease> result;
  if (!ahead_.empty()) {
    const std::size_t at = std::exchange(ahead_at_, 0);
    const std::size_t left = ahead_.size() - at;
    std::memmove(ahead_.data(), ahead_.data() + at, left);
    ahead_.truncate(left);
    result.value_ = std::move(ahead_);
  }
  while (result.value_.empty()) {
    result.error_ = end_of_input();
    if (result.error_) break;
    auto got = co_await carrier_->receive();
    if (got.error()) {
      result.error_ = note_end(got.error());
      break;
    }
    result.value_ = unseal(std::move(got.value_));
  }
  co_return result;
}

task<io_result<std::size_t>> session::read_some(mutable_buffer to) {
  std::size_t bytes = 0;
  error_code ec;
  while (!read_ready(to, bytes, ec)) {
    const std::size_t gap = engine_.held();
    if (to.size() >= gap + direct_min) {
      char* const begin = static_cast<char*>(to.data());
      const mutable_buffer room(begin + gap, std::min(to.size() - gap, direct_max));
      auto got = co_await carrier_->read_some(room);
      ec = got.error();
      if (!ec) {
        engine_.give(begin + gap, got.value_);
        bytes = step(*this)->read(begin, to.size());
      }
    } else {
      auto got = co_await carrier_->receive();
      ec = got.error();
      if (!ec) {
        const buffer_lease opened = unseal(std::move(got.value_));
        bytes = std::min(to.size(), opened.size());
        if (bytes != 0) std::memcpy(to.data(), opened.data(), bytes);
        keep({opened.data() + bytes, opened.size() - bytes});
      }
    }
    if (ec) ec = note_end(ec);
    if (ec || bytes != 0) break;
  }
  co_return io_result<std::size_t>(ec, bytes);
}

bool session::read_ready(mutable_buffer to, std::size_t& bytes, error_code& ec) noexcept {
  if (to.size() == 0) return true;
  if (!ahead_.empty()) {
    bytes = take(to);
    return true;
  }
  ec = end_of_input();
  return static_cast<bool>(ec);
}

// --- sending -------------------------------------------------------------------------------------

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

task<io_result<owned_stream>> shake_hands(owned_stream carrier, ssl_ptr prepared) {
  const session_ref made(new session(std::move(carrier), std::move(prepared)));
  io_result<owned_stream> result;
  result.value_ = owned_stream(new secure_stream(made));
  result.error_ = co_await session::handshake(made);
  if (result.error_) made->close(false);
  co_return result;
}

}  // namespace beck::tls::detail
