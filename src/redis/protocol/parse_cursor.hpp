// SPDX-License-Identifier: BSL-1.0
// One call of reply_parser::parse(): its input, and the room for tokens. Kinds of heads.
#pragma once

#include <beck/redis/resp3.hpp>

#include <cstddef>
#include <cstdint>

namespace beck::redis {

/// The content of an element's line behind its first byte.
enum class detail::head_kind : std::uint8_t {
  none,       // the byte names no type
  line,       // any text
  number,     // the text of a double or a big number
  integer,    // an integer
  text,       // the length of a text that follows
  aggregate,  // the number of elements or pairs that follow
  null,       // nothing
  boolean,    // "t" or "f"
  end,        // nothing
  part,       // the length of a part of a streamed string
};

struct reply_parser::cursor {
  const char* begin;  // the byte of the stream at reply_parser::offset()
  const char* at;     // the bytes before it are consumed
  const char* end;
  token* to;
  token* to_end;
  bool stops_behind_reply;
  bool is_stopped = false;

  std::size_t available() const noexcept { return static_cast<std::size_t>(end - at); }
};

}  // namespace beck::redis
