// SPDX-License-Identifier: BSL-1.0
// The library's own operations with a handler when memory is out: starting one is all or nothing,
// and completing needs none.
#include <array>
#include <beck/io/read_until.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/bind.hpp>
#include <functional>
#include <string>
#include <vector>

#include "support/allocations.hpp"
#include "support/context_options.hpp"
#include "support/handlers.hpp"
#include "support/stream_pair.hpp"

using beck::ip::tcp;
using beck::test::allocation_fault;
using beck::test::handler_life;
using beck::test::large_tracked;
using beck::test::stream_pair;

namespace {

// What operations of every kind need, and how each is started with a handler that no recycled block
// holds.
struct operations {
  explicit operations(beck::io_context& context)
      : pair(context),
        timer(context, beck::duration(0)),
        acceptor(context, tcp::endpoint(tcp::v4(), 0)),
        client(context) {}

  auto handler() {
    return large_tracked(life, [](auto&&...) {});
  }
  std::vector<std::function<void()>> starts() {
    return {
        [this] { timer.async_wait(handler()); },
        [this] { pair.a.async_write_some(beck::buffer("ab", 2), handler()); },
        [this] { pair.b.async_read_some(beck::buffer(data, 2), handler()); },
        [this] { beck::async_write(pair.a, two_parts, handler()); },
        [this] { beck::async_read(pair.b, beck::buffer(data, 4), handler()); },
        [this] { beck::async_write(pair.a, beck::buffer("cd\n", 3), handler()); },
        [this] { beck::async_read_until(pair.b, beck::dynamic_buffer(text), '\n', handler()); },
        [this] { pair.b.async_wait(pair.b.wait_write, handler()); },
        [this] { acceptor.async_accept(handler()); },
        [this] { client.async_connect(acceptor.local_endpoint(), handler()); },
    };
  }

  handler_life life;
  stream_pair pair;
  beck::steady_timer timer;
  tcp::acceptor acceptor;
  tcp::socket client;
  char data[16];
  std::string text;
  std::array<beck::const_buffer, 2> two_parts{beck::buffer("xx", 2), beck::buffer("yy", 2)};
};

}  // namespace

CONFORMANCE(
    "without memory for its block an operation is an exception, and nothing has started (K9)") {
  NEEDS_ALLOCATION_FAULTS();
  beck::io_context context(context_options());
  operations all(context);
  for (const auto& start : all.starts()) {
    const handler_life before = all.life;  // an accept still waits when its connect is started
    const auto outstanding = context.stats().outstanding;
    {
      const allocation_fault fault(1);
      CHECK_THROWS_AS(start(), std::bad_alloc);
      CHECK(fault.fired());
    }
    CHECK(all.life.live == before.live);
    CHECK(context.stats().outstanding == outstanding);
    CHECK(context.poll() == 0);
    CHECK(all.life.calls == before.calls);
    context.restart();
    start();  // the same again with memory
    context.poll();
    context.restart();
  }
  context.run();
  CHECK(all.life.calls == 10);
  CHECK(all.life.live == 0);
}

CONFORMANCE("an operation completes without memory, on its own executor and on another (K9)") {
  NEEDS_ALLOCATION_FAULTS();
  beck::io_context context(context_options());
  beck::io_context other(context_options());
  stream_pair pair(context);
  beck::steady_timer timer(context, beck::duration(0));
  handler_life life;
  char data[8];
  timer.async_wait(large_tracked(life, [](beck::error_code) {}));
  timer.async_wait(beck::bind_executor(other, large_tracked(life, [](beck::error_code) {})));
  pair.b.async_read_some(
      beck::buffer(data),
      beck::bind_executor(other, large_tracked(life, [](beck::error_code ec, std::size_t n) {
                            CHECK_FALSE(ec);
                            CHECK(n == 2);
                          })));
  context.poll();  // everything is armed
  context.restart();
  pair.a.write_some(beck::buffer("ab", 2));
  {
    const allocation_fault fault(1);
    context.run();
    other.run();
    CHECK_FALSE(fault.fired());
  }
  CHECK(life.calls == 3);
  CHECK(life.live == 0);
}
