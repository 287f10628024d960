// SPDX-License-Identifier: BSL-1.0
//
// The life of senders' states: receivers that destroy the state inside every kind of completion,
// contexts that are destroyed with states in every phase, and the parts of an awaitable, which go
// before the completion.
#include <array>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/interop/execution.hpp>
#include <beck/run/strand.hpp>
#include <beck/run/thread_pool.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
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

namespace {

/// A state that its receiver destroys, and what else the receiver is to do.
template <class Sender>
class owned_state {
 public:
  static void start(Sender sender, completion_notes& told, ex::inplace_stop_token token = {}) {
    (new owned_state(std::move(sender), told, token))->state_.start();
  }

 private:
  struct receiver {
    using receiver_concept = ex::receiver_tag;
    owned_state* self;
    completion_notes* told;
    beck::test::token_env env;
    void set_value(auto&&...) noexcept {
      ++told->values;
      delete self;
    }
    void set_error(auto&&) noexcept {
      ++told->errors;
      delete self;
    }
    void set_stopped() noexcept {
      ++told->stops;
      delete self;
    }
    beck::test::token_env get_env() const noexcept { return env; }
  };
  owned_state(Sender sender, completion_notes& told, ex::inplace_stop_token token)
      : state_(ex::connect(std::move(sender), receiver{this, &told, {token}})) {}

  state_of<Sender, receiver> state_;
};
template <class Sender>
void start_owned(Sender sender, completion_notes& told, ex::inplace_stop_token token = {}) {
  owned_state<Sender>::start(std::move(sender), told, token);
}

beck::task<> wait_long(beck::io_context& ctx) { co_await beck::test::pause(ctx, 24h); }
beck::task<> throw_at_once() {
  throw std::runtime_error("at once");
  co_return;
}
beck::task<> throw_later(beck::io_context& ctx) {
  co_await beck::post(ctx);
  throw std::runtime_error("later");
}
beck::task<int> value_at_once() { co_return 1; }
beck::task<int> no_task(bool really) {
  if (really) throw std::runtime_error("no task");
  return value_at_once();
}
beck::task<int> value_later(beck::io_context& ctx) {
  co_await beck::post(ctx);
  co_return 1;
}
beck::task<int> as_deep_as(int n) {
  if (n == 0) co_return 0;
  const int below = co_await as_deep_as(n - 1);
  co_return below + 1;
}

/// Notes that it is alive.
class holder {
 public:
  explicit holder(int& alive) : alive_(&alive) { ++alive; }
  holder(holder&& other) noexcept : alive_(std::exchange(other.alive_, nullptr)) {}
  ~holder() {
    if (alive_ != nullptr) --*alive_;
  }

 private:
  int* alive_;
};
beck::task<int> hold(beck::io_context& ctx, int& alive, beck::duration time) {
  const holder held(alive);
  co_await beck::test::pause(ctx, time);
  co_return 1;
}
/// A task that ends with what it holds in its parameter, which lives as long as the frame.
beck::task<int> hold_until_end(holder) { co_return 1; }

/// Notes how many holders are alive when it is told.
struct life_receiver {
  using receiver_concept = ex::receiver_tag;
  completion_notes* told;
  const int* alive;
  int* seen;
  void note() noexcept { *seen = *alive; }
  void set_value(auto&&...) noexcept {
    ++told->values;
    note();
  }
  void set_error(auto&&) noexcept {
    ++told->errors;
    note();
  }
  void set_stopped() noexcept {
    ++told->stops;
    note();
  }
};

/// An operation whose start throws while a stop that another thread requests is on its way.
class stopped_and_failed
    : public beck::op<stopped_and_failed, void(beck::error_code, std::size_t)> {
 public:
  explicit stopped_and_failed(ex::inplace_stop_source& source) : source_(&source) {}
  void initiate(handler) {
    std::thread([this] { source_->request_stop(); }).join();
    throw std::runtime_error("no start");
  }

 private:
  ex::inplace_stop_source* source_;
};

/// An operation that is not bound to an executor.
class unbound : public beck::op<unbound, void(beck::error_code, std::size_t)> {
 public:
  void initiate(handler done) { done(beck::error_code(), 1); }
};

/// Starts another task when it is told.
struct starts_another {
  using receiver_concept = ex::receiver_tag;
  using sender = decltype(ex::as_sender(value_at_once(), std::declval<beck::any_io_executor>()));
  completion_notes* told;
  std::optional<state_of<sender, noting_receiver>>* next;
  sender* work;
  void set_value(auto&&...) noexcept { ++told->values; }
  void set_error(auto&&) noexcept { ++told->errors; }
  void set_stopped() noexcept {
    ++told->stops;
    next->emplace(ex::detail::in_place{
        [&] { return ex::connect(std::move(*work), noting_receiver(*told)); }});
    (*next)->start();
  }
  beck::test::token_env get_env() const noexcept { return {}; }
};

/// A sender of another library that notes rounds outside of a strand.
struct here_sender {
  using sender_concept = ex::sender_tag;
  template <class Self, class... Env>
  static consteval auto get_completion_signatures() {
    return ex::completion_signatures<ex::set_value_t(bool)>();
  }
  template <class Receiver>
  struct state {
    using operation_state_concept = ex::operation_state_tag;
    const here_sender* sender;
    Receiver receiver;
    void start() & noexcept {
      if (!sender->strand.running_in_this_thread()) ++*sender->outside;
      std::move(receiver).set_value(--*sender->rounds == 0);
    }
  };
  template <class Receiver>
  auto connect(Receiver r) const& {
    return state<Receiver>{this, std::move(r)};
  }
  beck::any_io_executor strand;
  int* rounds;
  int* outside;
};

/// Requests a stop of others.
struct stops {
  using receiver_concept = ex::receiver_tag;
  ex::inplace_stop_source* source;
  void set_value() noexcept { source->request_stop(); }
  void set_error(beck::error_code) noexcept {}
  void set_stopped() noexcept {}
};

}  // namespace

CONFORMANCE("a receiver may destroy the state inside each completion") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 8> space{};
  const auto read = [&] { return ex::as_sender(pair.b.async_read_some(beck::buffer(space))); };
  const auto run = [&](auto start) {  // outside of the context, then inside
    completion_notes told;
    start(told);
    ctx.run();
    ctx.restart();
    CHECK(told.all() == 1);
    beck::post(ctx, [&] { start(told); });
    ctx.run();
    ctx.restart();
    CHECK(told.all() == 2);
  };
  run([&](completion_notes& told) { start_owned(ex::as_sender(value_at_once(), ctx), told); });
  run([&](completion_notes& told) { start_owned(ex::as_sender(value_later(ctx), ctx), told); });
  run([&](completion_notes& told) { start_owned(ex::as_sender(throw_at_once(), ctx), told); });
  run([&](completion_notes& told) { start_owned(ex::as_sender(throw_later(ctx), ctx), told); });
  run([&](completion_notes& told) {
    start_owned(ex::as_sender([] { return no_task(true); }, ctx), told);
  });
  run([&](completion_notes& told) { start_owned(ex::scheduler_of(ctx).schedule(), told); });
  run([&](completion_notes& told) {
    start_owned(ex::scheduler_of(ctx).schedule_after(1ms), told);
  });
  for (const bool before : {false, true}) {
    run([&](completion_notes& told) {
      pair.a.write_some(beck::buffer("x", 1));
      ex::inplace_stop_source source;
      if (before) source.request_stop();
      start_owned(read(), told, source.get_token());
      source.request_stop();
    });
  }
  run([&](completion_notes& told) {
    ex::inplace_stop_source source;
    start_owned(ex::as_sender(wait_long(ctx), ctx), told, source.get_token());
    source.request_stop();
  });
  run([&](completion_notes& told) {
    ex::inplace_stop_source source;
    start_owned(ex::scheduler_of(ctx).schedule(), told, source.get_token());
    source.request_stop();
  });
  int left = 1;
  run([&](completion_notes& told) {
    left = 1000;
    start_owned(ex::repeat_until(ready_sender{&left}), told);
  });
  run([&](completion_notes& told) {
    start_owned(ex::repeat_until(ex::as_sender([] { return throw_at_once(); }, ctx)), told);
  });
  run([&](completion_notes& told) {
    ex::inplace_stop_source source;
    start_owned(ex::repeat_until(ex::as_sender([&] { return value_later(ctx); }, ctx)), told,
                source.get_token());
    source.request_stop();
  });
  pair.a.close();
  run([&](completion_notes& told) { start_owned(read(), told); });
}

CONFORMANCE("a context that is destroyed completes states that are in each phase, and they go") {
  completion_notes lost;
  int left = 1'000'000'000;
  ex::inplace_stop_source late, source;
  std::array<char, 8> space{};
  int started = 0;
  {
    beck::io_context ctx(context_options());
    stream_pair pair(ctx);
    const auto start = [&](auto sender, ex::inplace_stop_token token = {}) {
      ++started;
      start_owned(std::move(sender), lost, token);
    };
    start(ex::as_sender(pair.b.async_read_some(beck::buffer(space))), late.get_token());
    start(ex::as_sender(wait_long(ctx), ctx), late.get_token());
    start(ex::scheduler_of(ctx).schedule_after(24h), late.get_token());
    start(ex::as_sender(beck::timeout(wait_long(ctx), 23h), ctx));
    start(ex::as_sender(beck::when_all(wait_long(ctx), wait_long(ctx)), ctx));
    ctx.poll();
    beck::post(ctx, [&] {
      start(ex::repeat_until(ready_sender{&left}));
      // Without budget: the completion, and the loop, are in the queue.
      start(ex::as_sender(value_at_once(), ctx));
      ctx.stop();
    });
    ctx.run();
    start(ex::as_sender(pair.a.async_read_some(beck::buffer(space))));
    start(ex::as_sender(value_at_once(), ctx));
    start(ex::scheduler_of(ctx).schedule());
    // The messages of the stops are on their way.
    std::thread([&] { late.request_stop(); }).join();
    CHECK(lost.all() == 0);
  }
  CHECK(lost.stops == started);
  CHECK(lost.all() == started);
}

CONFORMANCE("frames that an awaitable holds are destroyed before the completion") {
  int alive = 0, seen = -1;
  completion_notes told;
  const life_receiver receiver{&told, &alive, &seen};
  const auto check = [&](beck::io_context& ctx, auto sender) {
    auto state = ex::connect(std::move(sender), receiver);
    state.start();
    ctx.run();
    ctx.restart();
    CHECK(told.values == 1);
    CHECK(seen == 0);
    told = completion_notes();
    seen = -1;
  };
  beck::io_context ctx(context_options());
  check(ctx, ex::as_sender(hold_until_end(holder(alive)), ctx));
  check(ctx, ex::as_sender(beck::timeout(hold_until_end(holder(alive)), 24h), ctx));
  check(ctx,
        ex::as_sender(beck::when_all(hold_until_end(holder(alive)), hold_until_end(holder(alive))),
                      ctx));
  check(ctx, ex::as_sender([&] { return hold_until_end(holder(alive)); }, ctx));
}

CONFORMANCE("states outlive their context without its frames, scopes and timers") {
  for (const int threads : {1, 2}) {
    if (threads == 2 && beck::test::current_backend() != beck::test::on_epoll) continue;
    int alive = 0, seen = -1;
    completion_notes told;
    const life_receiver receiver{&told, &alive, &seen};
    beck::io_context* at = nullptr;
    const auto limited = [&] {
      return ex::as_sender(beck::timeout(hold(*at, alive, 24h), 23h), *at);
    };
    const auto both = [&] {
      return ex::as_sender(beck::when_all(hold(*at, alive, 24h), hold(*at, alive, 24h)), *at);
    };
    const auto pause = [&] { return ex::scheduler_of(*at).schedule_after(24h); };
    std::optional<state_of<decltype(limited()), life_receiver>> one;
    std::optional<state_of<decltype(both()), life_receiver>> two;
    std::optional<state_of<decltype(pause()), life_receiver>> three;
    {
      beck::io_context ctx(context_options({.threads = threads}));
      at = &ctx;
      one.emplace(ex::detail::in_place{[&] { return ex::connect(limited(), receiver); }});
      two.emplace(ex::detail::in_place{[&] { return ex::connect(both(), receiver); }});
      three.emplace(ex::detail::in_place{[&] { return ex::connect(pause(), receiver); }});
      one->start();
      two->start();
      three->start();
      ctx.poll();
      CHECK(alive == 3);
    }
    CHECK(told.stops == 3);
    CHECK(alive == 0);
  }
}

CONFORMANCE_ON(beck::test::kernel,
               "the exception of a start is sent although a stop is on its way") {
  beck::io_context ctx(context_options());
  ex::inplace_stop_source source;
  completion_notes told;
  auto state = ex::connect(ex::as_sender(stopped_and_failed(source), ctx),
                           noting_receiver(told, source.get_token()));
  state.start();
  ctx.run();
  CHECK(told.errors == 1);
  CHECK(told.all() == 1);
  CHECK(told.exception == "no start");
}

CONFORMANCE("a sender of an operation without executor runs where it is started") {
  beck::io_context here(context_options()), there(context_options());
  completion_notes told;
  using sender = decltype(ex::as_sender(unbound()));
  std::optional<state_of<sender, noting_receiver>> state;
  std::optional<sender> made;
  beck::post(there, [&] { made.emplace(ex::as_sender(unbound())); });
  there.run();
  there.restart();
  state.emplace(
      ex::detail::in_place{[&] { return ex::connect(std::move(*made), noting_receiver(told)); }});
  beck::post(here, [&] { state->start(); });
  here.run();
  CHECK(told.values == 1);
}

CONFORMANCE("a sender of tasks that await tasks, deeper than the stack may be, ends in a handler") {
  beck::io_context ctx(context_options());
  completion_notes first, second;
  auto one = ex::connect(ex::as_sender(as_deep_as(500), ctx), noting_receiver(first));
  auto two = ex::connect(ex::as_sender(as_deep_as(600), ctx), noting_receiver(second));
  beck::post(ctx, [&] {
    one.start();
    two.start();
  });
  ctx.run();
  CHECK(first.bytes == 500);
  CHECK(second.bytes == 600);
}

CONFORMANCE("a task that is started while its context is destroyed does not run, and is told") {
  completion_notes told;
  std::optional<state_of<starts_another::sender, noting_receiver>> next;
  std::optional<starts_another::sender> work;
  std::optional<state_of<decltype(ex::as_sender(std::declval<beck::task<>>(),
                                                std::declval<beck::io_context&>())),
                         starts_another>>
      state;
  {
    beck::io_context ctx(context_options());
    work.emplace(ex::as_sender(value_at_once(), beck::any_io_executor(ctx.get_executor())));
    state.emplace(ex::detail::in_place{[&] {
      return ex::connect(ex::as_sender(wait_long(ctx), ctx), starts_another{&told, &next, &*work});
    }});
    state->start();
    ctx.poll();
  }
  CHECK(told.stops == 2);
  CHECK(told.all() == 2);
}

CONFORMANCE("a pause that has ended is not interrupted by a stop") {
  beck::io_context ctx(context_options());
  ex::inplace_stop_source source;
  completion_notes told, first;
  const beck::time_point at = beck::steady_timer(ctx, 1ms).expiry();
  auto one = ex::connect(ex::scheduler_of(ctx).schedule_at(at), stops{&source});
  auto two =
      ex::connect(ex::as_sender(
                      [](beck::time_point until) -> beck::task<> {
                        beck::ignore(co_await beck::detail::pause_operation(
                            beck::detail::time_limit(until, beck::detail::stop_reason::stop)));
                      }(at),
                      ctx),
                  noting_receiver(told, source.get_token()));
  one.start();
  two.start();
  ctx.run();
  CHECK(told.values == 1);
  CHECK(told.stops == 0);
}

CONFORMANCE_ON(beck::test::kernel, "a task on a pool awaits a point in time of a context") {
  beck::io_context ctx(context_options());
  beck::thread_pool pool(1);
  auto guard = beck::make_work_guard(ctx);
  beck::error_code ended = beck::error::operation_aborted;
  beck::co_spawn(
      pool,
      [&]() -> beck::task<> {
        const auto pause = co_await ex::from_sender(ex::scheduler_of(ctx).schedule_after(1ms));
        ended = pause.error();
        guard.reset();
      },
      beck::detached);
  ctx.run();
  pool.join();
  CHECK_FALSE(ended);
}

CONFORMANCE_ON(beck::test::kernel, "a loop of senders that a task awaits stays on its strand") {
  beck::thread_pool pool(2);
  auto strand = beck::make_strand(pool);
  int rounds = 1000;
  int outside = 0;
  beck::co_spawn(
      strand,
      [&]() -> beck::task<> {
        co_await ex::from_sender(ex::repeat_until(here_sender{strand, &rounds, &outside}));
      },
      beck::detached);
  pool.join();
  CHECK(rounds == 0);
  CHECK(outside == 0);
}
