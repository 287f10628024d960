// SPDX-License-Identifier: BSL-1.0
// However deep coroutines, branches and generators hold one another, they are dropped, stopped and
// destroyed with their context on a small stack, in every build. The numbers are the contract's, so
// they are not scaled down.
#include <doctest/doctest.h>
#include <beck/coro/async_generator.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/event.hpp>
#include <beck/coro/generator.hpp>
#include <beck/coro/local_key.hpp>
#include <beck/coro/task_group.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/io/io_context.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/sanitizers.hpp"
#include "support/small_stack.hpp"

using beck::async_generator;
using beck::generator;
using beck::task;
using beck::test::on_stack;

namespace {

constexpr std::size_t small_stack = 256 * 1024;
// ThreadSanitizer keeps a stack of calls of its own, with room for 65,536.
constexpr int levels = beck::detail::thread_sanitizer ? 5'000 : 100'000;
constexpr int levels_of_element = 2'000;  // each element passes through all of them

constinit const beck::local_key<int> level;

/// Counts what is alive, so that a case sees that everything went, and the innermost first.
struct alive {
  int count = 0;
  bool in_order = true;
};
class counted {
 public:
  explicit counted(alive& all) : all_(&all), mine_(++all.count) {}
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() {
    if (all_->count-- != mine_) all_->in_order = false;
  }

 private:
  alive* all_;
  int mine_;
};

generator<int> numbers(alive& all, int n) {
  const counted here(all);
  if (n > 0) co_yield beck::elements_of(numbers(all, n - 1));
  co_yield n;
}
/// The same, made before it runs: each one holds the next in its parameter.
generator<int> around(generator<int> inner) { co_yield beck::elements_of(std::move(inner)); }

async_generator<int> elements(alive& all, int n) {
  const counted here(all);
  if (n > 0) {
    auto below = elements(all, n - 1);
    while (auto element = co_await below.next()) co_yield *element;
  }
  co_yield n;
}
async_generator<int> elements_around(async_generator<int> inner) {
  while (auto element = co_await inner.next()) co_yield *element;
}

task<int> all_of(alive& all, beck::manual_reset_event& gate, int n) {
  const counted here(all);
  if (n == 0) {
    const auto ended = co_await gate.wait();
    co_return ended.error() ? 1 : 0;
  }
  auto both = beck::when_all(all_of(all, gate, n - 1), gate.wait());
  auto [below, waited] = co_await std::move(both);
  co_return below + (waited.error() ? 1 : 0);
}

/// Every kind of wait on the way down.
task<int> mixed(alive& all, beck::manual_reset_event& gate, int n) {
  const counted here(all);
  if (n == 0) {
    const auto ended = co_await gate.wait();
    co_return ended.error() ? 1 : 0;
  }
  int below = 0;
  if (n % 6 == 0) {
    auto both = beck::when_all(mixed(all, gate, n - 1), gate.wait());
    below = (co_await std::move(both)).get<0>();
  } else if (n % 6 == 1) {
    below = co_await beck::race(mixed(all, gate, n - 1), mixed(all, gate, 0));
  } else if (n % 6 == 2) {
    auto limited = beck::with_stop(beck::stop_token(), mixed(all, gate, n - 1));
    below = (co_await std::move(limited)).value_;
  } else if (n % 6 == 3) {
    const auto body = [&](beck::task_group& group) -> task<> {
      const auto child = [&]() -> task<> { below = co_await mixed(all, gate, n - 1); };
      group.spawn(child);
      co_return;
    };
    co_await beck::task_group::run(body);
  } else if (n % 6 == 4) {
    auto steps = [](alive& a, beck::manual_reset_event& g, int m) -> async_generator<int> {
      const int last = co_await mixed(a, g, m);
      co_yield last;
    }(all, gate, n - 1);
    below = *(co_await steps.next());
  } else {
    below = co_await level.with(n, mixed(all, gate, n - 1));
  }
  co_return below + 1;
}

task<> around_task(task<> inner) { co_await std::move(inner); }
task<> nothing() { co_return; }

}  // namespace

TEST_CASE("generators nested in one another are dropped where they stand (K3)") {
  on_stack(small_stack, [] {
    alive all;
    {
      auto deep = numbers(all, levels);
      CHECK(*deep.begin() == 0);
      CHECK(all.count == levels + 1);
    }
    CHECK(all.count == 0);
    CHECK(all.in_order);
  });
}

TEST_CASE("generators and tasks that hold one another in parameters are dropped (K3)") {
  on_stack(small_stack, [] {
    alive all;
    for (const bool run : {false, true}) {
      auto deep = numbers(all, 0);
      auto later = elements(all, 0);
      auto work = nothing();
      for (int i = 0; i < levels; ++i) {
        deep = around(std::move(deep));
        later = elements_around(std::move(later));
        work = around_task(std::move(work));
      }
      if (run) CHECK(*deep.begin() == 0);
    }
    CHECK(all.count == 0);
  });
}

TEST_CASE("async generators nested in one another are dropped where they stand (K3)") {
  on_stack(small_stack, [] {
    alive all;
    beck::io_context context;
    beck::co_spawn(
        context,
        [&]() -> task<> {
          {
            auto deep = elements(all, levels);
            const auto element = co_await deep.next();
            CHECK(*element == 0);
            CHECK(all.count == levels + 1);
          }
          CHECK(all.count == 0);
          CHECK(all.in_order);
          auto kept = elements(all, levels_of_element);
          int seen = 0;
          while (auto element = co_await kept.next()) seen += *element == seen ? 1 : 0;
          CHECK(seen == levels_of_element + 1);
        },
        beck::detached);
    context.run();
    CHECK(all.count == 0);
  });
}

TEST_CASE("branches nested in one another end, are stopped, and go with their context (K3)") {
  on_stack(small_stack, [] {
    for (const std::string how : {"end", "stop", "context"}) {
      alive all;
      beck::manual_reset_event gate;
      beck::stop_source source;
      std::optional<beck::io_context> context(std::in_place);
      int result = -1;
      const auto work = [&]() -> task<> {
        auto stopped = beck::with_stop(source.get_token(), all_of(all, gate, levels));
        result = (co_await std::move(stopped)).value_;
      };
      beck::co_spawn(*context, work, beck::detached);
      context->poll();
      CHECK(all.count == levels + 1);
      if (how == "end") gate.set();
      if (how == "stop") source.request_stop();
      if (how != "context") context->run();
      context.reset();
      CHECK(all.count == 0);
      CHECK(all.in_order);
      CHECK(result == (how == "end" ? 0 : how == "stop" ? levels + 1 : -1));
    }
  });
}

TEST_CASE("waits of every kind nested in one another end, are stopped, and go (K3)") {
  on_stack(small_stack, [] {
    for (const std::string how : {"end", "stop", "context"}) {
      alive all;
      beck::manual_reset_event gate;
      beck::stop_source source;
      std::optional<beck::io_context> context(std::in_place);
      bool ended = false;
      const auto work = [&]() -> task<> {
        auto stopped = beck::with_stop(source.get_token(), mixed(all, gate, levels));
        beck::ignore(co_await std::move(stopped));
        ended = true;
      };
      beck::co_spawn(*context, work, beck::detached);
      context->poll();
      CHECK(all.count > levels);
      if (how == "end") gate.set();
      if (how == "stop") source.request_stop();
      if (how != "context") context->run();
      CHECK(ended == (how != "context"));
      context.reset();
      CHECK(all.count == 0);
    }
  });
}
