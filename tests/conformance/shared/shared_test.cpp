// SPDX-License-Identifier: BSL-1.0
//
// Shared contexts: several threads inside run() of one. What one thread may rely on is in the other
// files; here is what holds when there are more. On the simulator the threads are virtual, and one
// real thread calls run(); cases whose handlers or threads block for each other stay off it.
#include <atomic>
#include <barrier>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <beck/run/strand.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/context_options.hpp"
#include "support/pattern.hpp"
#include "support/scale.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::test::scaled;
using beck::test::stream_pair;

namespace {

constexpr unsigned on_epoll = beck::test::epoll;
constexpr unsigned on_both = beck::test::epoll | beck::test::sim;

bool is_virtual() { return beck::test::current_backend() == beck::backend::sim; }

beck::io_context::options for_threads(int most) { return context_options({.threads = most}); }

// Calls `body` on `count` threads at once; on the simulator once, at the end.
class threads {
 public:
  template <class Body>
  threads(int count, Body body) {
    if (is_virtual()) {
      later_ = body;
      return;
    }
    for (int i = 0; i < count; ++i) all_.emplace_back(body);
  }
  threads(const threads&) = delete;
  threads& operator=(const threads&) = delete;
  ~threads() {
    for (std::thread& t : all_) t.join();
    if (later_) later_();
  }

 private:
  std::vector<std::thread> all_;
  std::function<void()> later_;
};

// Runs `ctx` on `count` threads until all of them have returned; gives the sum of the handlers.
std::size_t run_on(beck::io_context& ctx, int count) {
  std::atomic<std::size_t> handlers{0};
  {
    const threads all(count, [&] { handlers += ctx.run(); });
  }
  return handlers;
}

beck::task<> echo(beck::test::stream_socket& socket, int rounds) {
  char byte = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto got = co_await socket.async_read_some(beck::buffer(&byte, 1));
    if (got.error()) co_return;
    beck::ignore(co_await beck::async_write(socket, beck::buffer(&byte, 1)));
  }
}

beck::task<> play(beck::test::stream_socket& socket, int rounds, std::atomic<int>& right) {
  for (int i = 0; i < rounds; ++i) {
    char byte = static_cast<char>(i);
    beck::ignore(co_await beck::async_write(socket, beck::buffer(&byte, 1)));
    byte = static_cast<char>(~byte);
    const auto got = co_await beck::async_read(socket, beck::buffer(&byte, 1));
    if (!got.error() && byte == static_cast<char>(i)) ++right;
  }
}

}  // namespace

CONFORMANCE_ON(on_both, "run on several threads runs every handler once, and the counts add up") {
  for (const int count : {2, 3, 8}) {
    beck::io_context ctx(for_threads(count));
    std::atomic<int> ran{0};
    const int posts = scaled(20'000);
    for (int i = 0; i < posts; ++i) beck::post(ctx, [&] { ++ran; });
    CHECK(run_on(ctx, count) == static_cast<std::size_t>(posts));
    CHECK(ran == posts);
    CHECK(ctx.stopped());
    CHECK(ctx.stats().delivered == static_cast<std::uint64_t>(posts));
  }
}

CONFORMANCE_ON(on_epoll, "two handlers of a shared context run at the same time") {
  beck::io_context ctx(for_threads(2));
  std::latch both(2);  // each waits for the other: on one thread this would never end
  for (int i = 0; i < 2; ++i) beck::post(ctx, [&] { both.arrive_and_wait(); });
  CHECK(run_on(ctx, 2) == 2);
}

CONFORMANCE_ON(on_epoll, "a handler may wait for one that it has posted") {
  beck::io_context ctx(for_threads(2));
  std::latch done(1);
  beck::post(ctx, [&] {
    beck::post(ctx, [&] { done.count_down(); });
    done.wait();
  });
  CHECK(run_on(ctx, 2) == 2);
}

CONFORMANCE_ON(on_epoll, "a handler may wait for a timer and for a read of the same context") {
  beck::io_context ctx(for_threads(2));
  stream_pair pair(ctx);
  std::latch done(2);
  char byte = 0;
  beck::steady_timer timer(ctx);
  beck::post(ctx, [&] {
    timer.expires_after(1ms);
    timer.async_wait([&](beck::error_code) {
      pair.b.write_some(beck::buffer("x", 1));
      done.count_down();
    });
    pair.a.async_read_some(beck::buffer(&byte, 1),
                           [&](beck::error_code, std::size_t) { done.count_down(); });
    done.wait();
  });
  CHECK(run_on(ctx, 2) == 3);
  CHECK(byte == 'x');
}

CONFORMANCE_ON(on_both, "pairs of sockets play ping-pong on several threads") {
  for (const int count : {2, 4, 8}) {
    beck::io_context ctx(for_threads(count));
    constexpr int pairs = 50;
    const int rounds = scaled(200);
    std::deque<stream_pair> all;
    std::atomic<int> right{0};
    for (int i = 0; i < pairs; ++i) {
      stream_pair& pair = all.emplace_back(ctx);
      beck::co_spawn(ctx, echo(pair.a, rounds), beck::detached);
      beck::co_spawn(ctx, play(pair.b, rounds, right), beck::detached);
    }
    run_on(ctx, count);
    CHECK(right == pairs * rounds);
    CHECK(ctx.stats().outstanding == 0);
  }
}

CONFORMANCE_ON(on_both, "large transfers on several threads keep every byte in its place") {
  beck::io_context ctx(for_threads(4));
  constexpr std::size_t bytes = 1 << 20;
  const std::string sent = beck::test::pattern(bytes);
  std::deque<stream_pair> pairs;
  std::deque<std::string> received;
  std::atomic<int> whole{0};
  for (int i = 0; i < 8; ++i) {
    stream_pair& pair = pairs.emplace_back(ctx);
    std::string& into = received.emplace_back(bytes, '\0');
    beck::async_write(pair.a, beck::buffer(sent.data(), bytes),
                      [&](beck::error_code ec, std::size_t n) { whole += !ec && n == bytes; });
    beck::async_read(pair.b, beck::buffer(into.data(), bytes),
                     [&](beck::error_code ec, std::size_t n) { whole += !ec && n == bytes; });
  }
  run_on(ctx, 4);
  CHECK(whole == 16);
  for (const std::string& text : received) CHECK((text == sent));
}

CONFORMANCE_ON(on_both, "a strand never runs two handlers at once under 8 threads") {
  beck::io_context ctx(for_threads(8));
  auto strand = beck::make_strand(ctx);
  const int posts = scaled(20'000);
  int inside = 0;  // plain: ThreadSanitizer watches it
  int wrong = 0;
  int ran = 0;
  for (int i = 0; i < posts; ++i) {
    beck::post(ctx, [&] {
      beck::post(strand, [&] {
        wrong += ++inside != 1;
        ++ran;
        --inside;
      });
    });
  }
  CHECK(run_on(ctx, 8) == static_cast<std::size_t>(2 * posts));
  CHECK(wrong == 0);
  CHECK(ran == posts);
}

CONFORMANCE_ON(on_both, "an exception leaves one run, and the others go on") {
  beck::io_context ctx(for_threads(4));
  std::atomic<int> ran{0};
  std::atomic<int> caught{0};
  for (int i = 0; i < 400; ++i) {
    beck::post(ctx, [&, i] {
      ++ran;
      if (i % 100 == 0) throw std::runtime_error("thrown");
    });
  }
  {
    const threads all(4, [&] {
      for (;;) {
        try {
          ctx.run();
          return;
        } catch (const std::runtime_error&) {
          ++caught;
        }
      }
    });
  }
  CHECK(ran == 400);
  CHECK(caught == 4);
}

CONFORMANCE_ON(on_both, "stop ends run on all threads, and restart lets them go on") {
  beck::io_context ctx(for_threads(4));
  auto guard = beck::make_work_guard(ctx);
  for (int round = 0; round < scaled(200); ++round) {
    ctx.restart();
    {
      const threads all(4, [&] { ctx.run(); });
      if (round % 2 == 0) {
        ctx.stop();
      } else {
        beck::post(ctx, [&] { ctx.stop(); });
      }
    }
    CHECK(ctx.stopped());
  }
}

CONFORMANCE_ON(on_both, "run on all threads returns when the last work guard goes") {
  for (int round = 0; round < scaled(200); ++round) {
    beck::io_context ctx(for_threads(3));
    auto guard = beck::make_work_guard(ctx);
    {
      const threads all(3, [&] { ctx.run(); });
      guard.reset();
    }
    CHECK(ctx.stopped());
  }
}

CONFORMANCE_ON(on_epoll, "other threads post to a shared context while it runs") {
  beck::io_context ctx(for_threads(2));
  auto guard = beck::make_work_guard(ctx);
  std::atomic<int> ran{0};
  const int posts = scaled(5'000);
  std::vector<std::thread> posters;
  for (int i = 0; i < 2; ++i) {
    posters.emplace_back([&] {
      for (int n = 0; n < posts; ++n) beck::post(ctx, [&] { ++ran; });
    });
  }
  std::thread closer([&] {
    for (std::thread& t : posters) t.join();
    guard.reset();
  });
  CHECK(run_on(ctx, 2) == static_cast<std::size_t>(2 * posts));
  closer.join();
  CHECK(ran == 2 * posts);
}

CONFORMANCE_ON(on_epoll, "an earlier timer of another thread shortens the wait of an idle one") {
  beck::io_context ctx(for_threads(2));
  auto guard = beck::make_work_guard(ctx);
  std::thread runner([&] { ctx.run(); });
  beck::steady_timer late(ctx, 1h);
  late.async_wait([](beck::error_code) {});
  beck::steady_timer early(ctx, 1ms);
  std::latch expired(1);
  early.async_wait([&](beck::error_code) { expired.count_down(); });
  expired.wait();
  late.cancel();
  guard.reset();
  runner.join();
}

CONFORMANCE_ON(on_epoll, "close and cancel beside running operations end each of them once") {
  for (int round = 0; round < scaled(200); ++round) {
    beck::io_context ctx(for_threads(3));
    auto guard = beck::make_work_guard(ctx);
    std::vector<std::thread> running;
    for (int i = 0; i < 2; ++i) running.emplace_back([&] { ctx.run(); });
    std::atomic<int> ended{0};
    {
      stream_pair pair(ctx);
      char first = 0;
      char rest[64];
      std::latch all(2);
      pair.a.async_read_some(beck::buffer(&first, 1), [&](beck::error_code, std::size_t) {
        ++ended;
        all.count_down();
      });
      beck::async_read(pair.b, beck::buffer(rest, sizeof rest), [&](beck::error_code, std::size_t) {
        ++ended;
        all.count_down();
      });
      beck::error_code ec;
      pair.a.write_some(beck::buffer("abc", 3), ec);
      pair.b.write_some(beck::buffer("abc", 3), ec);
      if (round % 2 == 0) {
        pair.a.cancel();
        pair.b.cancel();
      } else {
        pair.a.close();
        pair.b.close();
      }
      all.wait();
    }
    CHECK(ended == 2);
    guard.reset();
    for (std::thread& t : running) t.join();
  }
}

CONFORMANCE_ON(on_both, "an operation of a thread that left run ends under another") {
  beck::io_context ctx(for_threads(2));
  stream_pair pair(ctx);
  char byte = 0;
  bool read = false;
  {
    const threads one(1, [&] {
      beck::post(ctx, [&] {
        pair.a.async_read_some(beck::buffer(&byte, 1),
                               [&](beck::error_code ec, std::size_t) { read = !ec; });
      });
      CHECK(ctx.run_one() == 1);
    });
  }
  pair.b.write_some(beck::buffer("x", 1));
  CHECK(run_on(ctx, 2) == 1);
  CHECK(read);
}

CONFORMANCE_ON(on_both, "a shared context dies with operations in flight, un-run") {
  auto held = std::make_shared<int>(0);
  {
    auto ctx = std::make_unique<beck::io_context>(for_threads(2));
    stream_pair pair(*ctx);
    char byte = 0;
    pair.a.async_read_some(beck::buffer(&byte, 1),
                           [held](beck::error_code, std::size_t) { FAIL("run"); });
    beck::steady_timer timer(*ctx, 1h);
    timer.async_wait([held](beck::error_code) { FAIL("run"); });
    ctx->poll();
    CHECK(held.use_count() == 3);
    {
      const threads one(1, [&] { ctx->run_for(beck::duration(0)); });
    }
    pair.a.close();
    pair.b.close();
    timer.cancel();
  }
  CHECK(held.use_count() == 1);
}

CONFORMANCE_ON(on_both, "a shared context dies with suspended coroutines, each frame once") {
  auto held = std::make_shared<int>(0);
  {
    beck::io_context ctx(for_threads(2));
    const auto wait = [](beck::io_context& on, std::shared_ptr<int>) -> beck::task<> {
      stream_pair pair(on);
      char byte = 0;
      beck::ignore(co_await pair.a.async_read_some(beck::buffer(&byte, 1)));
      FAIL("resumed");
    };
    for (int i = 0; i < 10; ++i) beck::co_spawn(ctx, wait(ctx, held), beck::detached);
    {
      const threads all(2, [&] { ctx.poll(); });
    }
    CHECK(held.use_count() == 11);
  }
  CHECK(held.use_count() == 1);
}

CONFORMANCE_ON(on_epoll, "a thread beyond the number waits for a place, and poll does not") {
  beck::io_context ctx(for_threads(2));
  std::latch inside(2);
  std::latch go_on(1);
  for (int i = 0; i < 2; ++i) {
    beck::post(ctx, [&] {
      inside.count_down();
      go_on.wait();
    });
  }
  std::vector<std::thread> running;
  for (int i = 0; i < 2; ++i) running.emplace_back([&] { ctx.run(); });
  inside.wait();
  beck::post(ctx, [] {});
  CHECK(ctx.poll() == 0);
  CHECK(ctx.run_for(1ms) == 0);
  go_on.count_down();
  CHECK(ctx.run() <= 1);
  for (std::thread& t : running) t.join();
}

CONFORMANCE_ON(on_epoll, "one thread alone runs a shared context as any other") {
  beck::io_context ctx(for_threads(2));
  std::vector<int> order;
  for (int i = 0; i < 10; ++i) beck::post(ctx, [&, i] { order.push_back(i); });
  CHECK(ctx.run_one() == 1);
  CHECK(ctx.poll_one() == 1);
  CHECK(ctx.poll() == 8);
  CHECK(order == std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  ctx.restart();
  beck::post(ctx, [&] {
    beck::post(ctx, [&] { order.clear(); });
    CHECK(ctx.poll() == 1);  // nested
    CHECK(order.empty());
  });
  ctx.run();
}

CONFORMANCE(
    "a shared context runs on epoll and on sim; another backend that is asked for is refused by "
    "name") {
  if (where != beck::backend::io_uring) {
    CHECK(beck::io_context(for_threads(2)).backend_in_use() == where);
    return;
  }
  try {
    const beck::io_context ctx(for_threads(2));
    FAIL("constructed");
  } catch (const beck::io_error& error) {
    CHECK(error.code() == beck::errc::operation_not_supported);
    CHECK(std::string(error.what()).find(beck::to_string(where)) != std::string::npos);
    CHECK(std::string(error.what()).find("\"2\"") != std::string::npos);
    CHECK(std::string(error.operation()).starts_with("io_context: "));
  }
}
