// SPDX-License-Identifier: BSL-1.0
//
// Idle connections with beck: a coroutine each, which waits for a lease, or reads into a buffer of
// its own.
#include "../common/idle.hpp"

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/buffer_lease.hpp>
#include <beck/net/tcp.hpp>

#include "counters.hpp"

namespace {

using socket_type = beck::ip::tcp::socket;

struct server {
  explicit server(bench::idle_crowd& c)
      : crowd(c), context(beck_peer::context_options(c.options())) {}

  void took(std::size_t bytes) {
    if (!crowd.take(bytes)) return;
    if (crowd.over()) return context.stop();
    crowd.speak();
  }

  bench::idle_crowd& crowd;
  beck::io_context context;
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

template <beck::task<> (*Session)(server&, socket_type), std::size_t Connections>
void run(bench::meter& m) {
  bench::idle_crowd crowd(m, Connections);
  server s(crowd);
  s.context.poll();  // what a context needs once is not a connection's
  s.context.restart();
  crowd.sessions_begin();
  for (std::size_t i = 0; i < crowd.size(); ++i) {
    socket_type socket(s.context);
    socket.assign(beck::ip::tcp::v4(), crowd.connection(i));
    co_spawn(s.context, Session(s, std::move(socket)), beck::detached);
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

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "idle",
                          {{"lease", run<lease_session, 1000>},
                           {"buffer", run<buffer_session, 1000>},
                           {"lease_9900", run<lease_session, 9900>},
                           {"buffer_9900", run<buffer_session, 9900>}});
}
