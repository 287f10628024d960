// SPDX-License-Identifier: BSL-1.0
//
// Windows of tasks: how many run, in which order, what ends them, and what is left behind.
#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/collect_windowed.hpp>
#include <beck/coro/generator.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/thread_pool.hpp>
#include <chrono>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/allocations.hpp"
#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::collect_windowed;
using beck::for_each_limited;
using beck::error::operation_aborted;
using beck::test::run_task;

namespace {

struct load {
  int running = 0;
  int most = 0;
  int started = 0;
  int interrupted = 0;
};

// Counts itself while it runs.
class counted {
 public:
  explicit counted(load& of) : of_(&of) {
    ++of.started;
    if (++of.running > of.most) of.most = of.running;
  }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --of_->running; }

 private:
  load* of_;
};

beck::task<int> wait_and_give(beck::io_context& ctx, load& seen, beck::duration time, int number) {
  const counted now(seen);
  beck::steady_timer timer(ctx, time);
  auto waited = co_await timer.async_wait();
  if (waited.error()) ++seen.interrupted;
  co_return number;
}

beck::task<> fail_after(beck::io_context& ctx, beck::duration time) {
  co_await beck::test::pause(ctx, time);
  throw std::runtime_error("failed");
}

beck::task<> as_void(beck::task<int> work) { static_cast<void>(co_await std::move(work)); }

beck::generator<int> numbers(int count) {
  for (int i = 0; i < count; ++i) co_yield i;
}

}  // namespace

CONFORMANCE("a window runs so many tasks at a time and gives their values in order") {
  beck::io_context ctx(context_options());
  load seen;
  run_task(ctx, [&]() -> beck::task<> {
    std::vector<beck::task<int>> work;
    for (int i = 0; i < 20; ++i) {
      work.push_back(wait_and_give(ctx, seen, beck::duration(1000 * ((i * 7) % 5)), i));
    }
    auto values = co_await collect_windowed(4, std::move(work));
    CHECK(values.size() == 20);
    int expected = 0;
    for (const int value : values) CHECK(value == expected++);
    CHECK(values[3] == 3);
  });
  CHECK(seen.started == 20);
  CHECK(seen.most == 4);
  CHECK(seen.running == 0);
}

CONFORMANCE("the window slides: a slow task does not hold the others back") {
  beck::io_context ctx(context_options());
  run_task(ctx, [&]() -> beck::task<> {
    beck::steady_timer gate(ctx, 24h);
    int quick = 0;
    const auto slow = [&]() -> beck::task<> { beck::ignore(co_await gate.async_wait()); };
    const auto fast = [&]() -> beck::task<> {
      co_await beck::post(ctx);
      if (++quick == 9) gate.cancel();  // the last one lets the first one go
    };
    std::vector<beck::task<>> work;
    work.push_back(slow());
    for (int i = 0; i < 9; ++i) work.push_back(fast());
    co_await collect_windowed(2, std::move(work));
    CHECK(quick == 9);
  });
}

CONFORMANCE("windows larger than the range, of one, and over nothing") {
  beck::io_context ctx(context_options());
  load seen;
  run_task(ctx, [&]() -> beck::task<> {
    std::vector<beck::task<int>> few;
    for (int i = 0; i < 3; ++i) few.push_back(wait_and_give(ctx, seen, 0ms, i));
    auto values = co_await collect_windowed(100, std::move(few));
    CHECK(values.size() == 3);
    CHECK(seen.most == 3);
    seen = load();
    std::vector<beck::task<int>> more;
    for (int i = 0; i < 3; ++i) more.push_back(wait_and_give(ctx, seen, 0ms, i));
    values = co_await collect_windowed(1, std::move(more));
    CHECK(values.size() == 3);
    CHECK(seen.most == 1);
    std::vector<beck::task<int>> none;
    values = co_await collect_windowed(5, std::move(none));
    CHECK(values.empty());
    bool refused = false;
    try {
      std::vector<beck::task<int>> any;
      values = co_await collect_windowed(0, std::move(any));
    } catch (const std::invalid_argument&) {
      refused = true;
    }
    CHECK(refused);
  });
}

CONFORMANCE("the first exception stops what runs, and nothing else starts") {
  beck::io_context ctx(context_options());
  load seen;
  std::string thrown;
  run_task(ctx, [&]() -> beck::task<> {
    std::vector<beck::task<>> work;
    work.push_back(as_void(wait_and_give(ctx, seen, 24h, 0)));
    work.push_back(fail_after(ctx, 1ms));
    work.push_back(as_void(wait_and_give(ctx, seen, 24h, 1)));
    work.push_back(as_void(wait_and_give(ctx, seen, 0ms, 2)));
    try {
      co_await collect_windowed(3, std::move(work));
    } catch (const std::runtime_error& failure) {
      thrown = failure.what();
    }
  });
  CHECK(thrown == "failed");
  CHECK(seen.started == 2);
  CHECK(seen.interrupted == 2);
  CHECK(seen.running == 0);
}

CONFORMANCE("a limit stops a window, and says so if tasks were left over") {
  beck::io_context ctx(context_options());
  load seen;
  run_task(ctx, [&]() -> beck::task<> {
    std::vector<beck::task<int>> work;
    for (int i = 0; i < 6; ++i) work.push_back(wait_and_give(ctx, seen, 24h, i));
    auto late = co_await beck::timeout(collect_windowed(2, std::move(work)), 1ms);
    CHECK(late.error() == beck::error::timeout);
    CHECK(late.value_.empty());
    CHECK(seen.started == 2);
    CHECK(seen.interrupted == 2);
    seen = load();
    std::vector<beck::task<int>> all;
    for (int i = 0; i < 2; ++i) all.push_back(wait_and_give(ctx, seen, 24h, i));
    late = co_await beck::timeout(collect_windowed(2, std::move(all)), 1ms);
    CHECK(late.error() == beck::error::timeout);
    CHECK(late.value_.size() == 2);  // all of them gave something
    const beck::stop_source source;
    source.request_stop();
    std::vector<beck::task<int>> never;
    never.push_back(wait_and_give(ctx, seen, 24h, 0));
    late = co_await beck::with_stop(source.get_token(), collect_windowed(2, std::move(never)));
    CHECK(late.error() == operation_aborted);
    CHECK(seen.started == 2);
  });
}

CONFORMANCE("for_each_limited passes the elements of the caller's own range, not of a copy") {
  beck::io_context ctx(context_options());
  run_task(ctx, [&]() -> beck::task<> {
    std::vector<int> results(200, 0);
    const auto fill = [&](int& result) -> beck::task<> {
      co_await beck::post(ctx);
      result = 1;
    };
    co_await for_each_limited(7, results, fill);
    CHECK(results == std::vector<int>(200, 1));
    const std::vector<std::unique_ptr<int>> constant(3);  // cannot be copied
    std::size_t seen = 0;
    const auto look = [&](const std::unique_ptr<int>& one) -> beck::task<> {
      CHECK(&one == &constant[seen]);
      ++seen;
      co_return;
    };
    co_await for_each_limited(1, constant, look);
    CHECK(seen == 3);
  });
}

CONFORMANCE("for_each_limited makes its tasks one by one, of a vector and of a generator") {
  beck::io_context ctx(context_options());
  load seen;
  run_task(ctx, [&]() -> beck::task<> {
    int sum = 0;
    const auto add = [&](int number) -> beck::task<> {
      const counted now(seen);
      co_await beck::post(ctx);
      sum += number;
    };
    std::vector<int> three{1, 2, 3};
    co_await for_each_limited(2, std::move(three), add);
    CHECK(sum == 6);
    CHECK(seen.most == 2);
    auto many = numbers(100);
    co_await for_each_limited(8, std::move(many), add);
    CHECK(sum == 6 + 4950);
    CHECK(seen.most == 8);
    int made = 0;
    const auto fail_third = [&](int) -> beck::task<> {
      if (++made == 3) throw std::runtime_error("third");
      const auto nothing = []() -> beck::task<> { co_return; };
      return nothing();
    };
    bool thrown = false;
    try {
      auto more = numbers(100);
      co_await for_each_limited(1, std::move(more), fail_third);
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    CHECK(thrown);
    CHECK(made == 3);
  });
}

CONFORMANCE("values that are only moved, and values that throw while they are") {
  beck::io_context ctx(context_options());
  run_task(ctx, [&]() -> beck::task<> {
    const auto make = [](int n) -> beck::task<std::unique_ptr<int>> {
      co_return std::make_unique<int>(n);
    };
    std::vector<beck::task<std::unique_ptr<int>>> work;
    for (int i = 0; i < 5; ++i) work.push_back(make(i));
    auto values = co_await collect_windowed(2, std::move(work));
    for (int i = 0; i < 5; ++i) CHECK(*values[static_cast<std::size_t>(i)] == i);
    const auto fail_last = [](int n) -> beck::task<std::unique_ptr<int>> {
      if (n == 4) throw std::runtime_error("last");
      co_return std::make_unique<int>(n);
    };
    std::vector<beck::task<std::unique_ptr<int>>> failing;
    for (int i = 0; i < 5; ++i) failing.push_back(fail_last(i));
    bool thrown = false;
    try {
      values = co_await collect_windowed(2, std::move(failing));
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    CHECK(thrown);
  });
}

CONFORMANCE("a hundred thousand tasks that end at once do not deepen the stack") {
  beck::io_context ctx(context_options());
  std::size_t done = 0;
  run_task(ctx, [&]() -> beck::task<> {
    const auto count = [&](int) -> beck::task<> {
      ++done;
      co_return;
    };
    auto many = numbers(100'000);
    co_await for_each_limited(16, std::move(many), count);
  });
  CHECK(done == 100'000);
}

CONFORMANCE("a context may be destroyed in the middle of a window") {
  load seen;
  {
    beck::io_context ctx(context_options());
    const auto body = [&]() -> beck::task<> {
      std::vector<beck::task<int>> work;
      for (int i = 0; i < 6; ++i) work.push_back(wait_and_give(ctx, seen, 24h, i));
      static_cast<void>(co_await collect_windowed(2, std::move(work)));
    };
    beck::co_spawn(ctx, body, beck::detached);
    ctx.poll();
    CHECK(seen.running == 2);
  }
  CHECK(seen.running == 0);
}

CONFORMANCE_ON(beck::test::kernel, "a window on a thread pool") {
  beck::thread_pool pool(4);
  std::atomic<int> sum = 0;
  std::atomic<bool> done = false;
  const auto body = [&]() -> beck::task<> {
    const auto give = [](int n) -> beck::task<int> { co_return n; };
    for (int round = 0; round < 20; ++round) {
      std::vector<beck::task<int>> work;
      for (int i = 0; i < 50; ++i) work.push_back(give(i));
      auto values = co_await collect_windowed(5, std::move(work));
      for (const int value : values) sum += value;
    }
    done = true;
  };
  beck::co_spawn(pool, body, beck::detached);
  pool.join();
  CHECK(done);
  CHECK(sum == 20 * 1225);
}

CONFORMANCE("a window costs one block beside the frames") {
  if (!beck::test::counts_allocations()) SKIP_CASE("this build has an operator new of its own");
  beck::io_context ctx(context_options());
  run_task(ctx, [&]() -> beck::task<> {
    const auto nothing = [](int) -> beck::task<> { co_return; };
    std::uint64_t allocated = 0;
    for (int i = 0; i < 10; ++i) {
      if (i == 5) allocated = beck::test::allocations();
      auto some = numbers(30);
      co_await for_each_limited(3, std::move(some), nothing);
    }
    CHECK(beck::test::allocations() == allocated);  // blocks and frames are recycled
  });
}
