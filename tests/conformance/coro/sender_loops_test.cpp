// SPDX-License-Identifier: BSL-1.0
//
// Senders in numbers: loops that never wait, stops from other threads, pools and strands.
#include <array>
#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/interop/execution.hpp>
#include <beck/run/strand.hpp>
#include <beck/run/thread_pool.hpp>
#include <chrono>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "support/context_options.hpp"
#include "support/receivers.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
namespace ex = beck::execution;
using beck::test::completion_notes;
using beck::test::noting_receiver;
using beck::test::ready_sender;
using beck::test::state_of;
using beck::test::stream_pair;

CONFORMANCE("loops over senders that never wait keep the stack bounded and starve nobody") {
  beck::io_context ctx(context_options());
  constexpr int rounds = 100'000;
  bool posted_ran = false;
  for (const bool foreign : {false, true}) {
    posted_ran = false;
    int left = rounds;
    completion_notes told;
    const auto run = [&](auto sender) {
      auto state = ex::connect(ex::repeat_until(std::move(sender)), noting_receiver(told));
      beck::post(ctx, [&] {
        beck::post(ctx, [&] { posted_ran = left > rounds / 2; });
        state.start();
      });
      ctx.run();
      ctx.restart();
    };
    if (foreign) {
      run(ready_sender{&left});
    } else {
      run(ex::as_sender(
          [&left] { return [](int& rest) -> beck::task<bool> { co_return --rest == 0; }(left); },
          ctx));
    }
    CHECK(told.values == 1);
    CHECK(left == 0);
    CHECK(posted_ran);
  }
}

CONFORMANCE("a loop of senders goes on in the context that runs it") {
  struct started_elsewhere : noting_receiver {
    struct env {
      ex::scheduler start;
      ex::scheduler query(ex::get_start_scheduler_t) const noexcept { return start; }
    };
    started_elsewhere(completion_notes& told, ex::scheduler at)
        : noting_receiver(told), start(at) {}
    env get_env() const noexcept { return {start}; }
    ex::scheduler start;
  };
  beck::io_context ctx(context_options());
  beck::io_context elsewhere(context_options());
  int left = 10'000;
  completion_notes told;
  auto state = ex::connect(ex::repeat_until(ready_sender{&left}),
                           started_elsewhere(told, ex::scheduler_of(elsewhere)));
  beck::post(ctx, [&] { state.start(); });
  ctx.run();
  CHECK(told.values == 1);
}

CONFORMANCE("a loop of senders ends with an error or a stop of its child") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 1> space{};
  completion_notes failed, stopped;
  const auto read = [&] {
    return ex::repeat_until(ex::as_sender(
        [&]() -> beck::task<bool> {
          const auto [ec, n] = co_await pair.b.async_read_some(beck::buffer(space));
          if (ec) throw beck::io_error(ec);
          co_return n == 0;
        },
        ctx));
  };
  ex::inplace_stop_source source;
  auto one = ex::connect(read(), noting_receiver(stopped, source.get_token()));
  one.start();
  beck::async_write(pair.a, beck::buffer("abc", 3), beck::detached);
  ctx.poll();
  source.request_stop();
  ctx.run();
  ctx.restart();
  CHECK(stopped.stops == 1);
  auto two = ex::connect(read(), noting_receiver(failed));
  two.start();
  pair.a.close();
  ctx.run();
  CHECK(failed.errors == 1);
}

CONFORMANCE("a dump tells of senders that wait") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 8> space{};
  completion_notes told;
  auto state = ex::connect(ex::as_sender(pair.b.async_read_some(beck::buffer(space))),
                           noting_receiver(told));
  state.start();
  ctx.poll();
  std::string text;
  ctx.dump([&](std::string_view piece) { text += piece; });
  CHECK(text.find("a started sender") != std::string::npos);
  pair.b.close();
  ctx.run();
  CHECK(told.errors == 1);
}

CONFORMANCE_ON(beck::test::kernel,
               "stops from another thread and completions: each state is told once") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  auto guard = beck::make_work_guard(ctx);
  std::thread runner([&] { ctx.run(); });
  int values = 0, stops = 0;
  for (int i = 0; i < 2000; ++i) {
    beck::test::counts told;
    ex::inplace_stop_source source;
    std::array<char, 1> space{};
    auto state = ex::connect(ex::as_sender(pair.b.async_read_some(beck::buffer(space))),
                             beck::test::counting{&told, {source.get_token()}});
    state.start();
    if (i % 2 != 0) pair.a.write_some(beck::buffer("x", 1));
    for (int k = 0; k < i % 40; ++k) std::this_thread::yield();
    source.request_stop();
    while (told.all() == 0) std::this_thread::yield();
    // The completion has to return before the state goes.
    std::atomic<bool> returned{false};
    beck::post(ctx, [&] { returned = true; });
    while (!returned) std::this_thread::yield();
    values += told.values;
    stops += told.stops;
    if (told.values == 0 && i % 2 != 0) {  // the byte is still there
      beck::error_code ec;
      CHECK(pair.b.read_some(beck::buffer(space), ec) == 1);
    }
  }
  guard.reset();
  runner.join();
  CHECK(values + stops == 2000);
}

CONFORMANCE_ON(beck::test::kernel, "senders on a pool and on a strand over it") {
  beck::thread_pool pool(2);
  auto strand = beck::make_strand(pool);
  beck::test::counts told;
  const auto receiver_of = [&] { return beck::test::counting{&told, {}}; };
  const auto hop = [](auto executor) -> beck::task<int> {
    co_await beck::post(executor);
    co_return 1;
  };
  using pool_state =
      state_of<decltype(ex::as_sender(hop(pool.get_executor()), pool)), beck::test::counting>;
  using strand_state = state_of<decltype(ex::as_sender(hop(strand), strand)), beck::test::counting>;
  std::array<std::optional<pool_state>, 200> in_pool;
  std::array<std::optional<strand_state>, 200> in_strand;
  for (std::size_t i = 0; i < in_pool.size(); ++i) {
    in_pool[i].emplace(ex::detail::in_place{
        [&] { return ex::connect(ex::as_sender(hop(pool.get_executor()), pool), receiver_of()); }});
    in_strand[i].emplace(ex::detail::in_place{
        [&] { return ex::connect(ex::as_sender(hop(strand), strand), receiver_of()); }});
    in_pool[i]->start();
    in_strand[i]->start();
  }
  pool.join();
  CHECK(told.values == 400);
  CHECK(told.all() == 400);
}

namespace {

/// A state that is stopped from outside.
template <class Sender>
class stoppable_state {
 public:
  stoppable_state(Sender sender, beck::test::counts& told)
      : state_(ex::connect(std::move(sender), beck::test::counting{&told, {source_.get_token()}})) {
  }
  void start() { state_.start(); }
  void stop() { source_.request_stop(); }

 private:
  ex::inplace_stop_source source_;
  state_of<Sender, beck::test::counting> state_;
};

/// Starts what `make` returns, again and again, and stops it from this thread, sooner or later.
template <class Make>
class stopped_crowd {
 public:
  explicit stopped_crowd(Make make) {
    for (int i = 0; i < size; ++i) {
      states_.emplace_back(make(i), told).start();
      for (int k = 0; k < i % 10; ++k) std::this_thread::yield();
      if (i % 3 != 0) states_.back().stop();
    }
    for (auto& each : states_) each.stop();
  }
  static constexpr int size = 300;
  beck::test::counts told;

 private:
  std::deque<stoppable_state<std::invoke_result_t<Make&, int>>> states_;
};

beck::task<int> hop_twice(beck::any_io_executor where) {
  co_await beck::post(where);
  co_await beck::post(where);
  co_return 1;
}

/// Crowds of tasks, of loops, and of pauses if there is a clock, on `where`; `join` ends its
/// threads.
template <class Join>
void check_crowds_on(beck::any_io_executor where, bool has_clock, Join join) {
  stopped_crowd tasks([&](int) { return ex::as_sender(hop_twice(where), where); });
  stopped_crowd loops([&](int i) {
    return ex::repeat_until(ex::as_sender(
        [where, i, round = 0]() mutable {
          return [](beck::any_io_executor on, bool is_last) -> beck::task<bool> {
            co_await beck::post(on);
            co_return is_last;
          }(where, ++round == i % 8 + 1);
        },
        where));
  });
  stopped_crowd pauses([&](int i) {
    return ex::scheduler(where).schedule_after(std::chrono::microseconds(i % 60));
  });
  join();
  for (const beck::test::counts* each : {&tasks.told, &loops.told, &pauses.told}) {
    CHECK(each->all() == tasks.size);
  }
  CHECK(tasks.told.errors + loops.told.errors == 0);
  if (has_clock) CHECK(pauses.told.errors == 0);
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel, "stops from another thread on a pool, and on its strand") {
  for (const bool in_strand : {false, true}) {
    beck::thread_pool pool(2);
    const beck::any_io_executor whole(pool.get_executor());
    check_crowds_on(in_strand ? beck::any_io_executor(beck::make_strand(pool)) : whole, false,
                    [&] { pool.join(); });
  }
}

CONFORMANCE_ON(beck::test::epoll, "stops from another thread where two threads run a context") {
  for (const bool in_strand : {false, true}) {
    beck::io_context ctx(context_options({.threads = 2}));
    auto guard = beck::make_work_guard(ctx);
    std::thread one([&] { ctx.run(); }), two([&] { ctx.run(); });
    const beck::any_io_executor whole(ctx.get_executor());
    check_crowds_on(in_strand ? beck::any_io_executor(beck::make_strand(ctx)) : whole, true, [&] {
      guard.reset();
      one.join();
      two.join();
    });
  }
}
