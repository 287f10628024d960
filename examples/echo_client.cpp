// SPDX-License-Identifier: BSL-1.0
//
// Sends lines to an echo server, one at a time, and checks the answers. A coroutine in the
// throwing style: inside an awaitable an operation returns its value or throws.
//   echo_client ADDRESS PORT [COUNT]
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <cstdio>
#include <string>

#include "number.hpp"

using beck::ip::tcp;

namespace {

beck::awaitable<> talk(beck::io_context& context, tcp::endpoint server, long count) {
  tcp::socket socket(context);
  co_await socket.async_connect(server);
  for (long i = 0; i < count; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    std::string answer(line.size(), '\0');
    co_await beck::async_write(socket, beck::buffer(line));
    co_await beck::async_read(socket, beck::buffer(answer));
    if (answer != line) throw std::runtime_error("the answer differs from what was sent");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: echo_client ADDRESS PORT [COUNT]\n");
    return 2;
  }
  try {
    const auto port = beck::ip::make_port(example::number(argv[2]));
    const tcp::endpoint server(beck::ip::make_address(argv[1]), port);
    const long count = argc > 3 ? example::number(argv[3]) : 10;
    beck::io_context context;
    std::exception_ptr failure;
    beck::co_spawn(context, talk(context, server, count),
                   [&failure](std::exception_ptr e) { failure = e; });
    context.run();
    if (failure) std::rethrow_exception(failure);
    std::printf("%ld lines came back, %s\n", count, beck::to_string(context.backend_in_use()));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "echo_client: %s\n", e.what());
    return 1;
  }
}
