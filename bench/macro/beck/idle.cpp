// SPDX-License-Identifier: BSL-1.0
//
// Idle connections with beck: one coroutine per connection, which waits for a lease, or reads into
// a buffer of its own.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/buffer_lease.hpp>
#include <beck/net/tcp.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "../common/idle.hpp"
#include "counters.hpp"

namespace {

using socket_type = beck::ip::tcp::socket;

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
  beck::io_context context;
  std::vector<std::unique_ptr<callback_session>> sessions;
};

beck::task<> lease_session(server& s, socket_type socket) {
  for (;;) {
    auto r = co_await beck::async_receive(socket);
    if (!r) bench::fail("receive");
    s.took(r->size());
  }
}

beck::task<> buffer_session(server& s, socket_type socket) {
  char buffer[bench::idle_crowd::buffer_size];
  for (;;) {
    const auto [error, n] = co_await socket.async_read_some(beck::buffer(buffer));
    if (error) bench::fail("read");
    s.took(n);
  }
}

struct callback_session {
  callback_session(server& s, socket_type connected) : all(s), socket(std::move(connected)) {}
  void receive() {
    beck::async_receive(socket, [this](beck::error_code error, beck::buffer_lease lease) {
      if (error) return;  // the end
      all.took(lease.size());
      receive();
    });
  }

  server& all;
  socket_type socket;
};

server::server(bench::idle_crowd& c) : crowd(c), context(beck_peer::context_options(c.options())) {}
server::~server() = default;

template <beck::task<> (*Session)(server&, socket_type)>
void add_coroutine(server& s, socket_type socket) {
  co_spawn(s.context, Session(s, std::move(socket)), beck::detached);
}

void add_callback(server& s, socket_type socket) {
  s.sessions.push_back(std::make_unique<callback_session>(s, std::move(socket)));
  s.sessions.back()->receive();
}

template <void (*Add)(server&, socket_type), std::size_t Connections>
void run(bench::meter& m) {
  bench::idle_crowd crowd(m, Connections);
  server s(crowd);
  s.context.poll();  // memory that a context needs once must not count for the connections
  s.context.restart();
  crowd.sessions_begin();
  for (std::size_t i = 0; i < crowd.size(); ++i) {
    socket_type socket(s.context);
    socket.assign(beck::ip::tcp::v4(), crowd.connection(i));
    Add(s, std::move(socket));
  }
  s.context.poll();
  crowd.sessions_wait();
  beck_peer::counters counters(s.context);
  crowd.speak();
  m.start();
  s.context.run();
  m.finish(crowd.received());
  counters.report(crowd.received(), [&](const char* name, double value) { m.note(name, value); });
}

template <beck::task<> (*Session)(server&, socket_type), std::size_t Connections>
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
