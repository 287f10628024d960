// SPDX-License-Identifier: BSL-1.0
// Parallel groups of a program's own operations: where they complete, and the requests that reach
// them.
#include <doctest/doctest.h>
#include <beck/interop/parallel_group.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/deferred.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "interop/group_operations.hpp"
#include "support/handlers.hpp"

using beck::cancellation_type;
using beck::error_code;
using beck::make_parallel_group;
using beck::test::at_once;
using beck::test::handler_life;
using beck::test::tracked;
using order_of_two = std::array<std::size_t, 2>;

TEST_CASE(
    "an operation of a program's own has the executor of the I/O object among its arguments") {
  beck::io_context context;
  beck::steady_timer timer(context, std::chrono::nanoseconds(0));
  handler_life life;
  const auto wait = [](auto done, int, auto object) { object->async_wait(std::move(done)); };
  const auto start = [&life](auto operation) {
    make_parallel_group(std::move(operation), at_once(1))
        .async_wait(beck::wait_for_all(), tracked(life, [](order_of_two, error_code, int) {}));
  };
  using signature = void(error_code);
  SUBCASE("pointer") {
    start(beck::async_initiate<const beck::deferred_t, signature>(wait, beck::deferred, 0, &timer));
  }
  SUBCASE("shared pointer") {
    start(beck::async_initiate<const beck::deferred_t, signature>(
        wait, beck::deferred, 0, std::shared_ptr<beck::steady_timer>(&timer, [](auto*) {})));
  }
  SUBCASE("reference") {
    const auto wait_for_reference = [](auto done, std::reference_wrapper<beck::steady_timer> t) {
      t.get().async_wait(std::move(done));
    };
    start(beck::async_initiate<const beck::deferred_t, signature>(wait_for_reference,
                                                                  beck::deferred, std::ref(timer)));
  }
  SUBCASE("behind a null pointer") {
    const auto wait_for_second = [](auto done, beck::steady_timer*, beck::steady_timer* second) {
      second->async_wait(std::move(done));
    };
    start(beck::async_initiate<const beck::deferred_t, signature>(
        wait_for_second, beck::deferred, static_cast<beck::steady_timer*>(nullptr), &timer));
  }
  context.run();
  CHECK(life.calls == 1);
}

TEST_CASE("a weaker request from outside does not keep the condition's from the others") {
  beck::io_context context;
  beck::cancellation_signal signal;
  std::string asked;
  const auto ends_on = [&](cancellation_type type) {
    return beck::async_initiate<const beck::deferred_t, void(error_code)>(
        [&asked, &context, type](auto done) {
          auto kept = std::make_shared<decltype(done)>(std::move(done));
          beck::get_associated_cancellation_slot(*kept).assign(
              [&asked, &context, type, kept](cancellation_type request) {
                asked += type == cancellation_type::partial ? "p" : "t";
                if (!(request & type)) return;
                beck::post(context, [kept] { std::move (*kept)(beck::error::operation_aborted); });
              });
        },
        beck::deferred);
  };
  handler_life life;
  make_parallel_group(ends_on(cancellation_type::partial), ends_on(cancellation_type::terminal),
                      ends_on(cancellation_type::terminal))
      .async_wait(beck::wait_for_one(),
                  beck::bind_cancellation_slot(
                      signal.slot(),
                      beck::bind_executor(context, tracked(life, [](auto, error_code, error_code,
                                                                    error_code) {}))));
  context.poll();
  signal.emit(cancellation_type::partial);
  CHECK(asked == "ptt");
  context.restart();
  context.run();
  CHECK(asked == "ptttt");
  CHECK(life.calls == 1);
}
