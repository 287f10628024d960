// SPDX-License-Identifier: BSL-1.0
// Child processes: how they end, who learns of it, and what is left of them.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <beck/base/unique_fd.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>

#include "support/context_options.hpp"
#include "support/no_descriptors.hpp"
#include "support/processes.hpp"

using beck::buffer;
using beck::error_code;
using beck::exit_status;
using beck::process;
using beck::process_options;
using beck::readable_pipe;
using beck::writable_pipe;
using beck::test::all_of;
using beck::test::end_of;
using beck::test::ending;
using beck::test::is_collected;
using beck::test::is_collected_by_the_way;
using beck::test::kernel;
using beck::test::note_end;
using beck::test::outcome;
using beck::test::waiting_child;
namespace error = beck::error;

CONFORMANCE_ON(kernel, "a process gives the code that it has left with") {
  beck::io_context ctx(context_options());
  process good(ctx, "true");
  process bad(ctx, "/bin/sh", {"-c", "exit 7"});
  CHECK(good.id() > 0);
  CHECK(end_of(ctx, good).success());
  const exit_status status = end_of(ctx, bad);
  CHECK_FALSE(status.success());
  CHECK(status.code() == 7);
  CHECK(status.signal() == 0);
}

CONFORMANCE_ON(kernel, "a process that a signal has ended says which") {
  beck::io_context ctx(context_options());
  process child(ctx, "/bin/sh", {"-c", "kill -USR1 $$"});
  const exit_status status = end_of(ctx, child);
  CHECK(status.signal() == SIGUSR1);
  CHECK(status.code() == -1);
  CHECK_FALSE(status.success());
}

CONFORMANCE_ON(kernel, "signals end a process: terminate, request_exit, interrupt, any") {
  beck::io_context ctx(context_options());
  using send = void (*)(process&);
  const send ways[] = {[](process& p) { p.terminate(); }, [](process& p) { p.request_exit(); },
                       [](process& p) { p.interrupt(); },
                       [](process& p) { p.send_signal(SIGUSR2); }};
  const int signals[] = {SIGKILL, SIGTERM, SIGINT, SIGUSR2};
  for (std::size_t i = 0; i < 4; ++i) {
    waiting_child one(ctx);
    CHECK(one.child.running());
    ways[i](one.child);
    CHECK(end_of(ctx, one.child).signal() == signals[i]);
    CHECK_FALSE(one.child.running());
    error_code ec;
    one.child.request_exit(ec);
    CHECK(ec == beck::errc::no_such_process);
    one.child.terminate(ec);
    CHECK_FALSE(ec);
    one.child.send_signal(12'345, ec);
    CHECK(ec);
  }
}

CONFORMANCE_ON(kernel, "several waits, also late ones, give the same status") {
  beck::io_context ctx(context_options());
  process child(ctx, "/bin/sh", {"-c", "exit 3"});
  ending ends[3];
  for (ending& end : ends) child.async_wait(note_end(end));
  CHECK(ends[0].calls == 0);
  beck::test::run_all(ctx);
  for (const ending& end : ends) {
    CHECK(end.calls == 1);
    CHECK(end.status.code() == 3);
  }
  CHECK(end_of(ctx, child).code() == 3);
  CHECK(child.wait().code() == 3);
  CHECK_FALSE(child.running());
  CHECK(is_collected(child.id()));
}

CONFORMANCE_ON(kernel, "a synchronous wait blocks until the process has ended") {
  beck::io_context ctx(context_options());
  waiting_child one(ctx);
  one.input.close();
  CHECK(one.child.wait().success());
  process closed(ctx);
  error_code ec;
  closed.wait(ec);
  CHECK(ec == error::bad_descriptor);
  CHECK_THROWS_AS(closed.wait(), beck::io_error);
  CHECK(closed.id() == -1);
}

CONFORMANCE_ON(kernel, "cancel ends the wait and not the process") {
  beck::io_context ctx(context_options());
  waiting_child one(ctx);
  ending end;
  one.child.async_wait(note_end(end));
  beck::test::let_settle(ctx);
  CHECK(end.calls == 0);
  one.child.cancel();
  beck::test::run_all(ctx);
  CHECK(end.calls == 1);
  CHECK(end.ec == error::operation_aborted);
  CHECK(one.child.running());
}

CONFORMANCE_ON(kernel, "a time limit of a wait composes with what comes after it") {
  beck::io_context ctx(context_options());
  waiting_child one(ctx);
  exit_status status;
  error_code late;
  auto program = [&]() -> beck::task<> {
    auto [ec, none] = co_await beck::timeout(one.child.async_wait(), beck::duration(2'000'000));
    late = ec;
    one.child.terminate();
    status = (co_await one.child.async_wait()).value();
  };
  co_spawn(ctx, program(), beck::detached);
  ctx.run();
  CHECK(late == error::timeout);
  CHECK(status.signal() == SIGKILL);
}

CONFORMANCE_ON(kernel, "a process object that is destroyed ends its process and leaves no zombie") {
  beck::io_context ctx(context_options());
  readable_pipe from(ctx);
  ending end;
  int id = -1;
  {
    writable_pipe to(ctx);
    process child(ctx, "cat", {}, process_options().in(to).out(from));
    id = child.id();
    child.async_wait(note_end(end));
    beck::test::let_settle(ctx);
    error_code ec;
    const int handle = to.release(ec);  // the end of its input is not what ends it
    static_cast<void>(beck::unique_fd(::dup(handle)).release());
    ::close(handle);
  }
  CHECK(all_of(ctx, from).empty());  // it is gone
  CHECK(end.calls == 1);
  CHECK(end.ec == error::operation_aborted);
  CHECK(is_collected_by_the_way(ctx, id));
}

CONFORMANCE_ON(kernel,
               "processes that are left at the descriptor limit are collected like others") {
  beck::io_context ctx(context_options());
  auto detached = std::make_unique<waiting_child>(ctx);
  auto destroyed = std::make_unique<waiting_child>(ctx);
  const int ids[] = {detached->child.id(), destroyed->child.id()};
  {
    const beck::test::no_descriptors none;
    detached->child.detach();
    destroyed.reset();
  }
  detached->input.close();
  for (const int id : ids) {
    siginfo_t info{};
    // A process that SIGKILL ends at once has been collected by the destructor already: ECHILD.
    if (::waitid(P_PID, static_cast<id_t>(id), &info, WEXITED | WNOWAIT) != 0) {
      CHECK(errno == ECHILD);
      CHECK(id == ids[1]);
    }
  }
  process next(ctx, "true");
  next.wait();
  CHECK(is_collected(ids[0]));
  CHECK(is_collected(ids[1]));
}

CONFORMANCE_ON(kernel, "a wait that has completed keeps its status when the object is destroyed") {
  beck::io_context ctx(context_options());
  ending end;
  {
    process child(ctx, "/bin/sh", {"-c", "exit 5"});
    child.wait();
    child.async_wait(note_end(end));
    CHECK(end.calls == 0);
  }
  beck::test::run_all(ctx);
  CHECK(end.calls == 1);
  CHECK_FALSE(end.ec);
  CHECK(end.status.code() == 5);
}

CONFORMANCE_ON(kernel, "a detached process runs on and is collected by the way") {
  beck::io_context ctx(context_options());
  writable_pipe to(ctx);
  readable_pipe from(ctx);
  int id = -1;
  {
    process child(ctx, "cat", {}, process_options().in(to).out(from));
    id = child.id();
    child.detach();
    CHECK_FALSE(child.is_open());
    CHECK(child.id() == -1);
  }
  outcome written, read;
  char there[5];
  async_write(to, buffer("still", 5), beck::test::note(written));
  async_read(from, buffer(there), beck::test::note(read));
  beck::test::run_all(ctx);
  CHECK(written.ok());
  CHECK(read.ok());
  to.close();
  CHECK(all_of(ctx, from).empty());
  CHECK(is_collected_by_the_way(ctx, id));
}

CONFORMANCE_ON(
    kernel, "a process may be moved while it is waited for, and move assignment ends the old one") {
  beck::io_context ctx(context_options());
  writable_pipe first_input(ctx);
  writable_pipe second_input(ctx);
  process first(ctx, "cat", {}, process_options().in(first_input).out(nullptr));
  ending end, second_end;
  first.async_wait(note_end(end));
  beck::test::let_settle(ctx);
  process other(std::move(first));
  CHECK_FALSE(first.is_open());
  CHECK(other.running());
  process second(ctx, "cat", {}, process_options().in(second_input).out(nullptr));
  second.async_wait(note_end(second_end));
  beck::test::let_settle(ctx);
  second = std::move(other);
  CHECK(second.running());
  first_input.close();
  beck::test::run_all(ctx);
  CHECK(end.status.success());
  CHECK_FALSE(end.ec);
  CHECK(second_end.ec == error::operation_aborted);
  readable_pipe output(ctx);
  const readable_pipe output_elsewhere(std::move(output));
  other.spawn("echo", {"again"}, process_options().out(output));  // both are as new
  CHECK(other.wait().success());
  char said[6];
  CHECK(beck::read(output, beck::buffer(said)) == 6);
}

CONFORMANCE_ON(kernel, "many processes at once end each with their own code") {
  beck::io_context ctx(context_options());
  int right = 0;
  std::vector<int> ids;
  auto one = [&](int code) -> beck::task<> {
    process child(ctx, "/bin/sh", {"-c", "exit " + std::to_string(code)});
    ids.push_back(child.id());
    right += (co_await child.async_wait()).value().code() == code ? 1 : 0;
  };
  for (int code = 0; code < 30; ++code) co_spawn(ctx, one(code), beck::detached);
  ctx.run();
  CHECK(right == 30);
  CHECK(ids.size() == 30);
  for (const int id : ids) CHECK(is_collected(id));
}

CONFORMANCE_ON(kernel,
               "a child of fork that destroys what it inherited ends no process of its parent") {
  beck::io_context ctx(context_options());
  auto child = std::make_unique<process>(ctx);
  writable_pipe input(ctx);
  child->spawn("cat", {}, process_options().in(input).out(nullptr));
  const pid_t fork_of_ours = ::fork();
  if (fork_of_ours == 0) {
    child.reset();
    ::_exit(0);
  }
  REQUIRE(::waitpid(fork_of_ours, nullptr, 0) == fork_of_ours);
  CHECK(child->running());
  input.close();
  CHECK(end_of(ctx, *child).success());
}

CONFORMANCE_ON(kernel, "if others collect our children a wait says so") {
  beck::io_context ctx(context_options());
  waiting_child one(ctx);
  one.child.terminate();
  CHECK(::waitpid(one.child.id(), nullptr, 0) == one.child.id());
  ending end;
  one.child.async_wait(note_end(end));
  beck::test::run_all(ctx);
  CHECK(end.calls == 1);
  CHECK(end.ec == beck::errc::no_child_process);
}

CONFORMANCE_ON(kernel, "where children end uncollected a process starts and its wait says so") {
  beck::io_context ctx(context_options());
  struct sigaction before{}, ignored{};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGCHLD, &ignored, &before);
  constexpr int rounds = 100;
  int told = 0;
  for (int i = 0; i < rounds; ++i) {
    process child(ctx);
    beck::error_code ec;
    child.spawn("true", {}, {}, ec);
    if (ec) break;
    child.wait(ec);
    told += ec == beck::errc::no_child_process ? 1 : 0;
  }
  beck::error_code refused;
  process(ctx).spawn("/no/such/program", {}, {}, refused);
  ::sigaction(SIGCHLD, &before, nullptr);
  CHECK(told == rounds);
  CHECK(refused == beck::errc::no_such_file_or_directory);
}

CONFORMANCE_ON(kernel, "a process starts once while another thread waits for any child") {
  beck::io_context ctx(context_options());
  std::atomic<bool> over{false};
  std::atomic<int> collected{0};
  std::thread other([&] {
    while (!over.load()) {
      if (::waitpid(-1, nullptr, WNOHANG) > 0) collected.fetch_add(1);
      std::this_thread::yield();
    }
  });
  constexpr int rounds = 100;
  int started = 0;
  int own = 0;
  for (int i = 0; i < rounds; ++i) {
    process child(ctx);
    beck::error_code ec;
    child.spawn("true", {}, {}, ec);
    if (ec) break;
    ++started;
    child.wait(ec);
    own += ec ? 0 : 1;
  }
  over.store(true);
  other.join();
  CHECK(started == rounds);
  CHECK(own + collected.load() == rounds);
}

CONFORMANCE_ON(beck::test::sim, "a simulated context has no processes") {
  beck::io_context ctx(context_options());
  process child(ctx);
  error_code ec;
  child.spawn("true", {}, {}, ec);
  CHECK(ec == error::operation_not_supported);
  CHECK_FALSE(child.is_open());
  CHECK_THROWS_AS(process(ctx, "true"), beck::io_error);
}
