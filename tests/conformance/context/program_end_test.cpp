// SPDX-License-Identifier: BSL-1.0
// The end of a program by exit(3) while contexts with static storage, their handlers and their
// objects exist.
#include <csignal>
#include <cstdlib>
#include <future>
#include <memory>
#include <ostream>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <beck/io/steady_timer.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/post.hpp>
#include <beck/run/work_guard.hpp>

#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/context_options.hpp"

using beck::ip::tcp;
using beck::test::kernel;

namespace {

/// Runs `code` with a static context in a child process. Returns the status with which it has
/// called exit(), or -1.
template <class Code>
int exit_status_of(const beck::io_context::options& how, Code code) {
  const beck::test::child_end end = beck::test::run_child([&](int fd) {
    ::signal(SIGABRT, SIG_DFL);  // the test runner's handler would report a crash
    ::alarm(20);
    ::dup2(fd, STDERR_FILENO);
    static beck::io_context ctx(how);
    code(ctx);
  });
  return WIFEXITED(end.status) && end.text.empty() ? WEXITSTATUS(end.status) : -1;
}

}  // namespace

CONFORMANCE_ON(kernel, "exit in a handler of a static context ends the program with its status") {
  for (const int threads : {0, 2}) {
    if (threads == 2 && where == beck::test::on_uring) continue;
    CHECK(exit_status_of(context_options({.threads = threads}), [](beck::io_context& ctx) {
            beck::post(ctx, [] { std::exit(3); });
            ctx.run();
          }) == 3);
  }
}

CONFORMANCE_ON(kernel, "exit in a handler may leave objects in scopes and operations in flight") {
  CHECK(exit_status_of(context_options(), [](beck::io_context& ctx) {
          tcp::acceptor acceptor(ctx, beck::test::loopback_v4());
          acceptor.async_accept([](beck::error_code, tcp::socket) {});
          beck::steady_timer timer(ctx, beck::duration(1));
          timer.async_wait([](beck::error_code) { std::exit(4); });
          ctx.run();
        }) == 4);
}

CONFORMANCE_ON(kernel, "exit outside a handler may leave objects of a static context in scopes") {
  CHECK(exit_status_of(context_options(), [](beck::io_context& ctx) {
          const tcp::acceptor acceptor(ctx, beck::test::loopback_v4());
          const beck::steady_timer timer(ctx);
          ctx.run();
          std::exit(5);
        }) == 5);
}

CONFORMANCE_ON(kernel, "exit destroys the handlers of a static context that no thread runs") {
  CHECK(exit_status_of(context_options(), [](beck::io_context& ctx) {
          struct ends_program {
            ~ends_program() { ::_exit(6); }
          };
          beck::post(ctx, [held = std::make_unique<ends_program>()] {});
          std::exit(5);
        }) == 6);
}

CONFORMANCE_ON(kernel, "exit while another thread runs a static context is quiet") {
  CHECK(exit_status_of(context_options(), [](beck::io_context& ctx) {
          auto work = beck::make_work_guard(ctx);
          std::promise<void> running;
          beck::post(ctx, [&] { running.set_value(); });
          std::thread([&] { ctx.run(); }).detach();
          running.get_future().wait();
          std::exit(7);
        }) == 7);
}
