// SPDX-License-Identifier: BSL-1.0
// The life of a session, its handshake, and the side that receives.
#include "tls/session.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace beck::tls::detail {
namespace {

constexpr std::size_t direct_min = 1024;     // less room is no place for encrypted bytes
constexpr std::size_t direct_max = 131'072;  // decrypted in one go

/// Returns whether an operation that ended so may be started again.
bool is_passing(error_code ec) noexcept {
  return ec == beck::error::operation_aborted || ec == beck::error::timeout;
}

/// Returns whether the output of the call that ended the handshake is tickets alone, for which no
/// peer waits. A client of TLS 1.2 may wait for the server's last message.
bool has_only_tickets(SSL* of) noexcept {
  return SSL_is_server(of) == 1 && SSL_version(of) == TLS1_3_VERSION;
}

}  // namespace

session::session(owned_stream carrier, ssl_ptr prepared)
    : executor_(carrier->get_executor()),
      carrier_(std::move(carrier)),
      engine_(std::move(prepared)),
      writer_(*this) {
  if (executor_.table()->concurrent)
    throw std::logic_error("tls: a stream needs a context for one thread");
  writer_.start(executor_, *carrier_);
}

std::string_view session::error_text() const noexcept { return engine_.text(); }

beck::detail::fixed_text<100> session::peer_name() const {
  const X509* const certificate = SSL_get0_peer_certificate(engine_.ssl());
  beck::detail::fixed_text<100> name;
  if (certificate != nullptr) name.append(subject_of(*certificate));
  return name;
}

// --- the handshake -------------------------------------------------------------------------------

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
    opened.truncate(step(*this)->read(opened.data(), opened.size(), loop_time()));
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
    sealed.truncate(step(*this)->read(sealed.data(), sealed.size(), loop_time()));
    return sealed;
  }
  try {
    buffer_lease opened = beck::detail::make_lease(engine_.held() + sealed.size());
    opened.truncate(step(*this)->read(opened.data(), opened.size(), loop_time()));
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
    send_held_back();  // the answer that was near waits for more
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
    send_held_back();
    const std::size_t gap = engine_.held();
    if (to.size() >= gap + direct_min) {
      char* const begin = static_cast<char*>(to.data());
      const mutable_buffer room(begin + gap, std::min(to.size() - gap, direct_max));
      auto got = co_await carrier_->read_some(room);
      ec = got.error();
      if (!ec) {
        engine_.give(begin + gap, got.value_);
        bytes = step(*this)->read(begin, to.size(), loop_time());
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

task<io_result<owned_stream>> shake_hands(owned_stream carrier, ssl_ptr prepared) {
  const session_ref made(new session(std::move(carrier), std::move(prepared)));
  io_result<owned_stream> result;
  result.value_ = owned_stream(new secure_stream(made));
  result.error_ = co_await session::handshake(made);
  if (result.error_) made->close(false);
  co_return result;
}

}  // namespace beck::tls::detail
