// SPDX-License-Identifier: BSL-1.0
//
// Echo of messages with beck::websocket: one coroutine per connection, the default limits.
#include <beck/coro/co_spawn.hpp>
#include <beck/http/server.hpp>
#include <beck/websocket/accept.hpp>

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "../common/echo.hpp"
#include "counters.hpp"

namespace {

namespace http = beck::http;
namespace websocket = beck::websocket;

struct server {
  server(const bench::settings& s, const bench::echo_job& j)
      : context(beck_peer::context_options(s)), job(j) {
    job.notes->promise();
  }

  // As in echo.cpp: the measured part begins when all clients have connected.
  void connected() {
    if (++accepted != job.connections) return;
    counters.restart();
    messages = 0;
  }
  void closed() {
    if (std::exchange(reported, true)) return;
    counters.report(messages, [&](const char* name, double v) { job.notes->add(name, v); });
    job.notes->publish();
  }

  beck::io_context context;
  const bench::echo_job& job;
  std::uint64_t accepted = 0;
  std::uint64_t messages = 0;
  bool reported = false;
  beck_peer::counters counters{context};
};

beck::task<> session(server& s, http::request& request, http::response& reply) {
  auto accepted = co_await websocket::accept(request, reply);
  if (!accepted) bench::fail("accept");
  websocket::stream ws = std::move(accepted).value();
  s.connected();
  beck::flat_buffer message;
  for (;;) {
    const auto [error, kind] = co_await ws.read(message);
    if (error) break;
    const auto sent = co_await ws.write(kind, message.data());
    if (!sent) break;
    ++s.messages;
  }
  s.closed();
}

// The server takes the listener as systemd would pass it: as descriptor 3.
void serve(const bench::settings& options, const bench::echo_job& job) {
  if (job.listener != 3 && dup2(job.listener, 3) != 3) bench::fail_errno("dup2");
  setenv("LISTEN_FDS", "1", 1);
  setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
  server s(options, job);
  http::server web([&s](http::request& q, http::response& r) { return session(s, q, r); },
                   http::limits().connections(100'000));
  if (web.listen_inherited() != 1) bench::fail("the listener was not passed");
  web.serve().start(s.context, [] {});
  s.context.run();
}

}  // namespace

int main(int argc, char** argv) { return bench::run_websocket(argc, argv, serve); }
