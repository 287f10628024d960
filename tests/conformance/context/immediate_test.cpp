// SPDX-License-Identifier: BSL-1.0
// Handlers with an immediate executor, and tokens without any place to go to, inside of run() and
// outside.
#include <beck/coro/co_spawn.hpp>
#include <beck/io/cancel_after.hpp>
#include <beck/io/read_write.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/compose.hpp>
#include <beck/run/op.hpp>
#include <beck/run/strand.hpp>
#include <chrono>

#include "support/connections.hpp"
#include "support/context_options.hpp"

using beck::buffer;
using beck::error_code;
using beck::test::local_connection;
using beck::test::note;
using beck::test::outcome;

namespace {

/// Calls what it is given, where it is given it.
struct inline_executor {
  template <class F>
  void execute(F&& function) const {
    static_cast<F&&>(function)();
  }
  bool operator==(const inline_executor&) const = default;
};

struct finished_operation : beck::op<finished_operation, void(error_code)> {
  bool ready() { return finish(error_code()); }
  void initiate(finished_operation::handler) {}
};

/// Writes of one byte inside one another, each started by the handler of the one before.
struct chain {
  beck::local::stream_protocol::socket& to;
  int& depth;
  int& depth_max;
  int& left;
  void operator()(error_code, std::size_t) const { start(); }
  void start() const {
    if (left-- == 0) return;
    ++depth;
    if (depth > depth_max) depth_max = depth;
    to.async_write_some(beck::const_buffer(),
                        beck::bind_immediate_executor(inline_executor(), chain(*this)));
    --depth;
  }
};

}  // namespace

CONFORMANCE("outside of run() an operation that finishes at once calls its immediate executor") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  outcome empty;
  c.a.async_write_some(beck::const_buffer(),
                       beck::bind_immediate_executor(inline_executor(), note(empty)));
  CHECK(empty.ok());
  outcome closed;
  beck::local::stream_protocol::socket none(ctx);
  char byte;
  none.async_read_some(buffer(&byte, 1),
                       beck::bind_immediate_executor(inline_executor(), note(closed)));
  CHECK(closed.ended_with(beck::error::bad_descriptor));
  outcome own;
  finished_operation()(
      beck::bind_executor(ctx, beck::bind_immediate_executor(inline_executor(), note(own))));
  CHECK(own.ok());
  outcome composed;
  auto token = beck::bind_immediate_executor(inline_executor(), note(composed));
  beck::async_compose<decltype(token), void(error_code)>(
      [](auto& self) { self.complete(error_code()); }, token, ctx);
  CHECK(composed.ok());
  outcome queued;  // this one has no effect inside the call
  c.a.async_write_some(beck::const_buffer(), beck::bind_immediate_executor(ctx, note(queued)));
  CHECK(queued.calls == 0);
  outcome later;
  c.b.async_read_some(buffer(&byte, 1),
                      beck::bind_immediate_executor(inline_executor(), note(later)));
  CHECK(later.calls == 0);
  beck::write(c.a, buffer("x", 1));
  beck::test::run_all(ctx);
  CHECK(queued.ok());
  CHECK(later.ok());
  CHECK(later.bytes == 1);
}

CONFORMANCE(
    "immediate handlers that start the next one do not grow the stack, inside and outside") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  int depth = 0;
  int depth_max = 0;
  int left = 10'000;
  const chain links{c.a, depth, depth_max, left};
  links.start();
  CHECK(depth_max <= 2);
  beck::test::run_all(ctx);
  CHECK(left == -1);
  CHECK(depth_max <= 20);
}

CONFORMANCE("a shared context calls immediate executors, too") {
  if (where == beck::test::on_uring) SKIP_CASE("shared contexts use epoll");
  beck::io_context ctx(context_options({.threads = 2}));
  local_connection c(ctx);
  int calls = 0;
  bool inside = false;
  char byte;
  beck::write(c.a, buffer("xy", 2));
  // The first one learns that there is more.
  c.b.async_read_some(buffer(&byte, 1), [&](error_code, std::size_t) {
    c.b.async_read_some(buffer(&byte, 1),
                        beck::bind_immediate_executor(inline_executor(),
                                                      [&](error_code, std::size_t) { ++calls; }));
    inside = calls == 1;
  });
  ctx.run();
  CHECK(calls == 1);
  CHECK(inside);
}

CONFORMANCE("a deferred post, dispatch or defer goes where the handler of its start says") {
  beck::io_context ctx(context_options());
  auto strand = make_strand(ctx);
  int calls = 0;
  const auto inside_strand = [&] {
    ++calls;
    CHECK(strand.running_in_this_thread());
  };
  beck::post(beck::deferred)(beck::bind_executor(strand, inside_strand));
  beck::defer(beck::deferred)(beck::bind_executor(strand, inside_strand));
  beck::dispatch(beck::deferred)(beck::bind_executor(strand, inside_strand));
  CHECK(calls == 0);
  ctx.run();
  CHECK(calls == 3);
  ctx.restart();
  auto made_outside = beck::post(beck::deferred);
  auto dispatched = beck::dispatch(beck::deferred);
  beck::co_spawn(
      strand,
      [&]() -> beck::task<> {
        co_await std::move(made_outside);
        CHECK(strand.running_in_this_thread());
        co_await std::move(dispatched);
        CHECK(strand.running_in_this_thread());
        ++calls;
      },
      beck::detached);
  ctx.run();
  CHECK(calls == 4);
}
