// SPDX-License-Identifier: BSL-1.0
//
// WAIT on a client's own connection, behind writes over a shared one.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/base/dynamic_buffer.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/read_write.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include "shared_pool.hpp"

namespace beck_redis_proxy {

inline constexpr std::size_t answer_bytes_most = 4096;

/// Lets the WAIT in front of `left` cover the writes that the client has sent over a shared
/// connection. WAIT covers what the server had replicated by the last command of its own
/// connection, from Redis 7.2 on by the last one that is replicated itself; so this sends one that
/// changes nothing. If the server refuses it, the client receives the error in place of an answer
/// to WAIT.
template <class Client, class Server>
beck::task<> cover_earlier_writes(Client& client, Server& server, shared_leave& left) {
  constexpr std::string_view publish =
      "*3\r\n$7\r\nPUBLISH\r\n$16\r\nbeck-redis-proxy\r\n$0\r\n\r\n";
  beck::ignore(co_await beck::async_write(server, beck::buffer(publish)));
  std::string answer;
  const auto line = beck::dynamic_buffer(answer, answer_bytes_most);
  beck::ignore(co_await beck::async_read_until(server, line, '\n'));
  if (answer.starts_with(':')) co_return;
  left.rest.erase(0, left.wait_bytes);
  beck::ignore(co_await beck::async_write(client, beck::buffer(answer)));
}

}  // namespace beck_redis_proxy
