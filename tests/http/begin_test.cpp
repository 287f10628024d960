// SPDX-License-Identifier: BSL-1.0
// Connections that end before their coroutine has started.
#include <beck/http/server.hpp>

#include "http/both_streams.hpp"
#include "http/server_site.hpp"

using namespace beck::http::test;
namespace http = beck::http;

CONFORMANCE_OVER_BOTH(
    "http limits: a connection makes room although its coroutine has not started") {
  served s(say_path, {.connections = 1});
  std::deque<peer*> all;
  for (int i = 0; i < 6; ++i) all.push_back(&s.start(last_get("/burst")));
  s.run_until([&] {
    for (const peer* one : all)
      if (!one->done) return false;
    return true;
  });
  CHECK(s.server.stats().accepted == 6);
  CHECK(s.server.stats().connections == 0);
}

CONFORMANCE("http limits: 0 connections and 0 handshakes count as 1") {
  served s(say_path, {.connections = 0, .handshakes = 0});
  CHECK(s.ask(last_get("/a")).at(0).body == "/a");
}

TEST_CASE("http limits: a burst at the limit of connections, in a simulated world") {
  site s(say_path, {.connections = 1});
  for (int i = 0; i < 3; ++i)
    s.peers.emplace_back(s.far).socket.async_connect(site::server_at(), [](beck::error_code) {});
  s.world.run_for(1ms);
  CHECK(s.server.stats().accepted == 3);
  CHECK(s.server.stats().evicted == 2);
  CHECK(s.server.stats().connections == 1);
}
