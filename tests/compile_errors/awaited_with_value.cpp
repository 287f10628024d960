// SPDX-License-Identifier: BSL-1.0
// Does not compile: something that is no token, in a coroutine.
// lines: 18
// says: the last argument must be a completion token, or a handler
// says: void ?\(std::error_code, (long unsigned int|unsigned long)\)
#include <beck/coro/task.hpp>
#include <beck/net/tcp.hpp>

beck::task<> read(beck::ip::tcp::socket& socket, char (&data)[8]) {
  auto [ec, n] = co_await socket.async_read_some(beck::buffer(data), 8);
  static_cast<void>(ec ? 0 : n);
}
