// SPDX-License-Identifier: BSL-1.0
// The stack stays bounded however many awaits or callbacks finish at once, and however deep tasks
// nest: in every build, on 8 MiB and on 256 KiB. The numbers are the contract's; a tenth of the
// completions is enough for callbacks in slow builds, and under AddressSanitizer, whose frames are
// large.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/detail/stream_object.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/compose.hpp>
#include <beck/run/op.hpp>

#include "base/sanitizers.hpp"
#include "support/scale.hpp"
#include "support/small_stack.hpp"
#include "support/stream_pair.hpp"
#include "support/watchdog.hpp"

int beck::test::busy_limits_max() noexcept { return 30; }  // its cases search for minutes

using beck::task;
using beck::test::on_stack;
using beck::test::run_task;
using beck::test::stack_sizes;
using beck::test::stream_pair;

namespace {

constexpr long millions = beck::detail::address_sanitizer ? 1'000'000 : 10'000'000;
constexpr int levels = 50'000;

task<long> one() { co_return 1; }
beck::awaitable<long> one_in_awaitable() { co_return 1; }

// Goes down `n` levels; on the lowest one it suspends if `context` says where.
task<long> descend(int n, beck::io_context* context) {
  if (n == 0) {
    if (context != nullptr) co_await beck::post(*context);
    co_return 0;
  }
  const long below = co_await descend(n - 1, context);
  co_return below + 1;
}

task<long> descend_to_throw(int n) {
  if (n == 0) throw n;
  const long below = co_await descend_to_throw(n - 1);
  co_return below + 1;
}

class at_once : public beck::op<at_once, void(int)> {
 public:
  void initiate(handler done) { std::move(done)(1); }
};
class never_waits : public beck::op<never_waits, void(int)> {
 public:
  bool ready() { return finish(1); }
  void initiate(handler) {}
};

// A callback that starts the next operation from within, through its immediate executor.
template <class Start>
class chain {
 public:
  chain(beck::io_context& context, Start start, long& left)
      : context_(&context), start_(start), left_(&left) {}
  template <class... A>
  void operator()(const A&...) {
    if (--*left_ > 0) next();
  }
  void next() { start_(beck::bind_immediate_executor(*context_, *this)); }

 private:
  beck::io_context* context_;
  Start start_;
  long* left_;
};

template <class Start>
void run_chain(beck::io_context& context, Start start) {
  long left = beck::test::scaled(10'000'000);
  beck::post(context, [&] { chain<Start>(context, start, left).next(); });
  context.run();
  CHECK(left == 0);
}

}  // namespace

TEST_CASE("millions of awaits of children that finish at once need a bounded stack (K3)") {
  for (const std::size_t bytes : stack_sizes) {
    on_stack(bytes, [] {
      beck::io_context context;
      run_task(context, [&]() -> task<> {
        long sum = 0;
        for (long i = 0; i < millions; ++i) sum += co_await one();
        CHECK(sum == millions);
      });
      CHECK(context.stats().depth_max <= beck::detail::runner::depth_max);
    });
  }
}

TEST_CASE("millions of awaits across tasks and awaitables need a bounded stack (K3)") {
  for (const std::size_t bytes : stack_sizes) {
    on_stack(bytes, [] {
      beck::io_context context;
      run_task(context, [&]() -> beck::awaitable<> {
        long sum = 0;
        for (long i = 0; i < millions / 2; ++i) {
          sum += co_await one();
          sum += co_await one_in_awaitable();
        }
        CHECK(sum == millions);
      });
    });
  }
}

TEST_CASE("tasks nest fifty thousand deep, with and without suspension at the bottom (K3)") {
  for (const std::size_t bytes : stack_sizes) {
    on_stack(bytes, [] {
      beck::io_context context;
      run_task(context, [&]() -> task<> {
        for (int i = 0; i < 5; ++i) {
          const long shallow = co_await descend(levels, nullptr);
          CHECK(shallow == levels);
          const long suspended = co_await descend(levels, &context);
          CHECK(suspended == levels);
        }
      });
      CHECK(context.stats().depth_max <= beck::detail::runner::depth_max);
    });
  }
}

TEST_CASE("an exception passes through fifty thousand tasks on a bounded stack (K3)") {
  for (const std::size_t bytes : stack_sizes) {
    on_stack(bytes, [] {
      beck::io_context context;
      bool caught = false;
      run_task(context, [&]() -> task<> {
        try {
          co_await descend_to_throw(levels);
        } catch (int) {
          caught = true;
        }
      });
      CHECK(caught);
    });
  }
}

TEST_CASE("millions of operations that finish inside their start need a bounded stack (K3)") {
  for (const std::size_t bytes : stack_sizes) {
    on_stack(bytes, [] {
      beck::io_context context;
      stream_pair pair(context);
      run_task(context, [&]() -> task<> {
        long sum = 0;
        for (long i = 0; i < millions / 5; ++i) {
          sum += co_await at_once();
          sum += co_await never_waits();
          co_await beck::dispatch(context);
          co_await beck::post(context);
          const auto empty = co_await pair.a.async_read_some(beck::mutable_buffer());
          if (empty) ++sum;
        }
        CHECK(sum == millions / 5 * 3);
      });
    });
  }
}

TEST_CASE("millions of immediate callbacks of an operation object need a bounded stack (K3)") {
  for (const std::size_t bytes : stack_sizes) {
    on_stack(bytes, [] {
      beck::io_context context;
      run_chain(context, [](auto handler) { never_waits()(std::move(handler)); });
    });
  }
}

TEST_CASE("millions of immediate callbacks of a composed operation need a bounded stack (K3)") {
  for (const std::size_t bytes : stack_sizes) {
    on_stack(bytes, [] {
      beck::io_context context;
      run_chain(context, [&context](auto handler) {
        beck::async_compose<decltype(handler), void()>([](auto& self) { self.complete(); }, handler,
                                                       context);
      });
    });
  }
}

TEST_CASE("millions of immediate callbacks of a socket need a bounded stack (K3)") {
  for (const std::size_t bytes : stack_sizes) {
    on_stack(bytes, [] {
      beck::io_context context;
      stream_pair pair(context);
      run_chain(context, [&pair](auto handler) {
        pair.a.async_read_some(beck::mutable_buffer(), std::move(handler));
      });
    });
  }
}

TEST_CASE(
    "a chain of tasks fifty thousand deep is destroyed with its context on a bounded stack (K3)") {
  for (const std::size_t bytes : stack_sizes) {
    on_stack(bytes, [] {
      beck::io_context context;
      long reached = 0;
      beck::co_spawn(
          context,
          [&]() -> task<> {
            const auto stuck = [&](auto self, int n) -> task<> {
              ++reached;
              if (n == 0) co_await std::suspend_always();
              co_await self(self, n - 1);
            };
            co_await stuck(stuck, levels);
          },
          beck::detached);
      context.run();
      CHECK(reached == levels + 1);
    });
  }
}
