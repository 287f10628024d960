// SPDX-License-Identifier: BSL-1.0
// Executor properties: what require and prefer change, and what they refuse and ignore.
#include <doctest/doctest.h>
#include <beck/io/io_context.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/properties.hpp>
#include <beck/run/strand.hpp>
#include <beck/run/thread_pool.hpp>
#include <optional>
#include <type_traits>
#include <utility>

namespace execution = beck::execution;
using beck::prefer;
using beck::require;

namespace {
using executor_type = beck::io_context::executor_type;
struct unknown_property {};
}  // namespace

static_assert(beck::can_require_v<executor_type, execution::blocking_t::never_t>);
static_assert(beck::can_require_v<beck::any_io_executor, execution::outstanding_work_t::tracked_t>);
static_assert(!beck::can_require_v<executor_type, execution::blocking_t::always_t>);
static_assert(!beck::can_require_v<executor_type, unknown_property>);
static_assert(std::is_same_v<decltype(require(std::declval<executor_type>(),
                                              execution::relationship.continuation)),
                             executor_type>);

TEST_CASE("blocking.never posts where the executor alone would run at once") {
  beck::io_context context;
  int inside = 0;
  int later = 0;
  bool returned = false;
  beck::post(context, [&] {
    const auto executor = context.get_executor();
    const auto never = require(executor, execution::blocking.never);
    never.execute([&] { later += returned; });
    beck::any_io_executor(never).execute([&] { later += returned; });
    beck::dispatch(never, [&] { later += returned; });
    const auto again = require(never, execution::blocking.possibly);
    again.execute([&] { inside += !returned; });
    returned = true;
    beck::post(context, [&] { CHECK(later == 3); });  // behind them
  });
  context.run();
  CHECK(inside == 1);
  CHECK(later == 3);
}

TEST_CASE(
    "outstanding_work.tracked keeps run from returning, in every copy and behind any_io_executor") {
  beck::io_context context;
  std::optional<beck::any_io_executor> kept;
  {
    auto tracked = prefer(context.get_executor(), execution::outstanding_work.tracked);
    const auto copy = tracked;
    auto moved = std::move(tracked);
    kept = moved;
    CHECK(copy == moved);
  }
  CHECK(context.poll() == 0);
  CHECK_FALSE(context.stopped());
  kept.reset();
  CHECK(context.run() == 0);
  CHECK(context.stopped());
  context.restart();
  auto tracked = require(context.get_executor(), execution::outstanding_work.tracked);
  const auto plain = require(tracked, execution::outstanding_work.untracked);
  tracked = require(context.get_executor(), execution::outstanding_work.tracked);
  CHECK_FALSE(context.poll() != 0);
  CHECK_FALSE(context.stopped());
  static_assert(std::is_same_v<std::decay_t<decltype(plain)>, beck::any_io_executor>);
}

TEST_CASE("several properties at once, over strands and pools, in any order") {
  beck::io_context context;
  auto strand = beck::make_strand(context);
  const auto both = require(strand, execution::blocking.never, execution::relationship.continuation,
                            execution::outstanding_work.tracked);
  static_assert(beck::detail::never_blocks<std::decay_t<decltype(both)>>);
  static_assert(beck::detail::tracks_work<std::decay_t<decltype(both)>>);
  const auto other = prefer(strand, execution::outstanding_work.tracked, execution::blocking.always,
                            unknown_property(), execution::blocking.never);
  CHECK(both == other);
  bool in_strand = false;
  both.execute([&] { in_strand = strand.running_in_this_thread(); });
  context.poll();
  CHECK(in_strand);
  CHECK(&beck::query(both, execution::context) == &context);
  CHECK(&beck::query(context.get_executor(), execution::context) == &context);
}

TEST_CASE("a preferred property that nobody offers leaves the executor as it is") {
  beck::thread_pool pool(1);
  const auto same = prefer(pool.get_executor(), execution::blocking.always);
  CHECK(same == pool.get_executor());
  pool.join();
}
