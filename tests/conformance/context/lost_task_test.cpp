// SPDX-License-Identifier: BSL-1.0
//
// The line in the log about tasks that wait for nothing: when run() ends, and when a context is
// destroyed.
#include <beck/coro/event.hpp>
#include <beck/coro/mutex.hpp>
#include <beck/coro/task_group.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/coro/within.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/sync_wait.hpp>
#include <beck/run/strand.hpp>
#include <chrono>
#include <coroutine>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/context_options.hpp"
#include "support/dump_text.hpp"

using namespace std::chrono_literals;
using beck::test::line_of;

namespace {

/// A context, and the lines of its log.
class logged {
 public:
  logged() : ctx(std::in_place, context_options()) {
    ctx->on_log(
        [](const char* line, void* self) { static_cast<logged*>(self)->lines.emplace_back(line); },
        this);
  }
  /// The number of lines with all of these texts.
  template <class... Parts>
  int count(const Parts&... parts) const {
    int found = 0;
    for (const std::string& line : lines) {
      if (((line.find(parts) != std::string::npos) && ...)) ++found;
    }
    return found;
  }

  std::vector<std::string> lines;
  std::optional<beck::io_context> ctx;
};

beck::task<> wait_for(beck::manual_reset_event& event) { beck::ignore(co_await event.wait()); }

// As a coroutine that g++ 12 has miscompiled: it does nothing when it is resumed.
constexpr unsigned lose_line = __LINE__ + 2;
beck::task<> lose(beck::io_context& ctx) {
  co_await beck::post(ctx);
  co_await std::suspend_always();
}

beck::task<> lose_a_branch(beck::io_context& ctx, beck::manual_reset_event& event) {
  beck::ignore(co_await beck::when_all(wait_for(event), lose(ctx)));
}

std::string spawned(unsigned line) { return "spawned at " + line_of(line) + " in "; }
const std::string lost_in_lose = "suspended at " + line_of(lose_line) +
                                 " in lose; it awaits something of another library, or g++ 12";

}  // namespace

CONFORMANCE("a run() that ends with a lost task says where the task was spawned and suspended") {
  logged log;
  const unsigned spawn_line = __LINE__ + 1;
  beck::co_spawn(*log.ctx, lose(*log.ctx), beck::detached);
  CHECK(log.ctx->poll() > 0);
  CHECK(log.lines.empty());  // a program that polls may resume it in between
  log.ctx->restart();
  log.ctx->run();
  CHECK(log.lines.size() == 1);
  CHECK(log.count("run() has ended with 1 task that waits for nothing that the context knows of: " +
                      spawned(spawn_line),
                  lost_in_lose, "docs/coroutines.md") == 1);
  log.ctx->restart();
  log.ctx->run();
  log.ctx.reset();
  CHECK(log.lines.size() == 1);  // once for each context
}

CONFORMANCE("a lost branch of a task is found") {
  logged log;
  beck::manual_reset_event event;
  beck::co_spawn(*log.ctx, lose_a_branch(*log.ctx, event), beck::detached);
  log.ctx->poll();
  CHECK(log.lines.empty());  // there is work: the other branch waits
  event.set();
  log.ctx->run();
  CHECK(log.count("run() has ended with 1 task that waits for nothing that the context knows of: ",
                  lost_in_lose) == 1);
}

CONFORMANCE("a run() that ends finds lost tasks that were stopped, too") {
  logged log;
  const auto limited = [&]() -> beck::task<> {
    beck::ignore(co_await beck::timeout(lose(*log.ctx), 1ms));
  };
  beck::co_spawn(*log.ctx, limited, beck::detached);
  log.ctx->run();
  CHECK(log.count("run() has ended with 1 task ", "in lose; it awaits") == 1);
}

CONFORMANCE("a context that is destroyed with lost tasks says where one was spawned") {
  logged log;
  std::optional<beck::steady_timer> timer(std::in_place, *log.ctx, 1h);
  const auto wait = [&]() -> beck::task<> { beck::ignore(co_await timer->async_wait()); };
  beck::co_spawn(*log.ctx, wait, beck::detached);
  const unsigned spawn_line = __LINE__ + 1;
  beck::co_spawn(*log.ctx, lose(*log.ctx), beck::detached);
  log.ctx->poll();
  beck::co_spawn(*log.ctx, lose(*log.ctx), beck::detached);
  log.ctx->poll();
  timer.reset();
  log.ctx->poll();  // the end of the wait would still be queued
  CHECK(log.lines.empty());
  log.ctx.reset();
  CHECK(log.lines.size() == 1);
  CHECK(log.count("io_context destroyed with 2 tasks that wait for nothing that the context knows "
                  "of, one of them: " +
                      spawned(spawn_line),
                  lost_in_lose) == 1);
}

CONFORMANCE("a lost task that has awaited nothing of the library has no place but its spawn") {
  logged log;
  const auto foreign = []() -> beck::task<> { co_await std::suspend_always(); };
  const unsigned spawn_line = __LINE__ + 1;
  beck::co_spawn(*log.ctx, foreign, beck::detached);
  log.ctx->run();
  CHECK(log.count(spawned(spawn_line), "; it awaits") == 1);
  CHECK(log.count("suspended at") == 0);
}

CONFORMANCE("runs and contexts that end with tasks that wait, or without tasks, say nothing") {
  logged log;
  beck::manual_reset_event set, never;
  set.set();
  beck::co_spawn(*log.ctx, wait_for(set), beck::detached);
  log.ctx->run();
  log.ctx->restart();
  std::optional<beck::steady_timer> timer(std::in_place, *log.ctx, 1h);
  const auto waits = [&]() -> beck::task<> { beck::ignore(co_await timer->async_wait()); };
  const auto strand = beck::make_strand(*log.ctx);
  const auto busy = [](beck::any_io_executor on) -> beck::task<> {
    for (;;) co_await beck::post(on);
  };
  beck::co_spawn(*log.ctx, waits, beck::detached);
  beck::co_spawn(*log.ctx, wait_for(never), beck::detached);
  beck::co_spawn(strand, wait_for(never), beck::detached);
  log.ctx->poll();
  beck::co_spawn(*log.ctx, busy(log.ctx->get_executor()), beck::detached);
  beck::co_spawn(strand, busy(strand), beck::detached);
  for (int i = 0; i < 3; ++i) log.ctx->poll_one();
  beck::co_spawn(*log.ctx, lose(*log.ctx), beck::detached);  // it never starts
  beck::post(*log.ctx, [&] { log.ctx->stop(); });
  log.ctx->run();
  timer.reset();
  log.ctx.reset();
  CHECK(log.lines.empty());
}

CONFORMANCE("tasks that are queued when their context is destroyed are not lost") {
  logged log;
  const auto parent = [&]() -> beck::task<> {
    co_await beck::task_group::run([&](beck::task_group& group) -> beck::task<> {
      group.spawn(lose(*log.ctx));  // it has no time to start
      log.ctx->stop();
      co_return;
    });
  };
  beck::co_spawn(*log.ctx, parent, beck::detached);
  log.ctx->run();
  log.ctx.reset();
  CHECK(log.lines.empty());
}

CONFORMANCE("a task whose operation has ended at once, without budget, is not lost") {
  logged log;
  beck::mutex free;
  const auto locks = [&]() -> beck::task<> {
    beck::steady_timer timer(*log.ctx, 1h);
    beck::ignore(co_await beck::timeout(timer.async_wait(), 1ms));
    beck::post(*log.ctx, [&] { log.ctx->stop(); });
    const auto locked = co_await free.scoped_lock();  // behind the end of a limit
    CHECK(locked.error());
  };
  beck::co_spawn(*log.ctx, locks, beck::detached);
  log.ctx->run();
  log.ctx.reset();
  CHECK(log.lines.empty());
}

CONFORMANCE("a task that is stopped when its context is destroyed is not lost") {
  logged log;
  beck::stop_source stop;
  std::optional<beck::steady_timer> timer(std::in_place, *log.ctx, 1h);
  const auto stopped = [&]() -> beck::task<> {
    beck::ignore(co_await beck::with_stop(stop.get_token(), timer->async_wait()));
  };
  beck::co_spawn(*log.ctx, stopped, beck::detached);
  log.ctx->poll();
  beck::post(*log.ctx, [&] {
    stop.request_stop();
    beck::post(*log.ctx, [&] { log.ctx->stop(); });  // the end of the wait is queued behind this
  });
  log.ctx->restart();
  log.ctx->run();
  timer.reset();
  log.ctx.reset();
  CHECK(log.lines.empty());
}

CONFORMANCE("a task that another thread has resumed is not lost") {
  logged log;
  beck::io_context other(context_options());
  const auto elsewhere = [&]() -> beck::task<> { co_await beck::post(other); };
  beck::co_spawn(*log.ctx, elsewhere, beck::detached);
  log.ctx->poll();
  std::thread([&] { other.poll(); }).join();
  log.ctx.reset();
  CHECK(log.lines.empty());
}

CONFORMANCE("sync_wait() of a lost task throws, and the log says where the task is suspended") {
  logged log;
  CHECK_THROWS_AS(beck::sync_wait(*log.ctx, lose(*log.ctx)), std::logic_error);
  CHECK(log.count("run() has ended with 1 task that waits for nothing that the context knows of: ",
                  lost_in_lose) == 1);
}
