// SPDX-License-Identifier: BSL-1.0
//
// Idle connections with Asio: one coroutine per connection, with a buffer of its own. In the case
// `lease` it has no buffer: it waits until the socket is readable, and reads into a buffer that all
// connections share.
#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/use_awaitable.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "../common/idle.hpp"
namespace {

using socket_type = asio::ip::tcp::socket;

struct callback_session;

struct server {
  explicit server(bench::idle_crowd& c);
  ~server();

  void took(std::size_t bytes) {
    if (!crowd.take(bytes)) return;
    if (crowd.over()) return context.stop();
    crowd.speak();
  }

  bench::idle_crowd& crowd;
  asio::io_context context;
  char shared[bench::idle_crowd::buffer_size];
  std::vector<std::unique_ptr<callback_session>> sessions;
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

struct callback_session {
  callback_session(server& s, socket_type connected) : all(s), socket(std::move(connected)) {}
  void receive() {
    socket.async_wait(socket_type::wait_read, [this](asio::error_code error) {
      if (error) return;  // the end
      all.took(socket.read_some(asio::buffer(all.shared)));
      receive();
    });
  }

  server& all;
  socket_type socket;
};

server::server(bench::idle_crowd& c) : crowd(c), context(1) {}
server::~server() = default;

template <asio::awaitable<void> (*Session)(server&, socket_type)>
void add_coroutine(server& s, socket_type socket) {
  asio::co_spawn(s.context, Session(s, std::move(socket)), ended);
}

void add_callback(server& s, socket_type socket) {
  socket.non_blocking(true);
  s.sessions.push_back(std::make_unique<callback_session>(s, std::move(socket)));
  s.sessions.back()->receive();
}

template <void (*Add)(server&, socket_type), std::size_t Connections>
void run(bench::meter& m) {
  bench::idle_crowd crowd(m, Connections);
  server s(crowd);
  s.context.poll();
  s.context.restart();
  crowd.sessions_begin();
  for (std::size_t i = 0; i < crowd.size(); ++i) {
    socket_type socket(s.context, asio::ip::tcp::v4(), crowd.connection(i));
    Add(s, std::move(socket));
  }
  s.context.poll();
  crowd.sessions_wait();
  crowd.speak();
  m.start();
  s.context.run();
  m.finish(crowd.received());
}

template <asio::awaitable<void> (*Session)(server&, socket_type), std::size_t Connections>
void coroutines(bench::meter& m) {
  run<add_coroutine<Session>, Connections>(m);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "idle",
                          {{"lease", coroutines<lease_session, 1000>},
                           {"buffer", coroutines<buffer_session, 1000>},
                           {"lease_9900", coroutines<lease_session, 9900>},
                           {"callback_9900", run<add_callback, 9900>}});
}
