// SPDX-License-Identifier: BSL-1.0
//
// Idle connections with Asio: a coroutine each, with a buffer of its own, or (lease) without: it
// waits until the socket is readable and reads into one buffer of all.
#include "../common/idle.hpp"

#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/use_awaitable.hpp>

namespace {

using socket_type = asio::ip::tcp::socket;

struct server {
  explicit server(bench::idle_crowd& c) : crowd(c), context(1) {}

  void took(std::size_t bytes) {
    if (!crowd.take(bytes)) return;
    if (crowd.over()) return context.stop();
    crowd.speak();
  }

  bench::idle_crowd& crowd;
  asio::io_context context;
  char shared[bench::idle_crowd::buffer_size];
};

asio::awaitable<void> lease_session(server& s, socket_type socket) {
  socket.non_blocking(true);
  for (;;) {
    co_await socket.async_wait(socket_type::wait_read, asio::use_awaitable);
    s.took(socket.read_some(asio::buffer(s.shared)));
  }
}

asio::awaitable<void> buffer_session(server& s, socket_type socket) {
  char buffer[bench::idle_crowd::buffer_size];
  for (;;) {
    s.took(co_await socket.async_read_some(asio::buffer(buffer), asio::use_awaitable));
  }
}

void ended(std::exception_ptr error) {
  if (error) std::rethrow_exception(error);
}

template <asio::awaitable<void> (*Session)(server&, socket_type), std::size_t Connections>
void run(bench::meter& m) {
  bench::idle_crowd crowd(m, Connections);
  server s(crowd);
  s.context.poll();
  s.context.restart();
  crowd.sessions_begin();
  for (std::size_t i = 0; i < crowd.size(); ++i) {
    socket_type socket(s.context, asio::ip::tcp::v4(), crowd.connection(i));
    asio::co_spawn(s.context, Session(s, std::move(socket)), ended);
  }
  s.context.poll();
  crowd.sessions_wait();
  crowd.speak();
  m.start();
  s.context.run();
  m.finish(crowd.received());
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "idle",
                          {{"lease", run<lease_session, 1000>},
                           {"buffer", run<buffer_session, 1000>},
                           {"lease_9900", run<lease_session, 9900>},
                           {"buffer_9900", run<buffer_session, 9900>}});
}
