// SPDX-License-Identifier: BSL-1.0
//
// Echo with Asio: one coroutine and one buffer per connection.
#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <memory>

#include "../common/echo.hpp"

namespace {

using asio::ip::tcp;

asio::awaitable<void> session(tcp::socket socket, std::size_t buffer_size) {
  const auto buffer = std::make_unique_for_overwrite<char[]>(buffer_size);
  try {
    for (;;) {
      const std::size_t n = co_await socket.async_read_some(asio::buffer(buffer.get(), buffer_size),
                                                            asio::use_awaitable);
      co_await asio::async_write(socket, asio::buffer(buffer.get(), n), asio::use_awaitable);
    }
  } catch (const asio::system_error&) {
    // The client has closed the connection.
  }
}

asio::awaitable<void> listen(asio::io_context& context, const bench::echo_job& job) {
  tcp::acceptor acceptor(context, tcp::v4(), job.listener);
  for (;;) {
    tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    socket.set_option(tcp::no_delay(true));
    asio::co_spawn(context, session(std::move(socket), job.buffer_size), asio::detached);
  }
}

void serve(const bench::settings&, const bench::echo_job& job) {
  asio::io_context context(1);
  asio::co_spawn(context, listen(context, job), asio::detached);
  context.run();
}

}  // namespace

int main(int argc, char** argv) { return bench::run_echo(argc, argv, serve); }
