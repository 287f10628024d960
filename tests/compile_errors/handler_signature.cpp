// SPDX-License-Identifier: BSL-1.0
// Does not compile: a handler that cannot take an operation's result.
// lines: 18
// says: the last argument must be a completion token, or a handler
// says: void ?\(std::error_code, (long unsigned int|unsigned long)\)
#include <beck/net/tcp.hpp>

void read(beck::ip::tcp::socket& socket, char (&data)[8]) {
  socket.async_read_some(beck::buffer(data), [](beck::error_code) {});
}
