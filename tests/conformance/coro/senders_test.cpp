// SPDX-License-Identifier: BSL-1.0
//
// Operations, tasks and executors as senders, without a library of senders: how they complete,
// where, how they are stopped, and what a context that is destroyed does with them.
#include <array>
#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/interop/execution.hpp>
#include <beck/run/strand.hpp>
#include <beck/run/thread_pool.hpp>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
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
using beck::test::steadfast;
using beck::test::stream_pair;

namespace {

beck::task<int> sum(beck::io_context& ctx, int a, int b) {
  co_await beck::post(ctx);
  co_return a + b;
}
beck::task<> wait_long(beck::io_context& ctx) { co_await beck::test::pause(ctx, 24h); }
beck::task<int> throws_something(beck::io_context& ctx) {
  co_await beck::post(ctx);
  throw std::runtime_error("something");
}

/// Takes a whole result, and no error.
struct takes_result {
  using receiver_concept = ex::receiver_tag;
  completion_notes* told;
  void set_value(beck::io_result<std::size_t> whole) noexcept {
    ++told->values;
    told->bytes = *whole;
    told->error = whole.error();
  }
  void set_stopped() noexcept { ++told->stops; }
};

template <class Sender, class Completion>
concept says_where =
    requires(const Sender& s) { s.get_env().query(ex::get_completion_scheduler_t<Completion>()); };
using read_sender = decltype(ex::as_sender(
    std::declval<beck::test::stream_socket&>().async_read_some(beck::mutable_buffer())));
static_assert(says_where<read_sender, ex::set_value_t>);
static_assert(says_where<read_sender, ex::set_error_t>);
static_assert(!says_where<read_sender, ex::set_stopped_t>, "it may be inside start()");

/// A sender of another library that completes when a stop is requested, inside the request.
struct until_stopped {
  using sender_concept = ex::sender_tag;
  template <class Self, class... Env>
  static consteval auto get_completion_signatures() {
    return ex::completion_signatures<ex::set_value_t(), ex::set_stopped_t()>();
  }
  template <class Receiver>
  struct state {
    using operation_state_concept = ex::operation_state_tag;
    struct on_stop {
      state* self;
      void operator()() const noexcept {
        ++*self->stops;
        std::move(self->receiver).set_stopped();
      }
    };
    state(Receiver r, int* count) : receiver(std::move(r)), stops(count) {}
    state(state&&) = delete;
    void start() & noexcept {
      callback.emplace(receiver.get_env().query(ex::get_stop_token_t()), on_stop{this});
    }
    Receiver receiver;
    int* stops;
    std::optional<ex::stop_callback_for_t<ex::inplace_stop_token, on_stop>> callback;
  };
  template <class Receiver>
  state<Receiver> connect(Receiver r) && {
    return {std::move(r), stops};
  }
  int* stops;
};

}  // namespace

CONFORMANCE("the whole result of a read needs no receiver of errors") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 8> space{};
  completion_notes told;
  auto state = ex::connect(ex::as_result_sender(pair.b.async_read_some(beck::buffer(space))),
                           takes_result{&told});
  state.start();
  pair.a.close();
  ctx.run();
  CHECK(told.values == 1);
  CHECK(told.error == beck::error::eof);
}

CONFORMANCE("a task that is destroyed stops the sender that it awaits") {
  int stops = 0;
  bool went_on = false;
  {
    beck::io_context ctx(context_options());
    beck::co_spawn(
        ctx,
        [&]() -> beck::task<> {
          co_await ex::from_sender(until_stopped{&stops});
          went_on = true;
        },
        beck::detached);
    ctx.poll();
    CHECK(stops == 0);
  }
  CHECK(stops == 1);
  CHECK_FALSE(went_on);
}

CONFORMANCE("a read as a sender sends its bytes, its error, and the whole result if asked") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 8> space{};
  completion_notes bytes, end, whole;
  auto first = ex::connect(ex::as_sender(pair.b.async_read_some(beck::buffer(space))),
                           noting_receiver(bytes));
  first.start();
  CHECK(bytes.all() == 0);
  beck::async_write(pair.a, beck::buffer("abcde", 5), beck::detached);
  ctx.run();
  ctx.restart();
  CHECK(bytes.values == 1);
  CHECK(bytes.bytes == 5);

  auto third = ex::connect(ex::as_result_sender(beck::async_read(pair.b, beck::buffer(space))),
                           noting_receiver(whole));
  third.start();
  beck::async_write(pair.a, beck::buffer("xyz", 3),
                    [&](beck::error_code, std::size_t) { pair.a.close(); });
  ctx.run();
  ctx.restart();
  CHECK(whole.values == 1);
  CHECK(whole.bytes == 3);
  CHECK(whole.error == beck::error::eof);

  auto second =
      ex::connect(ex::as_sender(pair.b.async_read_some(beck::buffer(space))), noting_receiver(end));
  second.start();
  ctx.run();
  CHECK(end.errors == 1);
  CHECK(end.error == beck::error::eof);
}

CONFORMANCE("a task as a sender sends its value or its exception") {
  beck::io_context ctx(context_options());
  completion_notes value, exception;
  auto first = ex::connect(ex::as_sender(sum(ctx, 3, 4), ctx), noting_receiver(value));
  auto second = ex::connect(ex::as_sender(throws_something(ctx), ctx), noting_receiver(exception));
  first.start();
  second.start();
  ctx.run();
  CHECK(value.values == 1);
  CHECK(value.bytes == 7);
  CHECK(exception.errors == 1);
  CHECK(exception.exception == "something");
}

CONFORMANCE("a stop ends a read, a task and a pause, and not a result that is there") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 8> space{};
  ex::inplace_stop_source source;
  completion_notes read, task, pause, late, ready;
  auto one = ex::connect(ex::as_sender(pair.b.async_read_some(beck::buffer(space))),
                         noting_receiver(read, source.get_token()));
  auto two =
      ex::connect(ex::as_sender(wait_long(ctx), ctx), noting_receiver(task, source.get_token()));
  auto three = ex::connect(ex::scheduler_of(ctx).schedule_after(24h),
                           noting_receiver(pause, source.get_token()));
  one.start();
  two.start();
  three.start();
  ctx.poll();
  source.request_stop();
  ctx.run();
  ctx.restart();
  CHECK(read.stops == 1);
  CHECK(task.stops == 1);
  CHECK(pause.stops == 1);

  auto four = ex::connect(ex::as_sender(pair.b.async_read_some(beck::buffer(space))),
                          noting_receiver(late, source.get_token()));
  four.start();
  CHECK(late.stops == 1);

  ex::inplace_stop_source other;
  auto five = ex::connect(ex::as_sender(pair.b.async_read_some(beck::buffer(space))),
                          noting_receiver(ready, other.get_token()));
  beck::post(ctx, [&] {
    CHECK(pair.a.write_some(beck::buffer("abc", 3)) == 3);
    five.start();
  });
  beck::post(ctx, [&] { pair.b.cancel(); });
  ctx.run();
  CHECK(ready.all() == 1);
  CHECK(ready.stops == 0);
  other.request_stop();
  CHECK(ready.all() == 1);
}

CONFORMANCE("cancelling the object is an error and no stop") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 8> space{};
  ex::inplace_stop_source source;
  completion_notes told;
  auto state = ex::connect(ex::as_sender(pair.b.async_read_some(beck::buffer(space))),
                           noting_receiver(told, source.get_token()));
  state.start();
  beck::post(ctx, [&] { pair.b.cancel(); });
  ctx.run();
  CHECK(told.errors == 1);
  CHECK(told.error == beck::error::operation_aborted);
}

CONFORMANCE("schedule completes on its executor, and pauses at their time") {
  beck::io_context ctx(context_options());
  auto strand = beck::make_strand(ctx);
  completion_notes here, in_strand, paused;
  auto one = ex::connect(ex::scheduler_of(ctx).schedule(), noting_receiver(here));
  auto two = ex::connect(ex::scheduler_of(strand).schedule(), noting_receiver(in_strand));
  auto three = ex::connect(ex::scheduler_of(strand).schedule_after(1ms), noting_receiver(paused));
  one.start();
  two.start();
  three.start();
  CHECK(here.all() + in_strand.all() + paused.all() == 0);
  ctx.run();
  CHECK(here.values == 1);
  CHECK(in_strand.values == 1);
  CHECK(paused.values == 1);
  CHECK(ex::scheduler_of(ctx) == ex::scheduler_of(ctx));
  CHECK_FALSE(ex::scheduler_of(ctx) == ex::scheduler_of(strand));
}

CONFORMANCE_ON(beck::test::kernel, "a pause on a pool is an error: it has no clock") {
  beck::thread_pool pool(1);
  completion_notes told;
  auto state = ex::connect(ex::scheduler_of(pool).schedule_after(1ms), steadfast{&told});
  state.start();
  pool.join();
  CHECK(told.errors == 1);
}

CONFORMANCE(
    "a context that is destroyed stops its senders: waiting, queued, scheduled, and tasks") {
  std::array<completion_notes, 5> told;
  std::optional<state_of<decltype(ex::as_sender(std::declval<beck::test::stream_socket&>()
                                                    .async_read_some(beck::mutable_buffer()))),
                         noting_receiver>>
      read, queued;
  std::optional<state_of<decltype(ex::as_sender(std::declval<beck::task<>>(),
                                                std::declval<beck::io_context&>())),
                         noting_receiver>>
      task;
  std::optional<state_of<decltype(ex::scheduler_of(std::declval<beck::io_context&>()).schedule()),
                         noting_receiver>>
      scheduled;
  std::optional<
      state_of<decltype(ex::scheduler_of(std::declval<beck::io_context&>()).schedule_after(1ms)),
               noting_receiver>>
      paused;
  const auto make = [](auto& place, auto sender, noting_receiver r) {
    place.emplace(ex::detail::in_place{[&] { return ex::connect(std::move(sender), r); }});
    place->start();
  };
  std::array<char, 8> space{};
  ex::inplace_stop_source source;
  {
    beck::io_context ctx(context_options());
    stream_pair pair(ctx);
    make(read, ex::as_sender(pair.b.async_read_some(beck::buffer(space))),
         noting_receiver(told[0]));
    make(task, ex::as_sender(wait_long(ctx), ctx), noting_receiver(told[1], source.get_token()));
    make(paused, ex::scheduler_of(ctx).schedule_after(24h), noting_receiver(told[2]));
    ctx.poll();
    make(queued, ex::as_sender(pair.a.async_read_some(beck::buffer(space))),
         noting_receiver(told[3]));
    make(scheduled, ex::scheduler_of(ctx).schedule(), noting_receiver(told[4]));
    source.request_stop();
  }
  for (const completion_notes& each : told) {
    CHECK(each.stops == 1);
    CHECK(each.all() == 1);
  }
}

CONFORMANCE("a task awaits senders: ready ones, later ones, several values, errors and stops") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::test::run_task(ctx, [&]() -> beck::task<> {
    std::array<char, 8> space{};
    beck::ignore(co_await beck::async_write(pair.a, beck::buffer("abc", 3)));
    auto [ec, n] =
        co_await ex::from_sender(ex::as_sender(pair.b.async_read_some(beck::buffer(space))));
    CHECK_FALSE(ec);
    CHECK(n == 3);
    int left = 1;
    CHECK(co_await ex::from_sender(ready_sender{&left}));
    co_await ex::from_sender(ex::scheduler_of(ctx).schedule());
    const auto pause = co_await ex::from_sender(ex::scheduler_of(ctx).schedule_after(1ms));
    CHECK_FALSE(pause.error());
    CHECK(co_await ex::from_sender(ex::as_sender(sum(ctx, 1, 2), ctx)) == 3);
    pair.a.close();
    const auto [eof, none] =
        co_await ex::from_sender(ex::as_sender(pair.b.async_read_some(beck::buffer(space))));
    CHECK(eof == beck::error::eof);
    CHECK(none == 0);
  });
}

CONFORMANCE("an awaitable throws the error of a sender that it awaits") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::error_code thrown;
  beck::co_spawn(
      ctx,
      [&]() -> beck::awaitable<> {
        std::array<char, 8> space{};
        pair.a.close();
        try {
          co_await ex::from_sender(ex::as_sender(pair.b.async_read_some(beck::buffer(space))));
        } catch (const beck::io_error& e) {
          thrown = e.code();
        }
      },
      beck::detached);
  ctx.run();
  CHECK(thrown == beck::error::eof);
}

CONFORMANCE("a time limit around a sender that a task awaits ends it") {
  beck::io_context ctx(context_options());
  beck::test::run_task(ctx, [&]() -> beck::task<> {
    const auto [ec] =
        co_await beck::timeout(ex::from_sender(ex::scheduler_of(ctx).schedule_after(24h)), 1ms);
    CHECK(ec == beck::error::timeout);
  });
}

CONFORMANCE("sync_wait runs the context until a sender has completed") {
  beck::io_context ctx(context_options());
  CHECK(ex::sync_wait(ctx, ex::as_sender(sum(ctx, 20, 22), ctx)) == 42);
  CHECK_FALSE(ex::sync_wait(ctx, ex::scheduler_of(ctx).schedule_after(1ms)).error());
}

namespace {

/// A stop token of another library, which counts the callbacks that are registered.
struct counted_token {
  template <class F>
  struct callback_type {
    callback_type(counted_token token, F) : registered(token.registered) { ++*registered; }
    callback_type(const callback_type&) = delete;
    ~callback_type() { --*registered; }
    int* registered;
  };
  static bool stop_requested() noexcept { return false; }
  static bool stop_possible() noexcept { return true; }
  int* registered;
};
struct counted_env {
  counted_token token;
  auto query(ex::get_stop_token_t) const noexcept { return token; }
};
/// Notes how many callbacks are registered when it is told.
struct notes_registrations {
  using receiver_concept = ex::receiver_tag;
  counted_token token;
  int* seen;
  void set_value(auto&&...) noexcept { *seen = *token.registered; }
  void set_error(auto&&) noexcept { *seen = *token.registered; }
  void set_stopped() noexcept { *seen = *token.registered; }
  counted_env get_env() const noexcept { return {token}; }
};

/// Each level starts a sender inside the task of the level above.
beck::task<int> nested_senders(beck::io_context& ctx, int n) {
  if (n == 0) co_return 0;
  const int below = co_await ex::from_sender(ex::as_sender(nested_senders(ctx, n - 1), ctx));
  co_return below + 1;
}

}  // namespace

CONFORMANCE(
    "the stop callback is registered while the operation waits, and not in its completion") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 8> space{};
  int registered = 0, after_value = -1, after_error = -1;
  auto one = ex::connect(ex::as_sender(pair.b.async_read_some(beck::buffer(space))),
                         notes_registrations{{&registered}, &after_value});
  one.start();
  ctx.poll();
  CHECK(registered == 1);
  beck::async_write(pair.a, beck::buffer("x", 1), beck::detached);
  ctx.run();
  ctx.restart();
  CHECK(after_value == 0);
  auto two = ex::connect(ex::as_sender(throws_something(ctx), ctx),
                         notes_registrations{{&registered}, &after_error});
  two.start();
  ctx.run();
  CHECK(after_error == 0);
}

CONFORMANCE("senders inside the tasks of senders need no stack of their depth") {
  beck::io_context ctx(context_options());
  constexpr int levels = 100'000;
  completion_notes told;
  auto state = ex::connect(ex::as_sender(nested_senders(ctx, levels), ctx), noting_receiver(told));
  beck::post(ctx, [&] { state.start(); });
  ctx.run();
  CHECK(told.bytes == levels);
}

CONFORMANCE("the whole result of a read that is stopped after some bytes is a value") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 8> space{};
  ex::inplace_stop_source source;
  completion_notes told;
  auto state = ex::connect(ex::as_result_sender(beck::async_read(pair.b, beck::buffer(space))),
                           noting_receiver(told, source.get_token()));
  state.start();
  beck::test::run_task(ctx, [&]() -> beck::task<> {
    beck::ignore(co_await beck::async_write(pair.a, beck::buffer("abc", 3)));
    co_await beck::test::pause(ctx, 1ms);
    source.request_stop();
  });
  CHECK(told.values == 1);
  CHECK(told.stops == 0);
  CHECK(told.bytes == 3);
  CHECK(told.error == beck::error::operation_aborted);
}

CONFORMANCE("a sender that a stopped task awaits is stopped at once") {
  beck::io_context ctx(context_options());
  ex::inplace_stop_source source;
  int stops = 0;
  completion_notes told;
  const auto work = [&]() -> beck::task<> {
    source.request_stop();
    co_await ex::from_sender(until_stopped{&stops});
  };
  auto state = ex::connect(ex::as_sender(work(), ctx), noting_receiver(told, source.get_token()));
  state.start();
  ctx.run();
  CHECK(stops == 1);
  CHECK(told.stops == 1);
}

CONFORMANCE("schedule sends a stop that was requested before its turn") {
  beck::io_context ctx(context_options());
  ex::inplace_stop_source source;
  completion_notes told;
  auto state =
      ex::connect(ex::scheduler_of(ctx).schedule(), noting_receiver(told, source.get_token()));
  state.start();
  source.request_stop();
  ctx.run();
  CHECK(told.stops == 1);
  CHECK(told.all() == 1);
}
