// SPDX-License-Identifier: BSL-1.0
//
// A context and other threads: one runs it at a time, others wait for their turn, all may post,
// stop, and start operations.
// Whether the loop sleeps is asked of its mailbox, so that no case has to guess by time.
#include <array>
#include <atomic>
#include <beck/io/sync_wait.hpp>
#include <beck/net/local.hpp>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "io/loop/loop_access.hpp"
#include "support/context_options.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::test::kernel;
using beck::test::stream_pair;

namespace {

// A context that a thread of its own runs until the object goes.
class running_context {
 public:
  running_context()
      : ctx(context_options()),
        guard_(ctx.get_executor()),
        thread_([this] { count_ = ctx.run(); }) {}
  ~running_context() { join(); }

  // Gives what run returned.
  std::size_t join() {
    guard_.reset();
    if (thread_.joinable()) thread_.join();
    return count_;
  }

  // Returns when the loop is asleep in the kernel, or about to be and sure to look at its mail.
  void until_asleep() {
    auto& mail = beck::detail::loop_of(ctx.get_executor()).mail();
    while (mail.empty())
      std::this_thread::yield();  // not empty without mail: the mark of a sleeper
  }

  beck::io_context ctx;

 private:
  beck::executor_work_guard<beck::io_context::executor_type> guard_;
  std::size_t count_ = 0;
  std::thread thread_;
};

// Another thread that runs a context while a handler does.
struct second_thread {
  std::thread thread;

  // Starts it, and returns when it waits for its turn. Called by a handler.
  template <class Run>
  void start(beck::io_context& ctx, Run run) {
    const beck::any_io_executor executor = ctx.get_executor();
    const auto& turns = beck::detail::loop_of(executor).turns();
    const unsigned before = turns.waiting();
    thread = std::thread(std::move(run));
    while (turns.waiting() == before) std::this_thread::yield();
  }
};

}  // namespace

CONFORMANCE_ON(beck::test::sim, "a second thread in run of a simulated context gets an error") {
  beck::io_context ctx(context_options());
  std::string message;
  beck::post(ctx, [&] {
    std::thread([&] {
      try {
        ctx.run();
      } catch (const std::logic_error& error) {
        message = error.what();
      }
    }).join();
  });
  CHECK(ctx.run() == 1);
  CHECK(message.find("io_context(2)") != std::string::npos);
}

CONFORMANCE_ON(kernel, "a second thread in run waits, and goes on when the first one has left") {
  beck::io_context ctx(context_options());
  second_thread other;
  std::array<std::thread::id, 3> ran;
  std::size_t count = 0;
  beck::post(ctx, [&] {
    ran[0] = std::this_thread::get_id();
    other.start(ctx, [&] { count = ctx.run(); });
  });
  beck::post(ctx, [&] { ran[1] = std::this_thread::get_id(); });
  beck::post(ctx, [&] { ran[2] = std::this_thread::get_id(); });
  CHECK(ctx.run_one() == 1);
  const std::thread::id id = other.thread.get_id();
  other.thread.join();
  CHECK(count == 2);
  CHECK(ran == std::array{std::this_thread::get_id(), id, id});
  CHECK(ctx.stopped());
}

CONFORMANCE_ON(kernel, "a thread that waits in run takes over from one that an exception ends") {
  beck::io_context ctx(context_options());
  second_thread other;
  std::size_t count = 0;
  beck::post(ctx, [&] {
    other.start(ctx, [&] { count = ctx.run(); });
    throw 7;
  });
  beck::post(ctx, [] {});
  CHECK_THROWS_AS(ctx.run(), int);
  other.thread.join();
  CHECK(count == 1);
}

CONFORMANCE_ON(kernel, "a thread that waits in run returns when the first one runs out of work") {
  beck::io_context ctx(context_options());
  second_thread one, two;
  beck::post(ctx, [&] {
    one.start(ctx, [&] { CHECK(ctx.run() == 0); });
    two.start(ctx, [&] { CHECK(ctx.run_one() == 0); });
  });
  CHECK(ctx.run() == 1);
  one.thread.join();
  two.thread.join();
  CHECK(ctx.stopped());
}

CONFORMANCE_ON(kernel, "stop ends the waits for a turn while the handler still runs") {
  for (const bool elsewhere : {false, true}) {
    beck::io_context ctx(context_options());
    second_thread one, two;
    bool late_ran = false;
    beck::post(ctx, [&] {
      one.start(ctx, [&] { CHECK(ctx.run() == 0); });
      two.start(ctx, [&] { CHECK(ctx.run_for(1h) == 0); });
      elsewhere ? std::thread([&] { ctx.stop(); }).join() : ctx.stop();
      one.thread.join();  // a handler that waits for the other threads
      two.thread.join();
    });
    beck::post(ctx, [&] { late_ran = true; });
    CHECK(ctx.run() == 1);
    CHECK_FALSE(late_ran);
  }
}

CONFORMANCE_ON(kernel, "a wait for a turn ends in time, and poll does not wait") {
  beck::io_context ctx(context_options());
  bool late_ran = false;
  beck::post(ctx, [&] {
    std::thread([&] {
      const auto began = std::chrono::steady_clock::now();
      CHECK(ctx.run_for(2ms) == 0);
      CHECK(std::chrono::steady_clock::now() - began >= 2ms);
      CHECK(ctx.run_one_for(0ms) == 0);
      CHECK(ctx.poll() == 0);
      CHECK(ctx.poll_one() == 0);
    }).join();
    CHECK_FALSE(ctx.stopped());
  });
  beck::post(ctx, [&] { late_ran = true; });
  CHECK(ctx.run() == 2);
  CHECK(late_ran);
}

CONFORMANCE_ON(kernel, "threads that run one handler each share all of them, one at a time") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  constexpr int rounds = 2000;
  int inside = 0, received = 0;  // not atomic: handlers do not run side by side
  std::array<char, 1> space{};
  std::function<void()> next = [&] {
    pair.b.async_read_some(beck::buffer(space), [&](beck::error_code ec, std::size_t) {
      CHECK_FALSE(ec);
      CHECK(++inside == 1);
      if (++received < rounds) next();
      --inside;
    });
    beck::async_write(pair.a, beck::buffer("x", 1), beck::detached);
  };
  next();
  std::array<std::size_t, 4> counts{};
  std::vector<std::thread> threads;
  for (std::size_t& count : counts) {
    threads.emplace_back([&] {
      while (ctx.run_one() != 0) ++count;
    });
  }
  for (std::thread& each : threads) each.join();
  CHECK(received == rounds);
  std::size_t all = 0;
  for (const std::size_t count : counts) all += count;
  CHECK(all >= std::size_t{rounds});
  CHECK(all == ctx.stats().delivered);
}

CONFORMANCE_ON(kernel, "sync_wait refuses a context that another thread runs") {
  running_context loop;
  loop.until_asleep();
  CHECK_THROWS_AS(beck::sync_wait(loop.ctx, []() -> beck::task<> { co_return; }), std::logic_error);
}

CONFORMANCE_ON(kernel, "threads may take turns in running one context") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string received;
  std::array<char, 1> space{};
  for (int turn = 0; turn < 8; ++turn) {
    std::thread([&, turn] {  // each reads what the one before has written, and writes for the next
      if (turn > 0) {
        pair.b.async_read_some(beck::buffer(space), [&](beck::error_code ec, std::size_t n) {
          CHECK_FALSE(ec);
          received.append(space.data(), n);
        });
      }
      beck::async_write(pair.a, beck::buffer("x", 1),
                        [](beck::error_code ec, std::size_t) { CHECK_FALSE(ec); });
      ctx.run();
      ctx.restart();
    })
        .join();
  }
  CHECK(received == "xxxxxxx");
}

CONFORMANCE_ON(kernel, "operations go on although the thread that submitted them has ended") {
  // U18: the kernel ends what a thread has submitted when the thread ends; nobody may notice.
  beck::io_context ctx(context_options());
  stream_pair pair(ctx), full(ctx);
  std::array<char, 64> space{};
  std::string received;
  const std::string large = beck::test::pattern(4 << 20);
  std::size_t sent = 0;
  std::thread([&] {
    pair.a.async_read_some(beck::buffer(space), [&](beck::error_code ec, std::size_t n) {
      CHECK_FALSE(ec);
      received.assign(space.data(), n);
    });
    beck::async_write(full.a, beck::buffer(large), [&](beck::error_code ec, std::size_t n) {
      CHECK_FALSE(ec);
      sent = n;
    });
    CHECK(ctx.run_for(2ms) == 0);
  }).join();
  beck::async_write(pair.b, beck::buffer("late", 4), beck::detached);
  std::string all(large.size(), '\0');
  beck::async_read(full.b, beck::buffer(all), beck::detached);
  ctx.run();
  CHECK(received == "late");
  CHECK(sent == large.size());
  CHECK(all == large);
}

CONFORMANCE_ON(kernel, "a post from another thread wakes a sleeping loop, once for each sleep") {
  running_context loop;
  loop.until_asleep();
  std::latch all_posted(1), all_ran(1);
  std::atomic<int> ran{0};
  const int posts = 10;
  for (int i = 0; i < posts; ++i) {
    beck::post(loop.ctx, [&] {
      all_posted.wait();  // the loop does not sleep again before the last post
      if (++ran == posts) all_ran.count_down();
    });
  }
  all_posted.count_down();
  all_ran.wait();
  CHECK(loop.join() == posts);
  const auto stats = loop.ctx.stats();
  CHECK(stats.mail >= posts);
  CHECK(stats.wakeups >= 1);
  CHECK(stats.wakeups <= 2);  // the second one: the guard was given up while the loop slept again
}

CONFORMANCE_ON(kernel, "posts of one thread keep their order, whichever thread runs") {
  running_context loop;
  std::vector<int> order;
  const int posts = 1000;
  std::latch done(1);
  for (int i = 0; i < posts; ++i) beck::post(loop.ctx, [&, i] { order.push_back(i); });
  beck::post(loop.ctx, [&] { done.count_down(); });
  done.wait();
  loop.join();
  REQUIRE(order.size() == posts);
  for (int i = 0; i < posts; ++i) REQUIRE(order[static_cast<std::size_t>(i)] == i);
}

CONFORMANCE_ON(kernel, "posts of several threads all run, each thread's in its order") {
  running_context loop;
  constexpr int threads = 3, posts = 500;
  std::array<std::vector<int>, threads> order;
  std::vector<std::thread> posters;
  for (std::size_t t = 0; t < threads; ++t) {
    posters.emplace_back([&, t] {
      for (int i = 0; i < posts; ++i) beck::post(loop.ctx, [&, t, i] { order[t].push_back(i); });
    });
  }
  for (auto& poster : posters) poster.join();
  CHECK(loop.join() == threads * posts);
  for (const auto& own : order) {
    REQUIRE(own.size() == posts);
    for (int i = 0; i < posts; ++i) REQUIRE(own[static_cast<std::size_t>(i)] == i);
  }
}

CONFORMANCE_ON(kernel, "stop from another thread ends a run that sleeps") {
  running_context loop;
  loop.until_asleep();
  loop.ctx.stop();
  CHECK(loop.join() == 0);
  CHECK(loop.ctx.stopped());
}

CONFORMANCE_ON(kernel, "giving up the last work from another thread ends a run that sleeps") {
  running_context loop;
  loop.until_asleep();
  CHECK(loop.join() == 0);  // resets the guard
  CHECK(loop.ctx.stopped());
}

CONFORMANCE_ON(kernel,
               "operations started by another thread wake a sleeping loop and complete on it") {
  running_context loop;
  std::atomic<int> here{0};
  const auto on_runner = [&] {
    if (loop.ctx.get_executor().running_in_this_thread()) ++here;
  };
  stream_pair pair(loop.ctx);
  std::array<char, 4> space{};
  std::latch read(1), expired(1);
  loop.until_asleep();
  beck::async_read(pair.a, beck::buffer(space), [&](beck::error_code ec, std::size_t n) {
    if (!ec && n == 4) on_runner();
    read.count_down();
  });
  loop.until_asleep();
  beck::async_write(pair.b, beck::buffer("ping", 4), beck::detached);
  read.wait();
  loop.until_asleep();
  beck::steady_timer timer(loop.ctx, 1ms);  // earlier than whatever the loop waits for
  timer.async_wait([&](beck::error_code ec) {
    if (!ec) on_runner();
    expired.count_down();
  });
  expired.wait();
  CHECK(here == 2);
  CHECK(std::string(space.data(), 4) == "ping");
}

CONFORMANCE_ON(kernel, "a timer and a socket can be cancelled and closed from another thread") {
  running_context loop;
  std::atomic<int> aborted{0};
  std::latch cancelled(2), closed(1);
  const auto note = [&](beck::error_code ec) {
    if (ec == beck::error::operation_aborted) ++aborted;
  };
  beck::steady_timer timer(loop.ctx, 1h);
  timer.async_wait([&](beck::error_code ec) {
    note(ec);
    cancelled.count_down();
  });
  stream_pair pair(loop.ctx);
  char space[4];
  pair.a.async_read_some(beck::buffer(space), [&](beck::error_code ec, std::size_t) {
    note(ec);
    cancelled.count_down();
  });
  pair.b.async_read_some(beck::buffer(space), [&](beck::error_code ec, std::size_t) {
    note(ec);
    closed.count_down();
  });
  loop.until_asleep();
  timer.cancel();
  pair.a.cancel();
  cancelled.wait();
  loop.until_asleep();
  pair.b.close();
  closed.wait();
  CHECK(aborted == 3);
  CHECK_FALSE(pair.b.is_open());
  CHECK(pair.a.is_open());
}

CONFORMANCE_ON(kernel, "objects can be destroyed by another thread while the loop runs") {
  running_context loop;
  std::atomic<int> aborted{0};
  std::latch done(3);
  const auto note = [&](beck::error_code ec) {
    // Eof: the peer went first, and its end was seen first.
    if (ec == beck::error::operation_aborted || ec == beck::error::eof || !ec) ++aborted;
    done.count_down();
  };
  static char space[8];
  auto timer = std::make_unique<beck::steady_timer>(loop.ctx, 1h);
  auto pair = std::make_unique<stream_pair>(loop.ctx);
  timer->async_wait(note);
  pair->a.async_read_some(beck::buffer(space, 4),
                          [&](beck::error_code ec, std::size_t) { note(ec); });
  pair->b.async_wait(beck::test::stream_socket::wait_read, note);
  loop.until_asleep();
  timer.reset();
  pair.reset();
  done.wait();
  CHECK(aborted == 3);
}

CONFORMANCE_ON(kernel, "a coroutine spawned by another thread runs on the loop's") {
  running_context loop;
  std::latch done(1);
  bool here = false;
  loop.until_asleep();
  auto work = [&]() -> beck::task<> {
    beck::steady_timer timer(loop.ctx, 1ms);
    beck::ignore(co_await timer.async_wait());
    here = loop.ctx.get_executor().running_in_this_thread();
    done.count_down();
  };
  beck::co_spawn(loop.ctx, work, beck::detached);
  done.wait();
  loop.join();
  CHECK(here);
}

CONFORMANCE_ON(kernel, "an object that goes ends the operations another thread has just started") {
  // They are still in the mail while the handler destroys what they are for.
  beck::io_context ctx(context_options());
  static char space[8];
  int aborted = 0;
  const auto note = [&](beck::error_code ec) {
    aborted += ec == beck::error::operation_aborted ? 1 : 0;
  };
  auto timer = std::make_unique<beck::steady_timer>(ctx, 1h);
  auto pair = std::make_unique<stream_pair>(ctx);
  std::size_t cancelled = 0;
  beck::post(ctx, [&] {
    std::thread([&] {
      timer->async_wait(note);
      pair->a.async_read_some(beck::buffer(space),
                              [&](beck::error_code ec, std::size_t) { note(ec); });
      pair->b.async_wait(beck::test::stream_socket::wait_read, note);
    }).join();
    cancelled = timer->cancel();
    timer->async_wait(note);
    timer.reset();
    pair.reset();
    // The slot of the sockets may have a new owner before the mail is taken.
    pair = std::make_unique<stream_pair>(ctx);
  });
  CHECK(ctx.run() == 5);
  CHECK(cancelled == 1);
  CHECK(aborted == 4);
}
