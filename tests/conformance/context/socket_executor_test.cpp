// SPDX-License-Identifier: BSL-1.0
// Sockets on an executor of the user's: completions arrive there, and nowhere else; outstanding
// work is told to it; a handler may still bring another one.
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>

#include <memory>
#include <ostream>
#include <utility>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/manual_executor.hpp"

using beck::any_io_executor;
using beck::buffer;
using beck::error_code;
using beck::test::manual_queue;
using beck::test::note;
using beck::test::outcome;
namespace error = beck::error;

namespace {

using stream = beck::local::stream_protocol::socket;

/// A pair whose first end completes on a queue of the user's.
struct queued_pair {
  explicit queued_pair(beck::io_context& ctx) : a(ctx, any_io_executor(queue.executor())), b(ctx) {
    connect_pair(a, b);
  }

  manual_queue queue;
  stream a;
  stream b;
};

/// An executor that owns something.
struct owning_executor {
  template <class F>
  void execute(F&& function) const {
    std::forward<F>(function)();
  }
  friend bool operator==(const owning_executor&, const owning_executor&) = default;

  std::shared_ptr<int> owned;
};

/// A handler with an executor of its own.
struct bound_note : note {
  bound_note(outcome& of, const any_io_executor& executor) : note(of), executor_(executor) {}
  any_io_executor get_executor() const noexcept { return executor_; }

 private:
  any_io_executor executor_;
};

}  // namespace

CONFORMANCE("a completion waits on the socket's executor until that runs it") {
  beck::io_context ctx(context_options());
  queued_pair c(ctx);
  outcome received;
  outcome sent;
  char byte = 0;
  c.a.async_read_some(buffer(&byte, 1), note(received));
  async_write(c.b, buffer("u", 1), note(sent));
  beck::test::run_all(ctx);
  CHECK(sent.ok());
  CHECK(received.calls == 0);
  CHECK(c.queue.queued() == 1);
  CHECK(c.queue.run() == 1);
  CHECK(received.ok());
  CHECK(byte == 'u');
}

CONFORMANCE(
    "an operation counts as outstanding work on the socket's executor until it is delivered") {
  beck::io_context ctx(context_options());
  queued_pair c(ctx);
  outcome received;
  char byte = 0;
  CHECK(c.queue.work() == 0);
  c.a.async_read_some(buffer(&byte, 1), note(received));
  CHECK(c.queue.work() == 1);
  c.a.close();
  beck::test::run_all(ctx);
  CHECK(c.queue.work() == 1);
  c.queue.run();
  CHECK(received.aborted());
  CHECK(c.queue.work() == 0);
}

CONFORMANCE("get_executor gives the socket's executor, also after a move and a close") {
  beck::io_context ctx(context_options());
  queued_pair c(ctx);
  const any_io_executor mine(c.queue.executor());
  CHECK(c.a.get_executor() == mine);
  CHECK(c.b.get_executor() == any_io_executor(ctx.get_executor()));
  CHECK(c.b.get_executor() != mine);
  stream taken(std::move(c.a));
  CHECK(taken.get_executor() == mine);
  taken.close();
  CHECK(taken.get_executor() == mine);
}

CONFORMANCE("a handler's own executor goes before the socket's") {
  beck::io_context ctx(context_options());
  queued_pair c(ctx);
  manual_queue other;
  outcome sent;
  c.a.async_write_some(buffer("h", 1), bound_note(sent, any_io_executor(other.executor())));
  beck::test::run_all(ctx);
  CHECK(c.queue.queued() == 0);
  CHECK(other.run() == 1);
  CHECK(sent.ok());
  CHECK(other.work() == 0);
}

CONFORMANCE("a composed operation hops to the user's executor once, at its end") {
  beck::io_context ctx(context_options());
  queued_pair c(ctx);
  char bytes[6] = {};
  const beck::mutable_buffer parts[2] = {buffer(bytes, 3), buffer(bytes + 3, 3)};
  outcome received;
  async_read(c.a, parts, note(received));
  for (int i = 0; i < 6; ++i) {
    outcome sent;
    async_write(c.b, buffer("q", 1), note(sent));
    CHECK(beck::test::run_until(ctx, sent));
  }
  beck::test::run_all(ctx);
  CHECK(c.queue.queued() == 1);
  c.queue.run();
  CHECK(received.ok());
  CHECK(received.bytes == 6);
}

CONFORMANCE("a handler on a user's executor that is never run is destroyed with the queue") {
  outcome received;
  {
    manual_queue queue;
    beck::io_context ctx(context_options());
    stream a(ctx, any_io_executor(queue.executor()));
    stream b(ctx);
    connect_pair(a, b);
    char byte = 0;
    a.async_read_some(buffer(&byte, 1), note(received));
    b.close();
    beck::test::run_all(ctx);
    CHECK(queue.queued() == 1);
  }
  CHECK(received.calls == 0);
}

CONFORMANCE("a timer on a user's executor completes there") {
  beck::io_context ctx(context_options());
  manual_queue queue;
  beck::steady_timer timer(ctx, beck::duration(1000));
  outcome waited;
  timer.async_wait(bound_note(waited, any_io_executor(queue.executor())));
  beck::test::run_all(ctx);
  CHECK(waited.calls == 0);
  CHECK(queue.run() == 1);
  CHECK(waited.ok());
}

CONFORMANCE("what a socket's executor owns goes with the socket") {
  beck::io_context ctx(context_options());
  const auto owned = std::make_shared<int>(0);
  {
    stream closed(ctx, any_io_executor(owning_executor{owned}));
    stream open(ctx, any_io_executor(owning_executor{owned}));
    stream peer(ctx);
    connect_pair(open, peer);
    CHECK(owned.use_count() > 1);
  }
  CHECK(owned.use_count() == 1);
}

CONFORMANCE("a coroutine stays on its own executor although its socket has another") {
  beck::io_context ctx(context_options());
  queued_pair c(ctx);
  bool on_context = false;
  auto read_one = [&]() -> beck::task<> {
    char byte = 0;
    auto [ec, n] = co_await c.a.async_read_some(buffer(&byte, 1));
    CHECK(!ec);
    CHECK(n == 1);
    on_context = ctx.get_executor().running_in_this_thread();
  };
  beck::co_spawn(ctx, std::move(read_one), beck::detached);
  outcome sent;
  async_write(c.b, buffer("c", 1), note(sent));
  beck::test::run_all(ctx);
  CHECK(on_context);
  CHECK(c.queue.queued() == 0);
}

CONFORMANCE("a socket on an executor without an io_context is refused with a message") {
  manual_queue queue;
  bool thrown = false;
  try {
    stream socket{any_io_executor(queue.executor())};
  } catch (const beck::io_error& refused) {
    thrown = true;
    CHECK(refused.code() == error::invalid_argument);
  }
  CHECK(thrown);
}
