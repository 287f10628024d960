// SPDX-License-Identifier: BSL-1.0
//
// Running a context on one thread: what run, poll and their like count and when they return, the
// order of posts, exceptions, work guards, nesting.
#include <beck/io/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <vector>

#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;

namespace {

constexpr auto an_hour = 1h;  // a wait that no case lasts long enough to see

}  // namespace

CONFORMANCE("run returns the number of user handlers that ran") {
  beck::io_context ctx(context_options());
  int ran = 0;
  beck::post(ctx, [&] { ++ran; });
  beck::post(ctx, [&] {
    ++ran;
    beck::post(ctx, [&] { ++ran; });
  });
  CHECK(ctx.run() == 3);
  CHECK(ran == 3);
}

CONFORMANCE("run returns when work has run out, and does nothing more until restart") {
  beck::io_context ctx(context_options());
  CHECK_FALSE(ctx.stopped());
  CHECK(ctx.run() == 0);
  CHECK(ctx.stopped());
  bool ran = false;
  beck::post(ctx, [&] { ran = true; });
  CHECK(ctx.run() == 0);
  CHECK_FALSE(ran);
  ctx.restart();
  CHECK_FALSE(ctx.stopped());
  CHECK(ctx.run() == 1);
  CHECK(ran);
}

CONFORMANCE("a stop before run makes run return at once") {
  beck::io_context ctx(context_options());
  bool ran = false;
  beck::post(ctx, [&] { ran = true; });
  ctx.stop();
  ctx.stop();  // twice is the same as once
  CHECK(ctx.stopped());
  CHECK(ctx.run() == 0);
  CHECK(ctx.run_one() == 0);
  CHECK(ctx.poll() == 0);
  CHECK(ctx.poll_one() == 0);
  CHECK_FALSE(ran);
}

CONFORMANCE("stop in a handler leaves later handlers queued, and restart goes on with them") {
  beck::io_context ctx(context_options());
  std::vector<int> order;
  beck::post(ctx, [&] { order.push_back(1); });
  beck::post(ctx, [&] {
    order.push_back(2);
    ctx.stop();
  });
  beck::post(ctx, [&] { order.push_back(3); });
  CHECK(ctx.run() == 2);
  CHECK(order == std::vector{1, 2});
  ctx.restart();
  CHECK(ctx.run() == 1);
  CHECK(order == std::vector{1, 2, 3});
}

CONFORMANCE("stop in a handler does not wait for a timer that is far away") {
  beck::io_context ctx(context_options());
  beck::steady_timer far_away(ctx, an_hour);
  far_away.async_wait([](beck::error_code) { FAIL("expired"); });
  beck::post(ctx, [&] { ctx.stop(); });
  CHECK(ctx.run() == 1);
  CHECK(ctx.stopped());
}

CONFORMANCE("run_one runs one handler and waits for it if need be") {
  beck::io_context ctx(context_options());
  std::vector<int> order;
  beck::post(ctx, [&] { order.push_back(1); });
  beck::post(ctx, [&] { order.push_back(2); });
  beck::steady_timer soon(ctx, 2ms);
  soon.async_wait([&](beck::error_code) { order.push_back(3); });
  CHECK(ctx.run_one() == 1);
  CHECK(order == std::vector{1});
  CHECK(ctx.run_one() == 1);
  CHECK(order == std::vector{1, 2});
  CHECK(ctx.run_one() == 1);
  CHECK(order == std::vector{1, 2, 3});
  CHECK(ctx.run_one() == 0);
  CHECK(ctx.stopped());
}

CONFORMANCE("poll runs what is ready and what that makes ready, and waits for nothing") {
  beck::io_context ctx(context_options());
  beck::steady_timer far_away(ctx, an_hour);
  bool expired = false;
  far_away.async_wait([&](beck::error_code ec) { expired = !ec; });
  int ran = 0;
  beck::post(ctx, [&] {
    ++ran;
    beck::post(ctx, [&] { ++ran; });
  });
  CHECK(ctx.poll() == 2);
  CHECK(ran == 2);
  CHECK_FALSE(ctx.stopped());
  CHECK(ctx.poll() == 0);
  CHECK_FALSE(expired);
}

CONFORMANCE("poll_one runs at most one handler") {
  beck::io_context ctx(context_options());
  int ran = 0;
  for (int i = 0; i < 3; ++i) beck::post(ctx, [&] { ++ran; });
  CHECK(ctx.poll_one() == 1);
  CHECK(ran == 1);
  CHECK(ctx.poll_one() == 1);
  CHECK(ctx.poll() == 1);
  CHECK(ran == 3);
  CHECK(ctx.poll_one() == 0);
}

CONFORMANCE("poll without any work stops the context") {
  beck::io_context ctx(context_options());
  CHECK(ctx.poll() == 0);
  CHECK(ctx.stopped());
}

CONFORMANCE("run_for returns when its time has passed although work is left") {
  beck::io_context ctx(context_options());
  const auto guard = beck::make_work_guard(ctx);
  bool ran = false;
  beck::post(ctx, [&] { ran = true; });
  CHECK(ctx.run_for(2ms) == 1);
  CHECK(ran);
  CHECK_FALSE(ctx.stopped());
  CHECK(ctx.run_for(1ms) == 0);
  CHECK_FALSE(ctx.stopped());
}

CONFORMANCE("run_for returns early when work runs out") {
  beck::io_context ctx(context_options());
  beck::steady_timer soon(ctx, 1ms);
  soon.async_wait([](beck::error_code ec) { CHECK_FALSE(ec); });
  CHECK(ctx.run_for(an_hour) == 1);
  CHECK(ctx.stopped());
}

CONFORMANCE("run_until does not wait past its point in time") {
  beck::io_context ctx(context_options());
  beck::steady_timer far_away(ctx, an_hour);
  far_away.async_wait([](beck::error_code ec) { CHECK(ec == beck::error::operation_aborted); });
  const beck::steady_timer mark(ctx, 2ms);
  beck::post(ctx, [] {});
  CHECK(ctx.run_until(mark.expiry()) == 1);
  CHECK_FALSE(ctx.stopped());
  CHECK(ctx.run_until(mark.expiry()) == 0);  // a point in the past
  far_away.cancel();
  CHECK(ctx.run_until(beck::time_point::max()) == 1);
  CHECK(ctx.stopped());
}

CONFORMANCE("run_one_for and run_one_until run one handler or give up at their time") {
  beck::io_context ctx(context_options());
  const auto guard = beck::make_work_guard(ctx);
  CHECK(ctx.run_one_for(1ms) == 0);
  int ran = 0;
  beck::post(ctx, [&] { ++ran; });
  beck::post(ctx, [&] { ++ran; });
  CHECK(ctx.run_one_for(an_hour) == 1);
  CHECK(ran == 1);
  const beck::steady_timer mark(ctx, an_hour);
  CHECK(ctx.run_one_until(mark.expiry()) == 1);
  CHECK(ran == 2);
  const beck::steady_timer near(ctx, 1ms);
  CHECK(ctx.run_one_until(near.expiry()) == 0);
  CHECK_FALSE(ctx.stopped());
}

CONFORMANCE("posts run in their order, those from inside behind those that were there") {
  beck::io_context ctx(context_options());
  constexpr int posts = 300;  // more than one generation
  std::vector<int> order;
  for (int i = 0; i < posts; ++i) {
    beck::post(ctx, [&, i] {
      order.push_back(i);
      beck::post(ctx, [&, i] { order.push_back(posts + i); });
    });
  }
  CHECK(ctx.run() == 2 * posts);
  REQUIRE(order.size() == 2 * posts);
  for (int i = 0; i < 2 * posts; ++i) REQUIRE(order[static_cast<std::size_t>(i)] == i);
}

CONFORMANCE("post never runs its function inside the call, neither outside nor inside of run") {
  beck::io_context ctx(context_options());
  bool ran = false;
  beck::post(ctx, [&] { ran = true; });
  CHECK_FALSE(ran);
  ctx.run();
  CHECK(ran);
  ctx.restart();
  std::vector<int> order;
  beck::post(ctx, [&] {
    beck::post(ctx, [&] { order.push_back(2); });
    order.push_back(1);
  });
  ctx.run();
  CHECK(order == std::vector{1, 2});
}

CONFORMANCE("dispatch runs its function inside the call if the caller is inside the context") {
  beck::io_context ctx(context_options());
  std::vector<int> order;
  beck::dispatch(ctx, [&] { order.push_back(1); });
  CHECK(order.empty());  // outside: as post
  beck::post(ctx, [&] {
    beck::dispatch(ctx, [&] { order.push_back(2); });
    order.push_back(3);
  });
  CHECK(ctx.run() == 2);
  CHECK(order == std::vector{1, 2, 3});
}

CONFORMANCE("defer runs its function after the handler that deferred it") {
  beck::io_context ctx(context_options());
  std::vector<int> order;
  beck::post(ctx, [&] {
    beck::defer(ctx, [&] { order.push_back(2); });
    order.push_back(1);
  });
  CHECK(ctx.run() == 2);
  CHECK(order == std::vector{1, 2});
}

CONFORMANCE("an exception of a posted function leaves run, and run may be called again") {
  beck::io_context ctx(context_options());
  std::vector<int> order;
  beck::post(ctx, [&] { order.push_back(1); });
  beck::post(ctx, [] { throw std::runtime_error("from a handler"); });
  beck::post(ctx, [&] { order.push_back(3); });
  CHECK_THROWS_WITH_AS(ctx.run(), "from a handler", std::runtime_error);
  CHECK(order == std::vector{1});
  CHECK_FALSE(ctx.stopped());
  CHECK(ctx.run() == 1);
  CHECK(order == std::vector{1, 3});
}

CONFORMANCE("an exception of a completion handler loses no other operation") {
  beck::io_context ctx(context_options());
  beck::test::stream_pair pair(ctx);
  char first[1], second[1];
  int done = 0;
  pair.a.async_read_some(beck::buffer(first), [&](beck::error_code, std::size_t) {
    ++done;
    throw std::runtime_error("read");
  });
  pair.b.async_read_some(beck::buffer(second),
                         [&](beck::error_code ec, std::size_t) { done += ec ? 0 : 10; });
  beck::steady_timer timer(ctx, 1ms);
  timer.async_wait([&](beck::error_code ec) { done += ec ? 0 : 100; });
  beck::async_write(pair.a, beck::buffer("x", 1), beck::detached);
  beck::async_write(pair.b, beck::buffer("y", 1), beck::detached);
  CHECK_THROWS_AS(ctx.run(), std::runtime_error);
  ctx.run();
  CHECK(done == 111);
  CHECK(first[0] == 'y');
  CHECK(second[0] == 'x');
}

CONFORMANCE("a work guard keeps run waiting until it is reset") {
  beck::io_context ctx(context_options());
  auto guard = beck::make_work_guard(ctx);
  CHECK(guard.owns_work());
  int steps = 0;
  beck::steady_timer first(ctx, 1ms);
  beck::steady_timer second(ctx);
  first.async_wait([&](beck::error_code) {
    ++steps;
    second.expires_after(1ms);  // between the two waits nothing but the guard is outstanding
    beck::post(ctx, [&] {
      second.async_wait([&](beck::error_code) {
        ++steps;
        guard.reset();
      });
    });
  });
  CHECK(ctx.run() == 3);
  CHECK(steps == 2);
  CHECK_FALSE(guard.owns_work());
  CHECK(ctx.stopped());
}

CONFORMANCE("a copy of a work guard counts by itself, a moved-from one not at all") {
  beck::io_context ctx(context_options());
  auto guard = beck::make_work_guard(ctx);
  auto copy = guard;
  auto moved = std::move(guard);
  CHECK_FALSE(guard.owns_work());
  CHECK(copy.owns_work());
  CHECK(moved.owns_work());
  moved.reset();
  moved.reset();
  CHECK(ctx.run_for(1ms) == 0);
  CHECK_FALSE(ctx.stopped());
  copy.reset();
  CHECK(ctx.run() == 0);
  CHECK(ctx.stopped());
}

CONFORMANCE("a handler may poll another context, and continues on its own") {
  beck::io_context outer(context_options());
  beck::io_context inner(context_options());
  std::vector<int> order;
  beck::post(inner, [&] {
    order.push_back(2);
    CHECK(inner.get_executor().running_in_this_thread());
    CHECK_FALSE(outer.get_executor().running_in_this_thread());
    beck::dispatch(outer, [&] { order.push_back(4); });  // not inside of outer: queued
  });
  beck::post(outer, [&] {
    order.push_back(1);
    CHECK(inner.poll() == 1);
    order.push_back(3);
    CHECK(outer.get_executor().running_in_this_thread());
    CHECK_FALSE(inner.get_executor().running_in_this_thread());
  });
  CHECK(outer.run() == 2);
  CHECK(order == std::vector{1, 2, 3, 4});
}

CONFORMANCE("a handler may poll its own context") {
  beck::io_context ctx(context_options());
  std::vector<int> order;
  beck::post(ctx, [&] {
    order.push_back(1);
    beck::post(ctx, [&] { order.push_back(2); });
    CHECK(ctx.poll() == 1);
    order.push_back(3);
  });
  ctx.run();
  CHECK(order == std::vector{1, 2, 3});
}

CONFORMANCE("a posted function is moved, never copied, and its memory is free when it runs") {
  beck::io_context ctx(context_options());
  auto owned = std::make_unique<int>(7);
  int seen = 0;
  beck::post(ctx, [&seen, held = std::move(owned)] { seen = *held; });
  ctx.run();
  CHECK(seen == 7);
  ctx.restart();
  const auto before = beck::detail::block_misses();
  int left = 1000;
  struct step {  // each posts the next one: the block is free again, so one is enough for all
    beck::io_context& ctx;
    int& left;
    void operator()() const {
      if (--left > 0) beck::post(ctx, *this);
    }
  };
  beck::post(ctx, step{ctx, left});
  CHECK(ctx.run() == 1000);
  CHECK(beck::detail::block_misses() - before <= 1);
}
