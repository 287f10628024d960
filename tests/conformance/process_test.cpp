// SPDX-License-Identifier: BSL-1.0
// Child processes: how they begin, what they have, how they end, and what is left of them.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/process.hpp>
#include <beck/io/read_write.hpp>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <beck/base/unique_fd.hpp>

#include "support/connections.hpp"
#include "support/context_options.hpp"

using beck::buffer;
using beck::error_code;
using beck::exit_status;
using beck::process;
using beck::process_options;
using beck::readable_pipe;
using beck::writable_pipe;
using beck::test::kernel;
using beck::test::outcome;
namespace error = beck::error;

namespace {

struct ending {
  int calls = 0;
  error_code ec;
  exit_status status;
};

auto note_end(ending& of) {
  return [&of](error_code ec, exit_status status) {
    ++of.calls;
    of.ec = ec;
    of.status = status;
  };
}

exit_status end_of(beck::io_context& ctx, process& child) {
  ending end;
  child.async_wait(note_end(end));
  beck::test::run_all(ctx);
  CHECK(end.calls == 1);
  CHECK_FALSE(end.ec);
  return end.status;
}

/// All that comes out of a pipe.
std::string all_of(beck::io_context& ctx, readable_pipe& from) {
  std::string text(100'000, '\0');
  outcome read;
  async_read(from, buffer(text), beck::test::note(read));
  beck::test::run_all(ctx);
  CHECK(read.ended_with(error::eof));
  text.resize(read.bytes);
  return text;
}

/// What a shell writes to its standard output.
std::string output_of(beck::io_context& ctx, const std::string& script,
                      process_options how = process_options()) {
  readable_pipe from(ctx);
  process child(ctx, "/bin/sh", {"-c", script}, how.out(from));
  const std::string text = all_of(ctx, from);
  CHECK(end_of(ctx, child).success());
  return text;
}

/// Whether some child of ours has ended and was not collected.
bool has_zombie() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

/// A process that runs until its input ends.
struct waiting_child {
  explicit waiting_child(beck::io_context& ctx)
      : input(ctx), child(ctx, "cat", {}, process_options().in(input).out(nullptr)) {}
  writable_pipe input;
  process child;
};

}  // namespace

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

CONFORMANCE_ON(kernel, "arguments reach the program as they are, also empty ones and with spaces") {
  beck::io_context ctx(context_options());
  readable_pipe from(ctx);
  const std::vector<std::string> arguments{"-c", "printf '[%s]' \"$@\"", "sh", "a b", "", "$x"};
  process child(ctx, "/bin/sh", arguments, process_options().out(from));
  CHECK(all_of(ctx, from) == "[a b][][$x]");
  CHECK(end_of(ctx, child).success());
}

CONFORMANCE_ON(kernel, "a process reads what we write and we read what it writes") {
  beck::io_context ctx(context_options());
  writable_pipe to(ctx);
  readable_pipe from(ctx);
  process child(ctx, "cat", {}, process_options().in(to).out(from));
  std::string sent(400'000, 'x');
  std::string there(sent.size(), '\0');
  outcome written, read;
  async_write(to, buffer(sent), beck::test::note(written));
  async_read(from, buffer(there), beck::test::note(read));
  beck::test::run_all(ctx);
  CHECK(written.ok());
  CHECK(read.ok());
  CHECK((there == sent));
  to.close();
  CHECK(all_of(ctx, from).empty());
  CHECK(end_of(ctx, child).success());
}

CONFORMANCE_ON(kernel, "output and errors go to pipes of their own, or to one") {
  beck::io_context ctx(context_options());
  readable_pipe out(ctx);
  readable_pipe err(ctx);
  const char* const script = "echo out; echo err >&2";
  {
    process child(ctx, "/bin/sh", {"-c", script}, process_options().out(out).err(err));
    CHECK(all_of(ctx, out) == "out\n");
    CHECK(all_of(ctx, err) == "err\n");
    CHECK(end_of(ctx, child).success());
  }
  CHECK(output_of(ctx, script, process_options().err_to_out()) == "out\nerr\n");
  CHECK(output_of(ctx, script, process_options().err(nullptr)) == "out\n");
}

CONFORMANCE_ON(kernel, "a process can be given nothing to read, or a descriptor of ours") {
  beck::io_context ctx(context_options());
  CHECK(output_of(ctx, "cat", process_options().in(nullptr)).empty());
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const beck::unique_fd out(ends[0]);
  beck::unique_fd in(ends[1]);
  REQUIRE(::write(in.get(), "mine", 4) == 4);
  in.reset();
  CHECK(output_of(ctx, "cat", process_options().in(out.get())) == "mine");
  error_code ec;
  process child(ctx);
  child.spawn("true", {}, process_options().in(987'654), ec);
  CHECK(ec == error::bad_descriptor);
}

CONFORMANCE_ON(kernel,
               "a process begins where it is told to and with the environment it is given") {
  beck::io_context ctx(context_options());
  CHECK(output_of(ctx, "pwd", process_options().directory("/usr")) == "/usr\n");
  ::setenv("BECK_TEST_INHERITED", "old", 1);  // NOLINT: one thread
  const char* const script = "echo $BECK_TEST_INHERITED $BECK_TEST_NEW";
  CHECK(output_of(ctx, script) == "old\n");
  CHECK(output_of(ctx, script, process_options().variables({"BECK_TEST_NEW=new"})) == "old new\n");
  CHECK(output_of(ctx, script,
                  process_options().variables({"BECK_TEST_NEW=1", "BECK_TEST_INHERITED=2"})) ==
        "2 1\n");
  CHECK(output_of(ctx, script, process_options().environment({"BECK_TEST_NEW=only"})) == "only\n");
  ::unsetenv("BECK_TEST_INHERITED");  // NOLINT: one thread
}

CONFORMANCE_ON(kernel, "a process has no descriptor of ours but its three") {
  beck::io_context ctx(context_options());
  int ends[2];
  REQUIRE(::pipe(ends) == 0);  // without close-on-exec
  const beck::unique_fd out(ends[0]);
  const beck::unique_fd in(ends[1]);
  const waiting_child cat(ctx);
  std::string script = "for n in 0 1 2";
  for (const int number : {out.get(), in.get(), cat.child.native_handle()})
    script += " " + std::to_string(number);
  script += "; do [ -e /proc/$$/fd/$n ] && echo $n; done; true";
  CHECK(output_of(ctx, script, process_options().in(nullptr).err(nullptr)) == "0\n1\n2\n");
}

CONFORMANCE_ON(kernel, "a program that is not there is an error of the spawn and names itself") {
  beck::io_context ctx(context_options());
  process child(ctx);
  readable_pipe from(ctx);
  error_code ec;
  child.spawn("/no/such/program", {}, process_options().out(from), ec);
  CHECK(ec == beck::errc::no_such_file_or_directory);
  CHECK_FALSE(child.is_open());
  CHECK_FALSE(from.is_open());
  child.spawn("/etc/passwd", {}, {}, ec);
  CHECK(ec == error::access_denied);
  child.spawn("no-such-program-in-the-path", {}, {}, ec);
  CHECK(ec == beck::errc::no_such_file_or_directory);
  try {
    child.spawn("/no/such/program");
    CHECK(false);
  } catch (const beck::io_error& refused) {
    CHECK(std::string(refused.what()).find("/no/such/program") != std::string::npos);
  }
  try {
    child.spawn("true", {}, process_options().directory("/no/such/place"));
    CHECK(false);
  } catch (const beck::io_error& refused) {
    CHECK(refused.code() == beck::errc::no_such_file_or_directory);
    CHECK(std::string(refused.what()).find("/no/such/place") != std::string::npos);
  }
  child.spawn("true");
  CHECK(end_of(ctx, child).success());
  CHECK_FALSE(has_zombie());
}

CONFORMANCE_ON(kernel, "texts with a NUL, an empty program and open objects are refused") {
  beck::io_context ctx(context_options());
  process child(ctx);
  error_code ec;
  child.spawn("", {}, {}, ec);
  CHECK(ec == error::invalid_argument);
  child.spawn("true", {beck::text_view("a\0b", 3)}, {}, ec);
  CHECK(ec == error::invalid_argument);
  child.spawn("true", {}, process_options().variables({beck::text_view("A=\0", 3)}), ec);
  CHECK(ec == error::invalid_argument);
  waiting_child other(ctx);
  child.spawn("true", {}, process_options().in(other.input), ec);
  CHECK(ec == error::already_open);
  other.child.spawn("true", {}, {}, ec);
  CHECK(ec == error::already_open);
  CHECK(other.child.running());
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
  CHECK_FALSE(has_zombie());
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
  {
    writable_pipe to(ctx);
    process child(ctx, "cat", {}, process_options().in(to).out(from));
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
  for (int i = 0; has_zombie() && i < 1000; ++i) {
    process next(ctx, "true");
    next.wait();
  }
  CHECK_FALSE(has_zombie());
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
  CHECK((end.ec == error::operation_aborted || end.status.code() == 5));
}

CONFORMANCE_ON(kernel, "a detached process runs on and is collected by the way") {
  beck::io_context ctx(context_options());
  writable_pipe to(ctx);
  readable_pipe from(ctx);
  {
    process child(ctx, "cat", {}, process_options().in(to).out(from));
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
  for (int i = 0; has_zombie() && i < 1000; ++i) {
    process next(ctx, "true");
    next.wait();
  }
  CHECK_FALSE(has_zombie());
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
}

CONFORMANCE_ON(kernel, "many processes at once end each with their own code") {
  beck::io_context ctx(context_options());
  int right = 0;
  auto one = [&](int code) -> beck::task<> {
    process child(ctx, "/bin/sh", {"-c", "exit " + std::to_string(code)});
    right += (co_await child.async_wait()).value().code() == code ? 1 : 0;
  };
  for (int code = 0; code < 30; ++code) co_spawn(ctx, one(code), beck::detached);
  ctx.run();
  CHECK(right == 30);
  CHECK_FALSE(has_zombie());
}

CONFORMANCE_ON(kernel, "a child starts without blocked or ignored signals of ours") {
  beck::io_context ctx(context_options());
  sigset_t usual, blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &usual);
  struct sigaction before{}, ignored{};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignored, &before);
  {
    waiting_child one(ctx);
    one.child.request_exit();
    CHECK(end_of(ctx, one.child).signal() == SIGTERM);
    process other(ctx, "/bin/sh", {"-c", "kill -PIPE $$"});
    CHECK(end_of(ctx, other).signal() == SIGPIPE);
  }
  ::sigaction(SIGPIPE, &before, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &usual, nullptr);
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

CONFORMANCE_ON(beck::test::sim, "a simulated context has no processes") {
  beck::io_context ctx(context_options());
  process child(ctx);
  error_code ec;
  child.spawn("true", {}, {}, ec);
  CHECK(ec == error::operation_not_supported);
  CHECK_FALSE(child.is_open());
  CHECK_THROWS_AS(process(ctx, "true"), beck::io_error);
}
