// SPDX-License-Identifier: BSL-1.0
//
// write_queue while its stream works: order, bounds, waiting for room and for the end, and what it
// costs (K5).
#include <beck/coro/timeout.hpp>
#include <beck/io/write_queue.hpp>
#include <chrono>
#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "base/sanitizers.hpp"
#include "support/allocations.hpp"
#include "support/context_options.hpp"
#include "support/pattern.hpp"
#include "support/small_random.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::test::kernel;
using beck::test::pattern;
using beck::test::run_task;
using beck::test::stream_pair;
using beck::test::stream_socket;

namespace {

// Reads `bytes` bytes behind what `text` has.
beck::task<> read_on(stream_socket& from, std::string& text, std::size_t bytes) {
  const std::size_t before = text.size();
  text.resize(before + bytes);
  const auto [ec, n] = co_await beck::async_read(from, beck::buffer(text.data() + before, bytes));
  CHECK_FALSE(ec);
  text.resize(before + n);
}

// Fills `out` until it takes no more and nothing moves: the kernel has what it holds, and the queue
// is full.
beck::task<> fill_up(beck::write_queue& out, beck::io_context& ctx, std::string& pushed) {
  const std::string piece = pattern(1000);
  for (std::uint64_t sent = out.bytes_sent() + 1; sent != out.bytes_sent();) {
    sent = out.bytes_sent();
    while (!out.push(beck::buffer(piece))) pushed += piece;
    for (int turn = 0; turn < 5; ++turn) co_await beck::test::pause(ctx, 1ms);
  }
}

}  // namespace

CONFORMANCE("what one handler pushes goes out in order, by one write") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write_queue out(pair.a);
  std::string received, sent;
  auto work = [&]() -> beck::task<> {
    for (int i = 0; i < 200; ++i) {
      const std::string line = "line " + std::to_string(i) + '\n';
      CHECK_FALSE(out.push(beck::buffer(line)));
      sent += line;
    }
    CHECK(out.size() == sent.size());
    CHECK(out.bytes_sent() == 0);
    co_await read_on(pair.b, received, sent.size());
  };
  run_task(ctx, work);
  CHECK(received == sent);
  CHECK(out.bytes_sent() == sent.size());
  CHECK(out.writes() == 1);
  CHECK(out.size() == 0);
  CHECK(out.memory() == 0);
}

CONFORMANCE("a push of several buffers is taken as a whole") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write_queue out(pair.a, 10);
  std::string received;
  const std::vector<beck::const_buffer> parts{beck::buffer("abc", 3), beck::buffer("", 0),
                                              beck::buffer("defg", 4)};
  auto work = [&]() -> beck::task<> {
    CHECK_FALSE(out.push(parts));
    CHECK(out.push(parts) == beck::error::no_buffer_space);  // seven of ten bytes are taken
    CHECK(out.size() == 7);
    CHECK(out.push(std::vector<beck::const_buffer>(17)) == beck::error::message_size);
    co_await read_on(pair.b, received, 7);
  };
  run_task(ctx, work);
  CHECK(received == "abcdefg");
}

CONFORMANCE("a queue takes its bound of bytes, and not one more") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write_queue out(pair.a, 100);
  std::string received;
  const std::string text = pattern(101);
  auto work = [&]() -> beck::task<> {
    CHECK(out.push(beck::buffer(text)) == beck::error::message_size);  // it never fits
    CHECK(out.push(beck::const_buffer()) == beck::error_code());
    CHECK_FALSE(out.push(beck::buffer(text.data(), 60)));
    CHECK(out.push(beck::buffer(text.data(), 41)) == beck::error::no_buffer_space);
    CHECK_FALSE(out.push(beck::buffer(text.data() + 60, 40)));
    CHECK(out.push(beck::buffer(text.data(), 1)) == beck::error::no_buffer_space);
    CHECK(out.size() == out.bytes_max());
    co_await read_on(pair.b, received, 100);
    CHECK_FALSE(out.push(beck::buffer(text.data() + 100, 1)));
    co_await read_on(pair.b, received, 1);
  };
  run_task(ctx, work);
  CHECK(received == text);
}

CONFORMANCE("a large push arrives whole, over several writes") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write_queue out(pair.a, 1'000'000);
  const std::string text = pattern(1'000'000);
  std::string received;
  auto work = [&]() -> beck::task<> {
    CHECK_FALSE(out.push(beck::buffer(text)));
    co_await read_on(pair.b, received, text.size());
    CHECK_FALSE((co_await out.async_drain()).error());
  };
  run_task(ctx, work);
  CHECK(received == text);
  CHECK(out.writes() > 1);
}

CONFORMANCE("async_push waits for room, in the order of the calls") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write_queue out(pair.a, 4000);
  std::string pushed, received, order;
  const std::string a(3000, 'a'), b(2000, 'b'), c(10, 'c'), too_long(4001, 'd');
  const auto push = [&](const std::string& text) -> beck::task<> {
    const auto r = co_await out.async_push(beck::buffer(text));
    CHECK_FALSE(r.error());
    order += text[0];
  };
  auto work = [&]() -> beck::task<> {
    co_await fill_up(out, ctx, pushed);
    for (const std::string* text : {&a, &b, &c}) {
      beck::co_spawn(ctx, push(*text), beck::detached);
      pushed += *text;
    }
    co_await beck::test::pause(ctx, 5ms);
    CHECK(order.empty());
    // The small ones would fit sooner, but do not overtake.
    CHECK(out.push(beck::const_buffer("x", 1)) == beck::error::no_buffer_space);
    // A push that exceeds the bound will never fit, whoever waits.
    CHECK(out.push(beck::buffer(too_long)) == beck::error::message_size);
    co_await read_on(pair.b, received, pushed.size());
  };
  run_task(ctx, work);
  CHECK(order == "abc");
  CHECK(received == pushed);
}

CONFORMANCE("async_push of what fits ends at once, also with a callback") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write_queue out(pair.a, 100);
  std::string received;
  int calls = 0;
  const std::string text = pattern(200);
  auto work = [&]() -> beck::task<> {
    out.async_push(beck::buffer("call", 4), [&](beck::error_code ec) {
      CHECK_FALSE(ec);
      ++calls;
    });
    CHECK(calls == 0);
    CHECK_FALSE((co_await out.async_push(beck::buffer("back", 4))).error());
    const auto never = co_await out.async_push(beck::buffer(text));
    CHECK(never.error() == beck::error::message_size);
    co_await read_on(pair.b, received, 8);
  };
  run_task(ctx, work);
  CHECK(calls == 1);
  CHECK(received == "callback");
}

CONFORMANCE("a drain ends when what was pushed before it is sent, and at once if nothing was") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write_queue out(pair.a, 100'000);
  std::string pushed, received;
  bool drained = false;
  const auto drain = [&]() -> beck::task<> {
    const std::uint64_t until = pushed.size();
    CHECK_FALSE((co_await out.async_drain()).error());
    CHECK(out.bytes_sent() >= until);
    drained = true;
  };
  auto work = [&]() -> beck::task<> {
    CHECK_FALSE((co_await out.async_drain()).error());
    co_await fill_up(out, ctx, pushed);
    beck::co_spawn(ctx, drain(), beck::detached);
    co_await beck::test::pause(ctx, 5ms);
    CHECK_FALSE(drained);
    co_await read_on(pair.b, received, pushed.size());
    CHECK_FALSE((co_await out.async_drain()).error());
    CHECK(drained);
  };
  run_task(ctx, work);
  CHECK(received == pushed);
}

CONFORMANCE("a drain that is cancelled leaves the bytes alone") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write_queue out(pair.a, 50'000);
  std::string pushed, received;
  auto work = [&]() -> beck::task<> {
    co_await fill_up(out, ctx, pushed);
    const auto waited = co_await beck::timeout(out.async_drain(), 5ms);
    CHECK(waited.error() == beck::error::timeout);
    CHECK_FALSE(out.error());
    co_await read_on(pair.b, received, pushed.size());
    CHECK_FALSE((co_await out.async_drain()).error());
  };
  run_task(ctx, work);
  CHECK(received == pushed);
}

CONFORMANCE("an async_push that is cancelled has taken nothing, and those behind it go on") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write_queue out(pair.a, 4000);
  std::string pushed, received;
  const std::string large(4000, 'l'), small(1, 's');
  bool second = false;
  const auto push_small = [&]() -> beck::task<> {
    CHECK_FALSE((co_await out.async_push(beck::buffer(small))).error());
    second = true;
  };
  auto work = [&]() -> beck::task<> {
    co_await fill_up(out, ctx, pushed);
    beck::co_spawn(
        ctx,
        [&]() -> beck::task<> {
          const auto r = co_await beck::timeout(out.async_push(beck::buffer(large)), 5ms);
          CHECK(r.error() == beck::error::timeout);
        },
        beck::detached);
    beck::co_spawn(ctx, push_small(), beck::detached);
    co_await beck::test::pause(ctx, 20ms);
    co_await read_on(pair.b, received, pushed.size());
    pushed += small;
    co_await read_on(pair.b, received, 1);
  };
  run_task(ctx, work);
  CHECK(second);
  CHECK(received == pushed);
}

CONFORMANCE("what fits goes in as soon as the large push before it is cancelled") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write_queue out(pair.a, 4500);
  std::string pushed, received;
  const std::string large(4500, 'l'), small(1, 's');
  int taken = 0;
  const auto push_small = [&]() -> beck::task<> {
    CHECK_FALSE((co_await out.async_push(beck::buffer(small))).error());
    ++taken;
  };
  auto work = [&]() -> beck::task<> {
    co_await fill_up(out, ctx, pushed);
    beck::stop_source source;
    const auto push_large = [&]() -> beck::task<> {
      const auto r =
          co_await beck::with_stop(source.get_token(), out.async_push(beck::buffer(large)));
      CHECK(r.error() == beck::error::operation_aborted);
    };
    beck::co_spawn(ctx, push_large(), beck::detached);
    for (int i = 0; i < 3; ++i) beck::co_spawn(ctx, push_small(), beck::detached);
    co_await beck::test::pause(ctx, 1ms);
    CHECK(taken == 0);
    source.request_stop();
    co_await beck::test::pause(ctx, 1ms);
    CHECK(taken == 3);  // and the peer has read nothing
    pushed += small + small + small;
    co_await read_on(pair.b, received, pushed.size());
  };
  run_task(ctx, work);
  CHECK(received == pushed);
}

namespace {

/// Returns the most memory of a queue: a block of 4,096 bytes has room for 4,048.
constexpr std::size_t most_memory(std::size_t bound) { return bound / 4048 * 4096 + 2 * 4096; }

}  // namespace

CONFORMANCE("whatever is pushed, the memory stays below the bound, 1.2 % and two blocks") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  constexpr std::size_t bound = 20'000;
  beck::write_queue out(pair.a, bound);
  beck::testing::small_random random(7);
  std::string received;
  std::size_t total = 0, most = 0, refused = 0;
  const std::string text = pattern(91 * 100);
  auto producer = [&]() -> beck::task<> {
    for (int i = 0; i < 3000; ++i) {
      const std::size_t bytes = random.below(i % 3 == 0 ? 5000U : 50U);
      const auto ec = out.push(beck::buffer(text.data() + total % 91, bytes));
      if (ec) {
        CHECK(ec == beck::error::no_buffer_space);
        ++refused;
        CHECK_FALSE((co_await out.async_drain()).error());
      } else {
        total += bytes;
      }
      if (out.memory() > most) most = out.memory();
    }
    CHECK_FALSE((co_await out.async_drain()).error());
    pair.a.close();
  };
  auto consumer = [&]() -> beck::task<> {
    std::vector<char> room(3000);
    for (;;) {
      const auto [ec, n] = co_await pair.b.async_read_some(beck::buffer(room));
      if (ec) break;
      received.append(room.data(), n);
    }
  };
  beck::co_spawn(ctx, producer(), beck::detached);
  run_task(ctx, consumer());
  CHECK(refused > 0);
  CHECK(most <= most_memory(bound));
  CHECK(received == pattern(total));
  CHECK(out.memory() == 0);
}

CONFORMANCE("a queue with a large bound keeps to it, too") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  constexpr std::size_t bound = 2'000'000;
  beck::write_queue out(pair.a, bound);
  const std::string text = pattern(4097);
  while (!out.push(beck::buffer(text))) CHECK(out.memory() <= most_memory(bound));
  CHECK(out.size() > bound - text.size());
  CHECK(most_memory(bound) < bound + bound / 80 + 2 * 4096);
}

// The simulated network allocates for each message that travels; so this is the kernel's.
CONFORMANCE_ON(kernel, "pushes and drains allocate nothing in a steady state") {
  if (beck::detail::address_sanitizer) SKIP_CASE("blocks are not recycled under AddressSanitizer");
  if (!beck::test::counts_allocations()) SKIP_CASE("a sanitizer brings its own operator new");
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write_queue out(pair.a);
  std::uint64_t before = 0, after = 0;
  auto producer = [&]() -> beck::task<> {
    const std::string text = pattern(300);
    std::vector<char> room(3000);
    for (int i = 0; i < 600; ++i) {
      if (i == 100) before = beck::test::allocations() + beck::detail::block_misses();
      for (int j = 0; j < 10; ++j) CHECK_FALSE(out.push(beck::buffer(text)));
      CHECK_FALSE((co_await out.async_drain()).error());
      beck::ignore(co_await beck::async_read(pair.b, beck::buffer(room)));
    }
    after = beck::test::allocations() + beck::detail::block_misses();
  };
  run_task(ctx, producer());
  CHECK(after == before);
  CHECK(out.writes() == 600);
}
