// SPDX-License-Identifier: BSL-1.0
// A memory_server and its clients on two hosts of a simulated world, for schedules with faults.
#pragma once

#include <beck/redis/client.hpp>
#include <beck/redis/memory_server.hpp>

#include <beck/io/io_context.hpp>
#include <beck/testing/check.hpp>

#include <algorithm>
#include <chrono>
#include <string>

#include "redis/names.hpp"

namespace beck::redis::test {

/// A server on the host "redis", and the context of clients on the host "app".
struct world_site {
  explicit world_site(testing::sim::world& in) : world(in) {
    back.on_log([](const char*, void*) {});  // of acceptors that find no descriptor
  }

  /// Returns a random time below `ns` nanoseconds.
  duration below(std::uint64_t ns) {
    return duration(static_cast<long long>(world.random().below(ns)));
  }
  /// Lets time pass and disturbs the server or the network, `times` times.
  void disturb(int times, std::uint64_t pause_ns_max, std::uint64_t bytes_max) {
    for (int i = 0; i < times; ++i) {
      world.run_for(below(pause_ns_max));
      disturb(bytes_max);
    }
  }
  /// Ends all disturbances.
  void calm() {
    world.configure(testing::sim::settings().calm());
    world.heal();
    server.resume();
    server.cut_after(0, 0);
  }
  /// Lets time pass until `done()` returns true, in steps that grow. Returns false if it does not
  /// within `limit`.
  template <class Done>
  bool run_until(Done done, std::chrono::milliseconds limit = std::chrono::minutes(10)) {
    std::chrono::milliseconds step(1);
    for (auto left = limit; left.count() > 0 && !done(); left -= step, step *= 2) {
      step = std::min(step, left);
      world.run_for(step);
    }
    return done();
  }
  /// Ends the server. Returns false if operations of the clients, which are gone, are left.
  bool end() {
    server.close();
    world.run_for(std::chrono::minutes(1));
    return front.stats().outstanding == 0;
  }

  testing::sim::world& world;
  io_context back{world.host("redis")};
  io_context front{world.host("app")};
  memory_server server{back, 6379};

 private:
  void disturb(std::uint64_t bytes_max) {
    switch (world.random().below(6)) {
      case 0:
        return server.cut();
      case 1:
        return server.pause();
      case 2:
        return server.resume();
      case 3:
        return server.cut_after(static_cast<std::size_t>(world.random().below(bytes_max)), 1);
      case 4:
        world.link(world.host("redis"), world.host("app")).cut();
        return;
      default:
        return world.heal();
    }
  }
};

}  // namespace beck::redis::test
