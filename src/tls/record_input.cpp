// SPDX-License-Identifier: BSL-1.0
// A read with room for a record receives into its own memory, behind a gap for the part of a record
// that OpenSSL holds; other reads borrow a buffer.
#include "tls/record_input.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tls/session.hpp"

namespace beck::tls::detail {
namespace {

constexpr std::size_t direct_min = 1024;     // less room is no place for encrypted bytes
constexpr std::size_t direct_max = 131'072;  // decrypted by one call

}  // namespace

/// Returns the error that a read gets now; no error while bytes may arrive.
error_code record_input::read_error() const noexcept {
  const engine& e = session_.engine();
  if (session_.handshake_error()) return session_.handshake_error();
  if (error_) return error_;
  if (e.state() == engine_state::failed) return e.error();
  if (e.state() == engine_state::ended) return beck::error::eof;
  return {};
}

/// Notes the error of a receive. Returns the error of the read.
error_code record_input::note_error(error_code why) noexcept {
  if (is_passing(why)) return why;
  error_ = why == beck::error::eof ? make_error_code(error::truncated) : why;
  return error_;
}

/// Decrypts the input of the engine. Returns the number of bytes.
std::size_t record_input::decrypt(char* to, std::size_t room) noexcept {
  BECK_ASSERT(session_.engine().state() != engine_state::shaking, "a read before the handshake");
  return record_output::step(session_.output())->read(to, room, loop_time());
}

void record_input::decrypt_ahead(std::size_t bytes) noexcept {
  BECK_ASSERT(ahead_.empty(), "decrypted bytes were replaced before they were read");
  try {
    buffer_lease opened = beck::detail::make_lease(bytes);
    opened.truncate(decrypt(opened.data(), opened.size()));
    ahead_ = std::move(opened);
  } catch (...) {
    error_ = make_error_code(std::errc::not_enough_memory);
  }
}

/// Decrypts the bytes of a lease, in place if no record began before it.
buffer_lease record_input::decrypt(buffer_lease&& received) noexcept {
  engine& e = session_.engine();
  buffer_lease sealed = std::move(received);
  e.give(sealed.data(), sealed.size());
  if (e.held() == 0) {
    sealed.truncate(decrypt(sealed.data(), sealed.size()));
    return sealed;
  }
  try {
    buffer_lease opened = beck::detail::make_lease(e.held() + sealed.size());
    opened.truncate(decrypt(opened.data(), opened.size()));
    return opened;
  } catch (...) {
    error_ = make_error_code(std::errc::not_enough_memory);
    return {};
  }
}

/// Keeps decrypted bytes for the next read.
void record_input::keep(const_buffer rest) noexcept {
  if (rest.size() == 0) return;
  BECK_ASSERT(ahead_.empty(), "decrypted bytes were replaced before they were read");
  try {
    ahead_ = beck::detail::make_lease(rest.size());
    std::memcpy(ahead_.data(), rest.data(), rest.size());
  } catch (...) {
    error_ = make_error_code(std::errc::not_enough_memory);
  }
}

/// Moves kept bytes to a reader. Returns their number.
std::size_t record_input::take(mutable_buffer to) noexcept {
  BECK_ASSERT(ahead_at_ < ahead_.size(), "more decrypted bytes were read than there were");
  const std::size_t bytes = std::min(to.size(), ahead_.size() - ahead_at_);
  std::memcpy(to.data(), ahead_.data() + ahead_at_, bytes);
  ahead_at_ += bytes;
  if (ahead_at_ == ahead_.size()) {
    ahead_.reset();
    ahead_at_ = 0;
  }
  return bytes;
}

task<io_result<buffer_lease>> record_input::receive() {
  io_result<buffer_lease> result;
  if (!ahead_.empty()) {
    const std::size_t at = std::exchange(ahead_at_, 0);
    const std::size_t left = ahead_.size() - at;
    std::memmove(ahead_.data(), ahead_.data() + at, left);
    ahead_.truncate(left);
    result.value_ = std::move(ahead_);
  }
  while (result.value_.empty()) {
    result.error_ = read_error();
    if (result.error_) break;
    session_.output().send_held_back();  // the answer that was near waits for more
    auto got = co_await session_.transport().receive();
    if (got.error()) {
      result.error_ = note_error(got.error());
      break;
    }
    result.value_ = decrypt(std::move(got.value_));
  }
  co_return result;
}

task<io_result<std::size_t>> record_input::read_some(mutable_buffer to) {
  std::size_t bytes = 0;
  error_code ec;
  while (!read_ready(to, bytes, ec)) {
    session_.output().send_held_back();
    const std::size_t gap = session_.engine().held();
    if (to.size() >= gap + direct_min) {
      char* const begin = static_cast<char*>(to.data());
      const mutable_buffer room(begin + gap, std::min(to.size() - gap, direct_max));
      auto got = co_await session_.transport().read_some(room);
      ec = got.error();
      if (!ec) {
        BECK_ASSERT(gap == session_.engine().held(), "two reads of TLS were under way at once");
        session_.engine().give(begin + gap, got.value_);
        bytes = decrypt(begin, to.size());
      }
    } else {
      auto got = co_await session_.transport().receive();
      ec = got.error();
      if (!ec) {
        const buffer_lease opened = decrypt(std::move(got.value_));
        bytes = std::min(to.size(), opened.size());
        if (bytes != 0) std::memcpy(to.data(), opened.data(), bytes);
        keep({opened.data() + bytes, opened.size() - bytes});
      }
    }
    if (ec) ec = note_error(ec);
    if (ec || bytes != 0) break;
  }
  co_return io_result<std::size_t>(ec, bytes);
}

bool record_input::read_ready(mutable_buffer to, std::size_t& bytes, error_code& ec) noexcept {
  if (to.size() == 0) return true;
  if (!ahead_.empty()) {
    bytes = take(to);
    return true;
  }
  ec = read_error();
  return static_cast<bool>(ec);
}

}  // namespace beck::tls::detail
