// SPDX-License-Identifier: BSL-1.0
// A server and its peers in a simulated world, for cases about its time limits.
#pragma once

#include <beck/io/generic_stream.hpp>
#include <beck/testing/sim.hpp>

#include <chrono>
#include <deque>
#include <exception>
#include <string>
#include <utility>

#include "http/served.hpp"

namespace beck::http::test {

namespace sim = beck::testing::sim;
using namespace std::chrono_literals;

/// A server on one machine of a world and peers on another.
struct site {
  template <class Handler>
  explicit site(Handler handler, const limits& bounds = limits(), std::uint64_t seed = 1)
      : world(seed, sim::settings().calm()),
        web(world.host("web")),
        far(world.host("far")),
        server(std::move(handler), bounds) {
    server.listen(80);
    co_spawn(web, server.serve(), detached);
    world.run_until_idle();
  }

  /// Connects, then sends each text and waits after it.
  template <class... Steps>
  peer& start(Steps... steps) {
    peer& made = peers.emplace_back(far);
    made.socket.async_connect(server_at(), [](error_code) {});
    world.run_for(1ms);
    (step(made, steps), ...);
    return made;
  }
  static ip::tcp::endpoint server_at() { return {ip::make_address("10.0.0.1"), 80}; }
  void step(peer& to, const std::string& text) {
    async_write(to.socket, buffer(text), [](error_code, std::size_t) {});
    world.run_for(1ms);
  }
  void step(peer&, std::chrono::nanoseconds time) { world.run_for(time); }
  void both(peer& to, const std::string& text, std::chrono::nanoseconds time) {
    step(to, text);
    step(to, time);
  }
  /// Receives until the end of the connection or of `time`.
  void listen_to(peer& to, std::chrono::nanoseconds time) {
    bool over = false;
    co_spawn(far, receive(to), [&](std::exception_ptr) { over = true; });
    world.run_for(time);
    if (!over) to.socket.cancel();
    world.run_for(1ms);
  }
  static task<> receive(peer& to) {
    char part[4096];
    for (;;) {
      const mutable_buffer room(part, sizeof part);
      auto got = co_await to.socket.async_read_some(room);
      to.received.append(part, got.value_);
      to.end = got.error();
      if (to.end) break;
    }
    to.done = to.end != error::operation_aborted;
  }

  sim::world world;
  io_context web, far;
  http::server server;
  std::deque<peer> peers;
};

}  // namespace beck::http::test
