// SPDX-License-Identifier: BSL-1.0
//
// The end of lookups that are under way. Nothing can interrupt getaddrinfo(3); whoever waits for it
// is told to wait no longer, and the call ends for itself.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/net/resolver.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/strand.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "support/name_server.hpp"
#include "support/outcome.hpp"

using namespace std::chrono_literals;
using beck::error_code;
using beck::ip::tcp;
using beck::test::named_machine;
namespace error = beck::error;
using results = tcp::resolver::results_type;

namespace {

/// A handler that notes its error.
auto into(std::vector<error_code>& seen) {
  return [&seen](error_code ec, const results&) { seen.push_back(ec); };
}
const error_code aborted = error::make_error_code(error::operation_aborted);

}  // namespace

CONFORMANCE("cancel() ends lookups at once, and run() returns while their calls go on") {
  named_machine m;
  m.be_silent();
  tcp::resolver resolver(m.ctx());
  std::vector<error_code> seen;
  for (int i = 0; i < 6; ++i) resolver.async_resolve("there", "80", into(seen));
  m.ctx().poll();
  m.expect_asked(4);
  resolver.cancel();
  CHECK(seen.empty());
  CHECK(m.ctx().run() == 6);
  CHECK(seen == std::vector<error_code>(6, aborted));
  m.speak();
}

CONFORMANCE("a time limit ends a lookup when it has passed, not when the server answers") {
  named_machine m;
  m.be_silent();
  bool done = false;
  const auto body = [](named_machine& on, bool& over) -> beck::task<> {
    tcp::resolver resolver(on.ctx());
    const auto found = co_await beck::timeout(resolver.async_resolve("there", "80"), 10ms);
    CHECK(found.error() == error::timeout);
    CHECK(found->empty());
    over = true;
  };
  beck::co_spawn(m.ctx(), body(m, done), beck::detached);
  m.ctx().run();
  CHECK(done);
  m.speak();
}

CONFORMANCE("a lookup that answers in time is not touched by its limit") {
  named_machine m;
  const auto body = [](named_machine& on) -> beck::task<> {
    tcp::resolver resolver(on.ctx());
    const auto found = co_await beck::timeout(resolver.async_resolve("there", "80"), 1h);
    CHECK(!found.error());
    CHECK(found->size() == 2);
  };
  beck::co_spawn(m.ctx(), body(m), beck::detached);
  m.ctx().run();
}

CONFORMANCE("a cancelled lookup that waited for its turn never asks") {
  named_machine m;
  m.be_silent();
  tcp::resolver busy(m.ctx());
  tcp::resolver late(m.ctx());
  std::vector<error_code> seen;
  for (int i = 0; i < 4; ++i) busy.async_resolve("there", "80", into(seen));
  m.ctx().poll();
  m.expect_asked(4);
  std::vector<error_code> later;
  for (int i = 0; i < 3; ++i) late.async_resolve("there", "80", into(later));
  m.ctx().poll();
  late.cancel();
  m.ctx().poll();
  CHECK(later == std::vector<error_code>(3, aborted));
  CHECK(seen.empty());
  m.speak();
  beck::test::run_all(m.ctx());
  CHECK(seen == std::vector<error_code>(4));
  if (!m.is_virtual()) CHECK(m.asked() == 4);
}

CONFORMANCE("the resolver's destructor cancels, and so does a move onto it") {
  named_machine m;
  m.be_silent();
  std::vector<error_code> first, second, third;
  {
    tcp::resolver a(m.ctx());
    tcp::resolver b(m.ctx());
    a.async_resolve("there", "80", into(first));
    b.async_resolve("there", "80", into(second));
    m.ctx().poll();
    m.expect_asked(2);
    a = std::move(b);
    m.ctx().poll();
    CHECK(first == std::vector{aborted});
    CHECK(second.empty());
    tcp::resolver c(std::move(a));
    CHECK(a.get_executor() == m.ctx().get_executor());  // as new
    a.async_resolve("there", "80", into(third));
    CHECK(second.empty());
  }
  m.ctx().run();
  CHECK(second == std::vector{aborted});
  CHECK(third == std::vector{aborted});
  m.speak();
}

CONFORMANCE("a handler's cancellation slot ends its lookup only") {
  named_machine m;
  m.be_silent();
  tcp::resolver resolver(m.ctx());
  beck::cancellation_signal stop;
  std::vector<error_code> ended, other;
  resolver.async_resolve("there", "80", beck::bind_cancellation_slot(stop.slot(), into(ended)));
  resolver.async_resolve("there", "80", into(other));
  m.ctx().poll();
  m.expect_asked(2);
  beck::post(m.ctx(), [&] { stop.emit(beck::cancellation_type::total); });
  m.ctx().poll();
  CHECK(ended == std::vector{aborted});
  CHECK(other.empty());
  m.speak();
  beck::test::run_all(m.ctx());
  CHECK(other == std::vector{error_code()});
}

CONFORMANCE("a cancel after the answer changes nothing") {
  named_machine m;
  tcp::resolver resolver(m.ctx());
  std::vector<error_code> seen;
  resolver.async_resolve("there", "80", into(seen));
  beck::test::run_all(m.ctx());
  resolver.cancel();
  beck::test::run_all(m.ctx());
  CHECK(seen == std::vector{error_code()});
}

CONFORMANCE("more lookups than threads: everybody gets an answer") {
  named_machine m;
  tcp::resolver resolver(m.ctx());
  std::vector<error_code> seen;
  for (int i = 0; i < 50; ++i) {
    resolver.async_resolve(i % 2 == 0 ? "there" : "nowhere", "80", into(seen));
  }
  m.ctx().run();
  REQUIRE(seen.size() == 50);
  CHECK(std::count(seen.begin(), seen.end(), error_code()) == 25);
}

CONFORMANCE("a context is destroyed while lookups are under way, answered and cancelled") {
  named_machine m;
  m.be_silent();
  const auto token = std::make_shared<int>(0);
  auto resolver = std::make_unique<tcp::resolver>(m.ctx());
  std::vector<error_code> seen;
  {
    tcp::resolver gone(m.ctx());
    for (int i = 0; i < 2; ++i) gone.async_resolve("there", "80", into(seen));
    m.ctx().poll();
    m.expect_asked(2);
  }
  m.ctx().poll();
  CHECK(seen == std::vector<error_code>(2, aborted));
  for (int i = 0; i < 8; ++i) {
    resolver->async_resolve("there", "80", [held = token](error_code, const results&) {
      FAIL("a handler ran although its context was destroyed");
    });
  }
  m.ctx().restart();
  m.ctx().poll();
  m.expect_asked(4);
  m.destroy_context();
  CHECK(token.use_count() == 1);
}

CONFORMANCE("a coroutine that waits for a lookup is destroyed with its context") {
  named_machine m;
  m.be_silent();
  const auto token = std::make_shared<int>(0);
  const auto body = [](named_machine& on, std::shared_ptr<int>) -> beck::task<> {
    tcp::resolver resolver(on.ctx());
    beck::ignore(co_await resolver.async_resolve("there", "80"));
    FAIL("a coroutine went on although its context was destroyed");
  };
  for (int i = 0; i < 6; ++i) beck::co_spawn(m.ctx(), body(m, token), beck::detached);
  m.ctx().poll();
  m.expect_asked(4);
  m.destroy_context();
  CHECK(token.use_count() == 1);
}

CONFORMANCE("stop() leaves a lookup under way, restart() goes on with it") {
  named_machine m;
  tcp::resolver resolver(m.ctx());
  std::vector<error_code> seen;
  resolver.async_resolve("there", "80", into(seen));
  m.ctx().stop();
  CHECK(m.ctx().run() == 0);
  beck::test::run_all(m.ctx());
  CHECK(seen == std::vector{error_code()});
}

CONFORMANCE("a lookup with a handler that runs elsewhere completes there") {
  named_machine m;
  tcp::resolver resolver(m.ctx());
  beck::io_context other(m.here().options());
  std::vector<error_code> seen;
  resolver.async_resolve("there", "80", beck::bind_executor(other.get_executor(), into(seen)));
  if (m.is_virtual()) {
    m.here().world().run();
  } else {
    m.ctx().run();
    CHECK(seen.empty());
    other.run();
  }
  CHECK(seen == std::vector{error_code()});
}

CONFORMANCE_ON(beck::test::kernel, "lookups are started, cancelled and dropped by other threads") {
  named_machine m;
  auto guard = std::make_optional(beck::make_work_guard(m.ctx()));
  std::thread running([&m] { m.ctx().run(); });
  std::atomic<int> ended{0};
  constexpr int threads_count = 3, rounds = 40;
  std::vector<std::thread> threads;
  for (int t = 0; t < threads_count; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) {
        tcp::resolver resolver(m.ctx());
        resolver.async_resolve("there", "80", [&](error_code, const results&) { ++ended; });
        resolver.async_resolve("nowhere", "80", [&](error_code, const results&) { ++ended; });
        if (i % 2 == 0) resolver.cancel();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  guard.reset();
  running.join();
  CHECK(ended == threads_count * rounds * 2);
}

CONFORMANCE_ON(beck::test::epoll | beck::test::sim,
               "threads of a shared context look up, with time limits that strike or not") {
  named_machine m(3);
  std::atomic<int> ended{0};
  const auto body = [](named_machine& on, std::atomic<int>& n, int which) -> beck::task<> {
    tcp::resolver resolver(on.ctx());
    for (int i = 0; i < 10; ++i) {
      const auto limit = (i + which) % 2 == 0 ? 0ms : 10'000ms;
      const auto found = co_await beck::timeout(resolver.async_resolve("there", "80"), limit);
      CHECK((!found.error() || found.error() == error::timeout));
      ++n;
    }
  };
  for (int i = 0; i < 8; ++i) {
    beck::co_spawn(beck::make_strand(m.ctx()), body(m, ended, i), beck::detached);
  }
  std::vector<std::thread> threads;
  if (!m.is_virtual()) {
    for (int i = 0; i < 2; ++i) threads.emplace_back([&m] { m.ctx().run(); });
  }
  m.ctx().run();
  for (std::thread& t : threads) t.join();
  CHECK(ended == 80);
}

CONFORMANCE_ON(
    beck::test::epoll,
    "coroutines of another, shared context look up, with time limits that strike or not") {
  named_machine m;
  auto guard = std::make_optional(beck::make_work_guard(m.ctx()));
  std::thread running([&m] { m.ctx().run(); });
  std::atomic<int> ended{0};
  constexpr int coroutines = 6, rounds = 30;
  const auto body = [](named_machine& on, std::atomic<int>& n, int which) -> beck::task<> {
    tcp::resolver resolver(on.ctx());
    for (int i = 0; i < rounds; ++i) {
      const auto limit = (i + which) % 3 == 0 ? 0us : (i + which) % 3 == 1 ? 50us : 10'000'000us;
      const auto found = co_await beck::timeout(resolver.async_resolve("there", "80"), limit);
      CHECK((!found.error() || found.error() == error::timeout));
      ++n;
    }
  };
  beck::io_context pool(context_options({.threads = 2}));
  for (int i = 0; i < coroutines; ++i) beck::co_spawn(pool, body(m, ended, i), beck::detached);
  std::thread helper([&pool] { pool.run(); });
  pool.run();
  helper.join();
  guard.reset();
  running.join();
  CHECK(ended == coroutines * rounds);
}

CONFORMANCE_ON(beck::test::sim, "in a world a lookup takes virtual time, of the seed's choosing") {
  const auto run = [](std::uint64_t seed) {
    beck::testing::sim::world world(seed);
    beck::io_context ctx(world.host("a"));
    world.host("b");
    tcp::resolver resolver(ctx);
    const auto start = world.now();
    resolver.async_resolve("B", "80", [](error_code ec, const results& found) {
      CHECK(!ec);
      CHECK(found.size() == 2);
    });
    world.run_until_idle();
    CHECK(world.now() > start);
    return world.hash();
  };
  CHECK(run(1) == run(1));
  CHECK(run(1) != run(2));
}
