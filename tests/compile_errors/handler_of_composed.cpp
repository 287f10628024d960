// SPDX-License-Identifier: BSL-1.0
// Does not compile: a handler that cannot take the result of a composed operation.
// lines: 18
// says: the last argument must be a completion token, or a handler
// says: void ?\(std::error_code, (long unsigned int|unsigned long)\)
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>

void write(beck::ip::tcp::socket& socket, char (&data)[8]) {
  beck::async_write(socket, beck::buffer(data), [](beck::error_code, char*) {});
}
