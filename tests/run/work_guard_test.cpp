// SPDX-License-Identifier: BSL-1.0
// Work guards count once, wherever they are moved to; tests/conformance has what run() makes of
// them.
#include <doctest/doctest.h>
#include <beck/io/io_context.hpp>
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
