// SPDX-License-Identifier: BSL-1.0
//
// The first commands on a client's own connection: what the client has said while it shared one.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/read_write.hpp>
#include <cstddef>
#include <string_view>
#include <utility>

#include "reply_splitter.hpp"

namespace beck_redis_proxy {

/// Sends `commands` commands to a server that has sent nothing yet, and drops their replies.
/// Returns false if the connection has ended, or the server refuses the first one where it is
/// `needed`: HELLO, without which it speaks another version of the protocol than the client.
template <class Server>
beck::task<bool> introduce(Server& server, std::string_view bytes, std::size_t commands,
                           bool needed) {
  const auto wrote = co_await beck::async_write(server, beck::buffer(bytes));
  bool is_good = !wrote.error();
  reply_splitter replies;
  bool is_first = true;
  char room[4096];
  while (is_good && commands != 0) {
    const auto got = co_await server.async_read_some(beck::buffer(room));
    if (got.error()) co_return false;
    std::string_view arrived(room, got.value_);
    if (std::exchange(is_first, false) && needed && arrived.starts_with('-')) co_return false;
    while (is_good && commands != 0 && !arrived.empty()) {
      const reply_part part = replies.next(arrived);
      is_good = !part.is_refused;
      commands -= part.is_last ? 1 : 0;
      arrived.remove_prefix(part.bytes);
    }
  }
  co_return is_good;
}

}  // namespace beck_redis_proxy
