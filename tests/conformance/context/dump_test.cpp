// SPDX-License-Identifier: BSL-1.0
//
// io_context::dump(): which tasks it shows, where it says that they stand, and from where it may be
// asked for. What is waited for has its names checked in dump_names_test.cpp.
#include <unistd.h>
#include <atomic>
#include <beck/coro/event.hpp>
#include <beck/coro/task_group.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/io/sync_wait.hpp>
#include <beck/run/strand.hpp>
#include <chrono>
#include <iterator>
#include <memory>
#include <new>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/allocations.hpp"
#include "support/context_options.hpp"
#include "support/dump_text.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::test::dump_of;
using beck::test::line_of;
using beck::test::stream_pair;

namespace {

constexpr unsigned wait_line = __LINE__ + 1;
beck::task<> wait_for(beck::manual_reset_event& event) { beck::ignore(co_await event.wait()); }
const std::string in_wait_for = "    " + line_of(wait_line) + " in wait_for\n";

constexpr unsigned nest_line = __LINE__ + 3;
beck::task<> nest(beck::manual_reset_event& event, int levels) {
  if (levels != 0) {
    co_await nest(event, levels - 1);
  } else {
    co_await wait_for(event);
  }
}

// A tree of joins: each task awaits one branch, down to the one that waits for the event.
beck::task<> nest_joins(beck::manual_reset_event& event, int levels) {
  if (levels == 0) {
    co_await wait_for(event);
  } else {
    beck::ignore(co_await beck::when_all(nest_joins(event, levels - 1)));
  }
}

// Lets tasks that wait for the event end, so that nothing is left behind.
void finish(beck::io_context& ctx, beck::manual_reset_event& event) {
  event.set();
  ctx.restart();
  ctx.run();
  CHECK(dump_of(ctx) == "no tasks\n");
}

struct named {
  beck::task<> member(beck::manual_reset_event& event) const { co_await wait_for(event); }
};
constexpr unsigned member_line = __LINE__ - 2;

}  // namespace

CONFORMANCE("a context without tasks says so") {
  beck::io_context ctx(context_options());
  CHECK(dump_of(ctx) == "no tasks\n");
  beck::post(ctx, [] {});
  CHECK(dump_of(ctx) == "no tasks\n");
  ctx.run();
}

CONFORMANCE("a dump shows where a task was spawned and the chain of its awaits") {
  beck::io_context ctx(context_options());
  beck::manual_reset_event event;
  const unsigned spawn_line = __LINE__ + 1;
  beck::co_spawn(ctx, nest(event, 1), beck::detached);
  ctx.poll();
  const std::string text = dump_of(ctx);
  CHECK(text.find("1 task in 1 group\n1 task, spawned at " + line_of(spawn_line) + " in ") == 0);
  const auto frames = text.find('\n', text.find("spawned at")) + 1;
  CHECK(text.substr(frames) == "    " + line_of(nest_line) + " in nest\n" + "    " +
                                   line_of(nest_line + 2) + " in nest\n" + in_wait_for +
                                   "  waiting T for event: #1\n");
  finish(ctx, event);
}

CONFORMANCE("members and lambdas have the names that their authors gave them") {
  beck::io_context ctx(context_options());
  beck::manual_reset_event event;
  const named object;
  const unsigned lambda_line = __LINE__ + 1;
  const auto lambda = [&]() -> beck::task<> { co_await object.member(event); };
  beck::co_spawn(ctx, lambda, beck::detached);
  ctx.poll();
  const std::string text = dump_of(ctx);
  CHECK(text.find("    " + line_of(lambda_line) + " in ") != text.npos);
  CHECK(text.find("::lambda\n    " + line_of(member_line) + " in named::member\n" + in_wait_for) !=
        text.npos);
  finish(ctx, event);
}

CONFORMANCE("an awaitable shows the same") {
  beck::io_context ctx(context_options());
  beck::manual_reset_event event;
  const unsigned await_line = __LINE__ + 2;
  const auto lambda = [&]() -> beck::awaitable<> {
    co_await event.wait();
    co_await wait_for(event);
  };
  beck::co_spawn(ctx, lambda, beck::detached);
  ctx.poll();
  std::string text = dump_of(ctx);
  CHECK(text.find("    " + line_of(await_line) + " in ") != text.npos);
  CHECK(text.find("  waiting T for event: #1\n") != text.npos);
  event.set();
  event.reset();
  ctx.restart();
  ctx.poll();
  text = dump_of(ctx);
  CHECK(text.find("    " + line_of(await_line + 1) + " in ") != text.npos);
  CHECK(text.find(in_wait_for + "  waiting T for event: #1\n") != text.npos);
  finish(ctx, event);
}

CONFORMANCE("a recursion is one line, and a long chain shows both of its ends") {
  beck::io_context ctx(context_options());
  beck::manual_reset_event event;
  beck::co_spawn(ctx, nest(event, 1'200), beck::detached);
  ctx.poll();
  CHECK(dump_of(ctx).find("    " + line_of(nest_line) + " in nest, 1,200 times\n") !=
        std::string::npos);
  finish(ctx, event);
}

CONFORMANCE("tasks at the same places are one group, and the largest group comes first") {
  beck::io_context ctx(context_options());
  beck::manual_reset_event event;
  for (int i = 0; i < 3; ++i) beck::co_spawn(ctx, nest(event, 0), beck::detached);
  for (int i = 0; i < 1'500; ++i) beck::co_spawn(ctx, wait_for(event), beck::detached);
  beck::co_spawn(ctx, nest(event, 2), beck::detached);
  ctx.poll();
  const std::string text = dump_of(ctx);
  CHECK(text.find("1,504 tasks in 3 groups\n1,500 tasks, spawned at ") == 0);
  const auto first = text.find("waiting T for event: #4, #5, #6, ...\n3 tasks, spawned at ");
  const auto second = text.find("waiting T for event: #1, #2, #3\n1 task, spawned at ");
  const auto third = text.find("waiting T for event: #1504\n");
  CHECK(first < second);
  CHECK(second < third);
  CHECK(third != text.npos);

  std::string less;
  ctx.dump(less, 1);
  CHECK(less.find("3 tasks") == less.npos);
  CHECK(less.substr(less.find("and ")) == "and 4 tasks in 2 more groups\n");
  finish(ctx, event);
}

CONFORMANCE("a task keeps its number when others end") {
  beck::io_context ctx(context_options());
  beck::manual_reset_event first;
  beck::manual_reset_event second;
  beck::co_spawn(ctx, wait_for(first), beck::detached);
  beck::co_spawn(ctx, wait_for(second), beck::detached);
  ctx.poll();
  CHECK(dump_of(ctx).find("for event: #1\n") != std::string::npos);
  first.set();
  ctx.poll();
  CHECK(dump_of(ctx).find("for event: #2\n") != std::string::npos);
  finish(ctx, second);
}

CONFORMANCE("branches are tasks of their own, under the number of the one that awaits them") {
  beck::io_context ctx(context_options());
  beck::manual_reset_event event;
  const unsigned all_line = __LINE__ + 2;
  auto work = [&]() -> beck::task<> {
    beck::ignore(co_await beck::when_all(wait_for(event), nest(event, 0)));
  };
  beck::co_spawn(ctx, work, beck::detached);
  ctx.poll();
  const std::string text = dump_of(ctx);
  CHECK(text.find("3 tasks in 3 groups\n") == 0);
  CHECK(text.find("waiting T for when_all: #1 (2 branches)\n") != text.npos);
  CHECK(text.find("1 task, branch of when_all, spawned at " + line_of(all_line) + " in ") !=
        text.npos);
  CHECK(text.find(in_wait_for + "  waiting T for event: #1.1\n") != text.npos);
  CHECK(text.find(in_wait_for + "  waiting T for event: #1.2\n") != text.npos);
  finish(ctx, event);
}

CONFORMANCE("a task group shows its body and its children, and where each was spawned") {
  beck::io_context ctx(context_options());
  beck::manual_reset_event event;
  const unsigned first_line = __LINE__ + 2;
  auto body = [&](beck::task_group& group) -> beck::task<> {
    group.spawn(wait_for(event));
    for (int i = 0; i < 2; ++i) CHECK(group.try_spawn(wait_for(event)));
    co_await wait_for(event);
  };
  const unsigned run_line = __LINE__ + 1;
  auto work = [&]() -> beck::task<> { co_await beck::task_group::run(body); };
  beck::co_spawn(ctx, work, beck::detached);
  ctx.poll();
  const std::string text = dump_of(ctx);
  CHECK(text.find("5 tasks in 4 groups\n") == 0);
  const std::string branch = ", branch of task_group, spawned at ";
  CHECK(text.find("2 tasks, branches of task_group, spawned at " + line_of(first_line + 1)) !=
        text.npos);
  CHECK(text.find(branch + line_of(first_line) + " in ") != text.npos);
  CHECK(text.find(branch + line_of(run_line) + " in ") != text.npos);  // the body
  CHECK(text.find("waiting T for task_group: #1 (4 branches)\n") != text.npos);
  CHECK(text.find("waiting T for event: #1.3, #1.4\n") != text.npos);
  finish(ctx, event);
}

CONFORMANCE("joins below many joins are left out, and that is said") {
  beck::io_context ctx(context_options());
  beck::manual_reset_event event;
  beck::co_spawn(ctx, nest_joins(event, 64), beck::detached);
  ctx.poll();
  CHECK(dump_of(ctx).find("65 tasks in ") == 0);
  finish(ctx, event);
  beck::co_spawn(ctx, nest_joins(event, 66), beck::detached);
  event.reset();
  ctx.restart();
  ctx.poll();
  const std::string text = dump_of(ctx);
  CHECK(text.find("65 tasks in ") == 0);
  CHECK(text.find("and what 1 task waits for below 64 levels\n") != text.npos);
  finish(ctx, event);
}

CONFORMANCE("a task that has not begun is shown with the place where it was spawned") {
  beck::io_context ctx(context_options());
  beck::manual_reset_event event;
  event.set();
  const unsigned spawn_line = __LINE__ + 1;
  for (int i = 0; i < 2; ++i) beck::co_spawn(ctx, wait_for(event), beck::detached);
  const std::string text = dump_of(ctx);
  CHECK(text.find("2 tasks in 1 group\n2 tasks, spawned at " + line_of(spawn_line) + " in ") == 0);
  CHECK(text.substr(text.find("  not")) == "  not started yet\n");
  ctx.run();
}

CONFORMANCE("tasks of a strand over a context live in that context") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  const beck::strand<beck::io_context::executor_type> strand(ctx.get_executor());
  beck::co_spawn(strand, beck::test::read_byte(pair.a), beck::detached);
  ctx.poll();
  CHECK(dump_of(ctx).find("waiting T for read: #1 (fd " + std::to_string(pair.a.native_handle())) !=
        std::string::npos);
  beck::ignore(pair.b.write_some(beck::buffer("x", 1)));
  ctx.run();
}

CONFORMANCE("a handler and a task may ask for a dump") {
  beck::io_context ctx(context_options());
  beck::manual_reset_event event;
  beck::co_spawn(ctx, wait_for(event), beck::detached);
  std::string from_handler;
  std::string from_task;
  beck::co_spawn(
      ctx,
      [&]() -> beck::task<> {
        co_await beck::post(ctx);
        from_task = dump_of(ctx);
      },
      beck::detached);
  beck::post(ctx, [&] { from_handler = dump_of(ctx); });
  ctx.poll();
  CHECK(from_handler.find("for event: #1\n") != from_handler.npos);
  CHECK(from_handler.find("  waiting for its turn in the queue: #2\n") != from_handler.npos);
  CHECK(from_task.find("for event: #1\n") != from_task.npos);
  CHECK(from_task.find("  running, or waiting for what the context does not know: #2\n") !=
        from_task.npos);
  finish(ctx, event);
}

CONFORMANCE("what was stopped or has ended is not said to wait") {
  beck::io_context ctx(context_options());
  beck::steady_timer timer(ctx, 1h);
  beck::stop_source source;
  auto work = [&]() -> beck::task<> { beck::ignore(co_await timer.async_wait()); };
  auto stopped = [&]() -> beck::task<> {
    beck::ignore(co_await beck::with_stop(source.get_token(), beck::test::pause(ctx, 1h)));
  };
  beck::co_spawn(ctx, work, beck::detached);
  beck::co_spawn(ctx, stopped, beck::detached);
  ctx.poll();
  CHECK(dump_of(ctx).find("waiting T for timer: #1 (due in T)\n") != std::string::npos);
  std::string text;
  beck::post(ctx, [&] {
    timer.cancel();
    source.request_stop();
    beck::post(ctx, [&] { text = dump_of(ctx); });  // behind the request, before what it ends
  });
  ctx.run();
  CHECK(text.find("  being stopped: #2\n") != text.npos);
  CHECK(dump_of(ctx) == "no tasks\n");
}

CONFORMANCE("a result that waits for its turn is said to be there") {
  beck::io_context ctx(context_options());
  beck::steady_timer timer(ctx, 1h);
  auto work = [&]() -> beck::task<> { beck::ignore(co_await timer.async_wait()); };
  beck::co_spawn(ctx, work, beck::detached);
  ctx.poll();
  CHECK(timer.cancel() == 1);
  CHECK(dump_of(ctx).find("  queued T with the result of timer: #1\n") != std::string::npos);
  ctx.run();
}

CONFORMANCE("a result is shown whose timer does not exist any more") {
  beck::io_context ctx(context_options());
  auto timer = std::make_unique<beck::steady_timer>(ctx, 1h);
  auto work = [&]() -> beck::task<> { beck::ignore(co_await timer->async_wait()); };
  beck::co_spawn(ctx, work, beck::detached);
  ctx.poll();
  timer.reset();
  CHECK(dump_of(ctx).find("  queued T with the result of timer: #1\n") != std::string::npos);
  ctx.restart();
  ctx.run();
}

// A simulated clock stands still while nothing waits, so ages are exact.
CONFORMANCE_ON(beck::test::sim, "the age of a wait is the time since the task suspended") {
  beck::io_context ctx(context_options());
  beck::manual_reset_event event;
  beck::co_spawn(ctx, wait_for(event), beck::detached);
  ctx.run_for(2500ms);
  for (int i = 0; i < 2; ++i) {
    beck::co_spawn(ctx, nest(event, 0), beck::detached);
    ctx.run_for(90s);
  }
  std::string text;
  ctx.dump(text);
  CHECK(text.find("  waiting 3 min for event: #1\n") != text.npos);
  CHECK(text.find("  waiting 1 to 3 min for event: #2, #3\n") != text.npos);
  finish(ctx, event);
}
