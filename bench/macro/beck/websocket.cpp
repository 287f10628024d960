// SPDX-License-Identifier: BSL-1.0
//
// Echo and broadcast of messages with beck::websocket: one coroutine per connection, the default
// limits.
#include <beck/coro/co_spawn.hpp>
#include <beck/http/server.hpp>
#include <beck/websocket/accept.hpp>
#include <beck/websocket/codec.hpp>

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../common/echo.hpp"
#include "../common/unmask.hpp"
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
  void connected(websocket::stream& member) {
    members.push_back(&member);
    if (++accepted != job.connections) return;
    counters.restart();
    messages = 0;
  }
  void closed(websocket::stream& member) {
    std::erase(members, &member);
    if (std::exchange(reported, true)) return;
    counters.report(messages, [&](const char* name, double v) { job.notes->add(name, v); });
    job.notes->publish();
  }

  void broadcast(const websocket::message& news) {
    for (websocket::stream* each : members)
      if (each->send(news)) bench::fail("send");
    messages += members.size();
  }

  beck::io_context context;
  const bench::echo_job& job;
  std::vector<websocket::stream*> members;
  std::uint64_t accepted = 0;
  std::uint64_t messages = 0;
  bool reported = false;
  beck_peer::counters counters{context};
};

beck::task<> session(server& s, http::request& request, http::response& response) {
  auto accepted = co_await websocket::accept(request, response);
  if (!accepted) bench::fail("accept");
  websocket::stream ws = std::move(accepted).value();
  s.connected(ws);
  beck::flat_buffer message;
  for (;;) {
    const auto [error, kind] = co_await ws.read(message);
    if (error) break;
    if (s.job.is_broadcast) {
      s.broadcast(websocket::message(kind, message.data()));
      continue;
    }
    const auto sent = co_await ws.write(kind, message.data());
    if (!sent) break;
    ++s.messages;
  }
  s.closed(ws);
}

// The server takes the listener as systemd would pass it: as descriptor 3.
void serve(const bench::settings& options, const bench::echo_job& job) {
  if (job.listener != 3 && dup2(job.listener, 3) != 3) bench::fail_errno("dup2");
  setenv("LISTEN_FDS", "1", 1);
  setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
  server s(options, job);
  http::server web([&s](http::request& q, http::response& r) { return session(s, q, r); },
                   {.connections = 100'000});
  if (web.listen_inherited() != 1) bench::fail("the listener was not passed");
  web.serve().start(s.context, [] {});
  s.context.run();
}

void unmask(char* data, std::size_t bytes, std::uint32_t key) {
  websocket::mask_key as_bytes;
  std::memcpy(as_bytes.bytes, &key, sizeof key);
  websocket::apply_mask(data, bytes, as_bytes);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_websocket(argc, argv, serve,
                              [](bench::meter& m) { bench::unmask_messages(m, unmask); });
}
