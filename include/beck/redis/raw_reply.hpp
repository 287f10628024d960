// SPDX-License-Identifier: BSL-1.0
//
// A reply as bytes, for programs that pass replies on.
#pragma once

#include <beck/redis/byte_store.hpp>
#include <beck/redis/resp3.hpp>
#include <cstdint>
#include <string_view>

namespace beck::redis {

/// A whole reply as the bytes that the server has sent, an error too, which is also that of the
/// redis::reply around it: `auto got = co_await db.exec<redis::raw_reply>("GET", "k")`. In the
/// version of the protocol that the connection speaks: see client_options::protocol. A streamed
/// text has the same parts or more; of a divided command of a cluster the bytes are made from the
/// replies to its parts, and an error of one is only in the redis::reply.
/// Only for a whole reply: inside of another type it stays empty. A value.
class raw_reply {
 public:
  /// Returns the bytes; empty if there is no reply, unfinished behind error::reply_too_large.
  std::string_view bytes() const noexcept { return bytes_.view(); }
  /// Removes the bytes.
  void clear() noexcept { bytes_.release(); }
  /// For the reader: adds the bytes of a token. Throws std::bad_alloc; the reply is unfinished
  /// then.
  void append(const token& next);

 private:
  void add_line(char sign, std::string_view text);
  void add_head(char sign, std::int64_t number);
  void add_text(const token& next);
  void add_part(std::string_view text);

  detail::small_store<0> bytes_;
  bool is_streamed_ = false;  // the text that is being added
};

}  // namespace beck::redis
