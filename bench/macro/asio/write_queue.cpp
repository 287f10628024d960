// SPDX-License-Identifier: BSL-1.0
//
// Small messages to one reader with Asio, written one after the other: Asio has no write queue.
#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include "../common/bursts.hpp"

namespace {

using socket_type = asio::local::stream_protocol::socket;

asio::awaitable<void> write_each(bench::bursts& b, socket_type& socket) {
  while (!b.over()) {
    for (int i = 0; i < bench::bursts::messages; ++i) {
      co_await asio::async_write(socket, asio::buffer(b.next(), bench::bursts::size),
                                 asio::use_awaitable);
    }
    b.read();
  }
}

void run(bench::meter& m) {
  bench::bursts bursts(m);
  asio::io_context context(1);
  socket_type socket(context, asio::local::stream_protocol(), bursts.writer());
  asio::co_spawn(context, write_each(bursts, socket), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  m.start();
  context.run();
  m.finish(bursts.sent());
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "write_queue", {{"each", run}});
}
