// SPDX-License-Identifier: BSL-1.0
//
// A TCP server that sends back the data that it receives; a coroutine for each connection.
//   echo_server [PORT]        no port, or 0: any free one; it is printed
//   BECK_BACKEND=epoll echo_server 7000
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <cstdio>

#include "number.hpp"

using beck::ip::tcp;

namespace {

beck::task<> session(tcp::socket socket) {
  char data[16384];
  for (;;) {
    const auto [error, size] = co_await socket.async_read_some(beck::buffer(data));
    if (error) co_return;  // the client has closed, or the connection is lost
    const auto [write_error, sent] = co_await beck::async_write(socket, beck::buffer(data, size));
    if (write_error) co_return;
  }
}

beck::task<> serve(beck::io_context& context, tcp::acceptor acceptor) {
  for (;;) {
    auto accepted = co_await acceptor.async_accept();
    if (!accepted) co_return;
    tcp::socket socket = std::move(accepted).value();
    socket.set_option(tcp::no_delay(true));
    beck::co_spawn(context, session(std::move(socket)), beck::detached);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto port = beck::ip::make_port(argc > 1 ? example::number(argv[1]) : 0);
    beck::io_context context;
    tcp::acceptor acceptor(context, tcp::endpoint(tcp::v4(), port));
    std::printf("listening on port %d, %s\n", acceptor.local_endpoint().port(),
                beck::to_string(context.backend_in_use()));
    std::fflush(stdout);
    beck::co_spawn(context, serve(context, std::move(acceptor)), beck::detached);
    context.run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "echo_server: %s\n", e.what());
    return 1;
  }
}
