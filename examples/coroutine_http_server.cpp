// SPDX-License-Identifier: BSL-1.0
//
// An HTTP server of coroutines, made from blocking_http_server; docs/blocking-to-coroutines.md has
// the difference. beck::http has a whole server, with limits: http_server.
//   coroutine_http_server PORT        port 0: any free one; it is printed
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <cstdio>
#include <string>

#include "greeter.hpp"
#include "number.hpp"

using beck::ip::tcp;

namespace {

beck::task<> session(tcp::socket socket) {
  example::greeter greeter;
  char data[4096];
  while (greeter.goes_on()) {
    const auto [ec, size] = co_await socket.async_read_some(beck::buffer(data));
    if (ec) co_return;
    const std::string responses = greeter.responses_to({data, size});
    const auto [write_ec, sent] = co_await beck::async_write(socket, beck::buffer(responses));
    if (write_ec) co_return;
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
    std::printf("listening on port %d\n", acceptor.local_endpoint().port());
    std::fflush(stdout);
    beck::co_spawn(context, serve(context, std::move(acceptor)), beck::detached);
    context.run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "coroutine_http_server: %s\n", e.what());
    return 1;
  }
}
