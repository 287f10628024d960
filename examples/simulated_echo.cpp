// SPDX-License-Identifier: BSL-1.0
//
// A client and a server with a bug on two simulated hosts. The README shows this program and its
// output.
//   simulated_echo --seeds 1000 --shrink
#include <beck/beck.hpp>
#include <beck/testing/check.hpp>

using beck::ip::tcp;
namespace sim = beck::testing::sim;

beck::awaitable<> serve(tcp::acceptor acceptor) {
  tcp::socket socket = co_await acceptor.async_accept();
  char data[64];
  const std::size_t n = co_await socket.async_read_some(beck::buffer(data));  // may be a part
  co_await beck::async_write(socket, beck::buffer(data, n));
}

beck::awaitable<> ask(tcp::socket socket) {
  co_await socket.async_connect(tcp::endpoint(beck::ip::make_address("10.0.0.1"), 80));
  co_await beck::async_write(socket, beck::buffer("hello", 5));
  char answer[5];
  co_await beck::async_read(socket, beck::buffer(answer));  // throws eof if the answer is short
}

void echo(sim::world& world) {
  beck::io_context server(world.host("server"));
  beck::io_context client(world.host("client"));
  tcp::acceptor acceptor(server, tcp::endpoint(tcp::v4(), 80));
  beck::co_spawn(server, serve(std::move(acceptor)), beck::detached);
  bool answered = false;
  beck::co_spawn(client, ask(tcp::socket(client)),
                 [&](std::exception_ptr error) { answered = !error; });
  world.run();
  sim::require(answered, "the client did not get its five bytes back");
}

int main(int argc, char** argv) { return sim::check(argc, argv, echo); }
