// SPDX-License-Identifier: BSL-1.0
//
// Watched memory: what is counted, what is refused, and that nothing of it lasts.
#include <beck/testing/memory.hpp>

#include <doctest/doctest.h>

#include <beck/coro/co_spawn.hpp>
#include <beck/detail/block.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/post.hpp>
#include <new>

using beck::testing::watched_memory;

namespace {

beck::task<> wait_once(beck::io_context& ctx, int& ended) {
  beck::steady_timer timer(ctx, beck::duration(1000));
  beck::ignore(co_await timer.async_wait());
  ++ended;
}

}  // namespace

TEST_CASE("every block of the library is counted while it is in use") {
  beck::io_context ctx({.backend = beck::backend::sim});
  watched_memory memory;
  CHECK(memory.allocations() == 0);
  int calls = 0;
  beck::post(ctx, [&calls] { ++calls; });
  CHECK(memory.allocations() == 1);
  const std::size_t one = memory.bytes_in_use();
  CHECK(one >= 64);
  beck::post(ctx, [&calls] { ++calls; });
  CHECK(memory.bytes_in_use() == 2 * one);
  ctx.run();
  CHECK(calls == 2);
  CHECK(memory.bytes_in_use() == 0);
  CHECK(memory.bytes_max() == 2 * one);
  CHECK(memory.refused() == 0);
}

TEST_CASE("the n-th allocation is refused, nothing has happened then, and the next one is given") {
  beck::io_context ctx({.backend = beck::backend::sim});
  watched_memory memory;
  int ended = 0;
  for (std::uint64_t n = 1; memory.refused() == n - 1; ++n) {
    REQUIRE(n < 20);  // a task and its timer do not take more
    memory.fail_after(n);
    try {
      beck::co_spawn(ctx, wait_once(ctx, ended), beck::detached);
    } catch (const std::bad_alloc&) {
      CHECK(memory.bytes_in_use() == 0);
      continue;
    }
    break;
  }
  CHECK(memory.refused() >= 2);  // the frame, and what holds it
  memory.fail_after(0);
  ctx.run();
  CHECK(ended == 1);
  CHECK(memory.bytes_in_use() == 0);
}

TEST_CASE("blocks may outlive a watch, and may be older than it") {
  void* const older = beck::detail::allocate_block(100);
  void* younger = nullptr;
  {
    watched_memory memory;
    younger = beck::detail::allocate_block(100);
    beck::detail::free_block(older);
    CHECK(memory.bytes_in_use() == 128);
  }
  {
    const watched_memory memory;
    beck::detail::free_block(younger);
    CHECK(memory.bytes_in_use() == 0);
  }
  const std::uint64_t misses = beck::detail::block_misses();
  beck::detail::free_block(beck::detail::allocate_block(100));
  beck::detail::free_block(beck::detail::allocate_block(100));
  CHECK(beck::detail::block_misses() <= misses + 1);  // recycled as before
}
