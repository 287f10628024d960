// SPDX-License-Identifier: BSL-1.0
//
// Finds the ends of a server's replies, without keeping a byte of them. beck's own parser limits
// depth, lines and sizes, and a reply beyond its limits would end the connection of all clients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck_redis_proxy {

/// The first bytes of some input.
struct reply_part {
  std::size_t bytes = 0;    ///< that belong to the reply
  bool is_last = false;     ///< the reply ends with them
  bool is_refused = false;  ///< the input is no reply; then `bytes` is 0
};

/// Splits a stream into replies of RESP2 or RESP3; pushes and streamed forms, which a server sends
/// to no shared connection, are refused. Nothing of a reply is limited but its numbers.
class reply_splitter {
 public:
  /// Returns the part of `input` that belongs to the present reply: all of it, unless the reply
  /// ends before. The next call continues behind that part. Requires that no input was refused.
  reply_part next(std::string_view input) noexcept;
  /// Returns whether the next byte begins a reply.
  bool is_between() const noexcept { return stage_ == stage::type && elements_left_ == 1; }

 private:
  enum class stage : std::uint8_t { type, line, number, line_feed, text, text_end };

  bool take(char next) noexcept;
  bool take_type(char type) noexcept;
  bool take_number(char next) noexcept;
  bool end_line() noexcept;

  std::uint64_t elements_left_ = 1;  // of the reply, on all levels, as far as they are announced
  std::uint64_t number_ = 0;         // behind the type
  std::uint64_t text_left_ = 0;
  stage stage_ = stage::type;
  char type_ = '\0';
  bool has_digits_ = false;
  bool is_null_ = false;
};

}  // namespace beck_redis_proxy
