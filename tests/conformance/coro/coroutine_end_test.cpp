// SPDX-License-Identifier: BSL-1.0
//
// Tasks that are suspended when their context goes: each frame is destroyed once, the newest tree
// first, each tree from the inside out, whatever the frames hold and do meanwhile.
#include <array>
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "support/context_options.hpp"
#include "support/stream_pair.hpp"
#include "support/witness.hpp"

using namespace std::chrono_literals;
using beck::test::stream_pair;
using beck::test::witness;

CONFORMANCE("a context destroys its suspended tasks, the newest first") {
  std::vector<std::string> log;
  {
    beck::io_context ctx(context_options());
    auto work = [&](std::string name) -> beck::task<> {
      const witness local(log, name);
      beck::steady_timer timer(ctx, 1h);
      beck::ignore(co_await timer.async_wait());
      log.push_back("not reached");
    };
    for (const char* name : {"a", "b", "c"}) beck::co_spawn(ctx, work(name), beck::detached);
    CHECK(ctx.poll() == 3);
    CHECK(log.empty());
  }
  CHECK(log == std::vector<std::string>{"c", "b", "a"});
}

CONFORMANCE("a context destroys tasks that never started, and nested ones from the inside out") {
  std::vector<std::string> log;
  {
    beck::io_context ctx(context_options());
    stream_pair pair(ctx);
    static char space[1];
    auto inner = [&]() -> beck::task<> {
      const witness local(log, "inner");
      beck::ignore(co_await pair.a.async_read_some(beck::buffer(space)));
    };
    auto outer = [&]() -> beck::task<> {
      const witness local(log, "outer");
      co_await inner();
    };
    beck::co_spawn(ctx, outer, beck::detached);
    CHECK(ctx.poll() == 1);
    auto never = [&](witness) -> beck::task<> { co_return; };
    beck::co_spawn(ctx, never(witness(log, "never started")), beck::detached);
  }
  CHECK(log == std::vector<std::string>{"never started", "inner", "outer"});
}

CONFORMANCE("tasks with their sockets and timers inside end with their context") {
  std::vector<std::string> log;
  {
    beck::io_context ctx(context_options());
    auto session = [&](int i) -> beck::task<> {
      const witness first(log, "session");
      stream_pair pair(ctx);
      beck::steady_timer timer(ctx, 1h);
      std::array<char, 100> space{};
      std::string large(4 << 20, 'x');
      const witness last(log, "frame");
      timer.async_wait([kept = std::make_unique<int>(i)](beck::error_code) {});
      if (i % 3 == 0) beck::ignore(co_await timer.async_wait());
      if (i % 3 == 1) beck::ignore(co_await pair.a.async_read_some(beck::buffer(space)));
      if (i % 3 == 2) beck::ignore(co_await beck::async_write(pair.a, beck::buffer(large)));
    };
    for (int i = 0; i < 9; ++i) beck::co_spawn(ctx, session(i), beck::detached);
    ctx.run_for(1ms);
    CHECK(log.empty());
  }
  CHECK(log.size() == 18);
}

CONFORMANCE("a task that is being destroyed with its context may spawn and post in vain") {
  int destroyed = 0;
  {
    beck::io_context ctx(context_options());
    struct last_words {
      beck::io_context& ctx;
      int& destroyed;
      ~last_words() {
        ++destroyed;
        beck::post(ctx, [] { FAIL("ran"); });
        beck::co_spawn(
            ctx,
            []() -> beck::task<> {
              FAIL("ran");
              co_return;
            },
            beck::detached);
      }
    };
    auto work = [&]() -> beck::task<> {
      const last_words words{ctx, destroyed};
      beck::steady_timer timer(ctx, 1h);
      beck::ignore(co_await timer.async_wait());
    };
    for (int i = 0; i < 3; ++i) beck::co_spawn(ctx, work, beck::detached);
    ctx.poll();
  }
  CHECK(destroyed == 3);
}
