// SPDX-License-Identifier: BSL-1.0
// Composed operations and cancellation_state: which requests reach the steps.
#include <doctest/doctest.h>

#include <string>
#include <utility>

#include <asio.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace {

using asio::cancellation_type;

/// Waits for a timer, under a filter of requests, and completes with what it was asked.
template <class... Filters>
struct timer_steps {
  asio::steady_timer* timer;
  std::tuple<Filters...> filters;

  template <class Self>
  void operator()(Self& self) {
    if constexpr (sizeof...(Filters) > 0) {
      std::apply([&](auto... each) { self.reset_cancellation_state(each...); }, filters);
    }
    timer->async_wait(std::move(self));
  }
  template <class Self>
  void operator()(Self& self, asio::error_code ec) {
    CHECK(self.cancelled() == self.get_cancellation_state().cancelled());
    self.complete(ec, static_cast<int>(self.cancelled()));
  }
};

/// Returns how a wait under `filters` ends that gets requests of both types.
template <class... Filters>
std::string outcome(cancellation_type one, cancellation_type other, Filters... filters) {
  asio::io_context context(context_options());
  asio::steady_timer timer(context, asio::chrono::milliseconds(5));
  asio::cancellation_signal signal;
  std::string result;
  const auto done = [&](asio::error_code ec, int asked) {
    result =
        (ec == asio::error::operation_aborted ? "aborted " : "waited ") + std::to_string(asked);
  };
  auto token = asio::bind_cancellation_slot(signal.slot(), done);
  asio::async_compose<decltype(token), void(asio::error_code, int)>(
      timer_steps<Filters...>{&timer, {filters...}}, token, timer);
  signal.emit(one);
  signal.emit(other);
  context.run();
  return result;
}

}  // namespace

CONFORMANCE_ON(::beck::test::kernel, "steps of async_compose get the requests that it accepts") {
  using enum cancellation_type;
  CHECK(outcome(total, partial) == "waited 0");
  CHECK(outcome(total, terminal) == "aborted 1");
  CHECK(outcome(terminal, total, asio::disable_cancellation()) == "waited 0");
  CHECK(outcome(total, none, asio::enable_partial_cancellation()) == "waited 0");
  CHECK(outcome(partial, none, asio::enable_partial_cancellation()) == "aborted 2");
  CHECK(outcome(total, none, asio::enable_total_cancellation()) == "aborted 4");
  CHECK(outcome(total, partial, asio::enable_total_cancellation(), asio::disable_cancellation()) ==
        "waited 6");
  const auto as_terminal = [](cancellation_type type) { return !type ? none : terminal; };
  CHECK(outcome(total, none, as_terminal) == "aborted 1");
  CHECK(outcome(all, none) == "aborted 1");  // the part that the filter names
}

CONFORMANCE_ON(::beck::test::kernel, "async_compose in a coroutine ends with it") {
  asio::io_context context(context_options());
  asio::steady_timer timer(context, asio::chrono::hours(1));
  asio::cancellation_signal signal;
  asio::error_code thrown;
  const timer_steps<> steps = {&timer, {}};
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        try {
          co_await asio::async_compose<const asio::use_awaitable_t<>, void(asio::error_code, int)>(
              steps, asio::use_awaitable, timer);
        } catch (const asio::system_error& e) {
          thrown = e.code();
        }
      },
      asio::bind_cancellation_slot(signal.slot(), asio::detached));
  asio::post(context, [&] { signal.emit(cancellation_type::terminal); });
  context.run();
  CHECK(thrown == asio::error::operation_aborted);
}

TEST_CASE("cancellation_state remembers and passes on what its filters return") {
  asio::cancellation_signal outer;
  asio::cancellation_state state(outer.slot(), asio::enable_total_cancellation(),
                                 asio::enable_terminal_cancellation());
  int passed = 0;
  state.slot().assign([&](cancellation_type type) { passed += static_cast<int>(type); });
  outer.emit(cancellation_type::partial);
  CHECK(passed == 0);
  CHECK(state.cancelled() == cancellation_type::partial);
  outer.emit(cancellation_type::terminal);
  CHECK(passed == 1);
  state.clear(cancellation_type::partial);
  CHECK(state.cancelled() == cancellation_type::terminal);
  CHECK(asio::cancellation_state().cancelled() == cancellation_type::none);
}
