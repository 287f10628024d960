// SPDX-License-Identifier: BSL-1.0
// Work guards count once, wherever they are moved to; tests/conformance has what run() makes of
// them.
#include <doctest/doctest.h>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/work_guard.hpp>
#include <utility>

#include "support/manual_executor.hpp"

using beck::test::manual_queue;

TEST_CASE("a work guard counts once until it is reset, and resetting again changes nothing") {
  manual_queue queue;
  auto guard = beck::make_work_guard(beck::any_io_executor(queue.executor()));
  CHECK(guard.owns_work());
  CHECK(queue.work() == 1);
  guard.reset();
  guard.reset();
  CHECK_FALSE(guard.owns_work());
  CHECK(queue.work() == 0);
}

TEST_CASE("a copied work guard counts for itself and a moved one takes the count along") {
  manual_queue queue;
  {
    auto first = beck::make_work_guard(beck::any_io_executor(queue.executor()));
    const auto copy(first);
    CHECK(queue.work() == 2);
    const auto moved(std::move(first));
    CHECK(queue.work() == 2);
    CHECK(moved.owns_work());
    CHECK_FALSE(first.owns_work());
    const auto copy_of_moved_from(first);
    CHECK(queue.work() == 2);
  }
  CHECK(queue.work() == 0);
}

TEST_CASE("a guard for a context has the context's own executor type") {
  beck::io_context context;
  const auto guard = beck::make_work_guard(context);
  static_assert(std::is_same_v<decltype(guard.get_executor()), beck::io_context::executor_type>);
  CHECK(guard.get_executor() == context.get_executor());
}

TEST_CASE("a guard for a handler counts on its executor, else on the one that is given") {
  manual_queue own;
  manual_queue other;
  const auto plain = [] {};
  const auto bound = beck::bind_executor(beck::any_io_executor(own.executor()), plain);
  {
    const auto guard = beck::make_work_guard(bound);
    CHECK(own.work() == 1);
    const auto same = beck::make_work_guard(bound, beck::any_io_executor(other.executor()));
    CHECK(own.work() == 2);
    CHECK(other.work() == 0);
    const auto fallback = beck::make_work_guard(plain, beck::any_io_executor(other.executor()));
    CHECK(other.work() == 1);
  }
  CHECK(own.work() == 0);
  CHECK(other.work() == 0);
  auto nothing = beck::make_work_guard(plain);  // no executor: nothing to count
  const auto copy(nothing);
  nothing.reset();
  CHECK(copy.owns_work());
}

TEST_CASE("a guard for an object has the object's executor, with a fallback too") {
  beck::io_context context;
  beck::steady_timer timer(context);
  const auto guard = beck::make_work_guard(timer);
  CHECK(guard.get_executor() == beck::any_io_executor(context.get_executor()));
  const auto plain = [] {};
  const auto through = beck::make_work_guard(plain, context);
  CHECK(through.get_executor() == context.get_executor());
}
