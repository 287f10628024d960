// SPDX-License-Identifier: BSL-1.0
// Running a context until something has happened, with a limit: a case then fails instead of
// hanging.
#pragma once

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <utility>

#include "support/conformance.hpp"

namespace beck::redis::test {

/// Runs handlers until `done()` returns true. Returns false if it does not within `limit`, or in an
/// hour of a simulated world.
template <class Done>
bool run_until(io_context& ctx, duration limit, Done done) {
  const bool is_real = beck::test::current_backend() != beck::test::on_sim;
  steady_timer timer(ctx, is_real ? limit : duration(3'600'000'000'000));
  bool is_late = false;
  timer.async_wait([&](const error_code& ec) { is_late = !ec; });
  ctx.restart();
  while (!done() && !is_late) ctx.run_one();
  timer.cancel();
  ctx.poll();
  return !is_late;
}

/// Starts a task and runs until it has ended.
inline void run_to_end(io_context& ctx, duration limit, task<> work) {
  bool has_ended = false;
  co_spawn(ctx, std::move(work), [&](std::exception_ptr failed) {
    CHECK(!failed);
    has_ended = true;
  });
  REQUIRE(run_until(ctx, limit, [&] { return has_ended; }));
}

}  // namespace beck::redis::test
