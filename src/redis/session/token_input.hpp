// SPDX-License-Identifier: BSL-1.0
// The bytes that a server sends become tokens. Bytes that are no whole token yet are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <beck/base/flat_buffer.hpp>
#include <beck/redis/error.hpp>
#include <beck/redis/resp3.hpp>

namespace beck::redis::detail {

/// The input of one connection after the other. Thread: that of the session.
class token_input {
 public:
  explicit token_input(const parse_limits& most) noexcept
      : most_(without_push_limit(most)), parser_(most_) {
    parser_.expect_pushes_inside(true);
  }

  /// Takes the beginning of a connection.
  void begin(std::int64_t now) noexcept { heard_at_ = now; }
  /// Sets the version of the protocol. Requires that no reply has begun.
  void use(protocol version) noexcept { parser_.use(version); }
  /// Takes bytes, and calls `take(token)`, which returns an error_code, for each token of them.
  /// Returns the first error, of `take` or of the syntax. Throws std::bad_alloc, and as `take`.
  template <class Take>
  error_code receive(std::string_view bytes, std::int64_t now, Take&& take);
  /// Takes the end of the connection.
  void lose() noexcept {
    rest_.clear();
    parser_ = reply_parser(most_);
    parser_.expect_pushes_inside(true);
  }
  /// Frees memory that an idle connection does not need.
  void trim() noexcept {
    if (rest_.empty()) rest_.release();
  }

  /// Returns when bytes of a reply have last come, or when the connection began: a server that only
  /// pushes does not answer.
  std::int64_t heard_at() const noexcept { return heard_at_; }
  /// Returns the place in the stream where the last error is; of protocol_error::unexpected_reply a
  /// place behind the first byte of that reply.
  std::uint64_t error_offset() const noexcept { return error_offset_; }

 private:
  static constexpr std::size_t tokens_max = 64;

  /// Returns the limits of a parser whose user reads and drops pushes that are too large.
  static parse_limits without_push_limit(parse_limits most) noexcept {
    most.push_bytes = UINT32_MAX;
    return most;
  }
  /// Adds bytes to those that are no whole token yet.
  void keep(std::string_view bytes) {
    std::memcpy(rest_.prepare(bytes.size()).data(), bytes.data(), bytes.size());
    rest_.commit(bytes.size());
  }

  const parse_limits most_;
  reply_parser parser_;
  token tokens_[tokens_max];
  flat_buffer rest_;  // bytes that are no whole token yet
  std::int64_t heard_at_ = 0;
  std::uint64_t error_offset_ = 0;
};

template <class Take>
error_code token_input::receive(std::string_view bytes, std::int64_t now, Take&& take) {
  const bool is_kept = !rest_.empty();
  if (is_kept) {
    keep(bytes);
    const auto all = rest_.view();
    bytes = {all.data(), all.size()};
  }
  const std::size_t size = bytes.size();
  parsed found;
  bool are_pushes = false;
  do {
    found = parser_.parse(bytes, tokens_, tokens_max);
    for (std::size_t i = 0; i < found.tokens; ++i) {
      are_pushes = tokens_[i].in_push;
      if (!are_pushes) heard_at_ = now;
      const error_code ec = take(tokens_[i]);
      if (ec) error_offset_ = parser_.offset();
      if (ec) return ec;
    }
    bytes.remove_prefix(found.consumed);
  } while (found.outcome == parse_outcome::full || found.outcome == parse_outcome::stopped);
  if (found.outcome == parse_outcome::refused) {
    error_offset_ = parser_.error_offset();
    return parser_.reason();
  }
  if (!are_pushes) heard_at_ = now;  // also a part of a long reply
  if (is_kept) {
    rest_.consume(size - bytes.size());
  } else if (!bytes.empty()) {
    keep(bytes);
  }
  return {};
}

}  // namespace beck::redis::detail
