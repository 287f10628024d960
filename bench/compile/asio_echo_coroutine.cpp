// SPDX-License-Identifier: BSL-1.0
//
// An echo server with Asio and coroutines, as a user would write it: for the compiler's time.
#include <asio.hpp>
#include <exception>

using asio::ip::tcp;

namespace {

asio::awaitable<void> session(tcp::socket socket) {
  char data[16384];
  try {
    for (;;) {
      const std::size_t n =
          co_await socket.async_read_some(asio::buffer(data), asio::use_awaitable);
      co_await asio::async_write(socket, asio::buffer(data, n), asio::use_awaitable);
    }
  } catch (const std::exception&) {
    // The client has gone.
  }
}

asio::awaitable<void> serve(asio::io_context& context) {
  tcp::acceptor acceptor(context, tcp::endpoint(tcp::v4(), 55555));
  for (;;) {
    tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(context, session(std::move(socket)), asio::detached);
  }
}

}  // namespace

int main() {
  asio::io_context context;
  asio::co_spawn(context, serve(context), asio::detached);
  context.run();
}
