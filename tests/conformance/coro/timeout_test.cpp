// SPDX-License-Identifier: BSL-1.0
//
// Time limits: what they end, what they leave alone, which error says so, and what they cost.
#include <array>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/read_until.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/op.hpp>
#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/allocations.hpp"
#include "support/context_options.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::timeout;
using beck::with_deadline;
using beck::test::pattern;
using beck::test::run_task;
using beck::test::stream_pair;

namespace {

beck::task<int> read_number(beck::test::stream_socket& socket, int number) {
  char byte = 0;
  const auto [ec, n] = co_await socket.async_read_some(beck::buffer(&byte, 1));
  co_return ec ? -number : number;
}

beck::awaitable<int> read_number_or_throw(beck::test::stream_socket& socket) {
  char byte = 0;
  co_await socket.async_read_some(beck::buffer(&byte, 1));
  co_return 1;
}

}  // namespace

CONFORMANCE("a read that finds nothing in time ends with timeout, and the bytes stay") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    char data[8];
    auto late = co_await timeout(pair.a.async_read_some(beck::buffer(data)), 1ms);
    CHECK(late.error() == beck::error::timeout);
    CHECK(late.error() == std::errc::timed_out);
    CHECK(late.error() == beck::error::timed_out);
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("x", 1)));
    auto next = co_await timeout(pair.a.async_read_some(beck::buffer(data)), 10s);
    CHECK_FALSE(next.error());
    CHECK(*next == 1);
  });
}

CONFORMANCE("an operation that finishes in time is not touched by its limit") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    for (int i = 0; i < 20; ++i) {
      char data[8];
      beck::ignore(co_await beck::async_write(pair.b, beck::buffer("ab", 2)));
      auto got = co_await timeout(beck::async_read(pair.a, beck::buffer(data, 2)), 1h);
      CHECK_FALSE(got.error());
      CHECK(*got == 2);
    }
  });
}

CONFORMANCE("a read with no time at all still takes what is there") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("abc", 3)));
    co_await beck::test::until_available(pair.a, ctx, 3);
    char data[8];
    auto got = co_await timeout(pair.a.async_read_some(beck::buffer(data)), 0s);
    CHECK_FALSE(got.error());
    CHECK(*got == 3);
    auto nothing = co_await timeout(pair.a.async_read_some(beck::buffer(data)), 0s);
    CHECK(nothing.error() == beck::error::timeout);
    auto negative = co_await timeout(pair.a.async_read_some(beck::buffer(data)), -1h);
    CHECK(negative.error() == beck::error::timeout);
  });
}

CONFORMANCE("a composed read that runs out of time says how much it has") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("abc", 3)));
    char data[8];
    auto got = co_await timeout(beck::async_read(pair.a, beck::buffer(data)), 2ms);
    CHECK(got.error() == beck::error::timeout);
    CHECK(*got == 3);
    CHECK(std::string(data, 3) == "abc");
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("defghijk", 8)));
    got = co_await timeout(beck::async_read(pair.a, beck::buffer(data)), 10s);
    CHECK_FALSE(got.error());
    CHECK(std::string(data, 8) == "defghijk");
  });
}

CONFORMANCE("a composed write that runs out of time says exactly what was sent") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  const std::string text = pattern(8 << 20);
  run_task(ctx, [&]() -> beck::task<> {
    auto sent = co_await timeout(beck::async_write(pair.b, beck::buffer(text)), 2ms);
    CHECK(sent.error() == beck::error::timeout);
    CHECK(*sent < text.size());
    pair.b.close();
    std::string all(text.size(), ' ');
    auto got = co_await beck::async_read(pair.a, beck::buffer(all));
    CHECK(got.error() == beck::error::eof);
    all.resize(*got);
    CHECK(all == text.substr(0, *sent));
  });
}

CONFORMANCE("a read_until that runs out of time keeps what it read") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    std::string line;
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("half a ", 7)));
    auto got =
        co_await timeout(beck::async_read_until(pair.a, beck::dynamic_buffer(line), '\n'), 2ms);
    CHECK(got.error() == beck::error::timeout);
    CHECK(line == "half a ");
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("line\n", 5)));
    got = co_await timeout(beck::async_read_until(pair.a, beck::dynamic_buffer(line), '\n'), 10s);
    CHECK_FALSE(got.error());
    CHECK(line == "half a line\n");
  });
}

CONFORMANCE("a read behind another one can run out of time alone") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::optional<beck::error_code> first;
  char one[4];
  pair.a.async_read_some(beck::buffer(one), [&](beck::error_code ec, std::size_t) { first = ec; });
  run_task(ctx, [&]() -> beck::task<> {
    char two[4];
    auto late = co_await timeout(pair.a.async_read_some(beck::buffer(two)), 1ms);
    CHECK(late.error() == beck::error::timeout);
    CHECK_FALSE(first.has_value());
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("x", 1)));
  });
  REQUIRE(first.has_value());
  CHECK_FALSE(*first);
}

CONFORMANCE("an accept and a wait can run out of time, and work afterwards") {
  beck::io_context ctx(context_options());
  beck::ip::tcp::acceptor acceptor(ctx, {beck::ip::address_v4::loopback(), 0});
  run_task(ctx, [&]() -> beck::task<> {
    auto nobody = co_await timeout(acceptor.async_accept(), 1ms);
    CHECK(nobody.error() == beck::error::timeout);
    auto waited = co_await timeout(acceptor.async_wait(acceptor.wait_read), 1ms);
    CHECK(waited.error() == beck::error::timeout);
    beck::steady_timer timer(ctx, 1h);
    auto early = co_await timeout(timer.async_wait(), 1ms);
    CHECK(early.error() == beck::error::timeout);
    beck::ip::tcp::socket client(ctx);
    auto connected = co_await timeout(client.async_connect(acceptor.local_endpoint()), 10s);
    CHECK_FALSE(connected.error());
    auto somebody = co_await timeout(acceptor.async_accept(), 10s);
    CHECK_FALSE(somebody.error());
  });
}

CONFORMANCE("a task that runs out of time ends with everything that it awaits") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    auto late = co_await timeout(read_number(pair.a, 7), 1ms);
    CHECK(late.error() == beck::error::timeout);
    CHECK(late.value_ == -7);  // what the task gave all the same
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("x", 1)));
    auto in_time = co_await timeout(read_number(pair.a, 7), 10s);
    CHECK_FALSE(in_time.error());
    CHECK(*in_time == 7);
  });
}

CONFORMANCE("a task that throws because its time is over gives the error, other throws pass") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    auto late = co_await timeout(read_number_or_throw(pair.a), 1ms);
    CHECK(late.error() == beck::error::timeout);
    pair.b.close();
    bool passed = false;
    try {
      beck::ignore(co_await timeout(read_number_or_throw(pair.a), 10s));
    } catch (const beck::io_error& e) {
      passed = e.code() == beck::error::eof;
    }
    CHECK(passed);
  });
}

CONFORMANCE("after its time a task's later awaits end at once") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    int refused = 0;
    const auto stubborn = [&]() -> beck::task<> {
      for (int i = 0; i < 100; ++i) {
        char data[4];
        auto got = co_await pair.a.async_read_some(beck::buffer(data));
        refused += got.error() == beck::error::timeout ? 1 : 0;
        if (i == 0) beck::ignore(pair.b.write_some(beck::buffer("abcd", 4)));
      }
    };
    auto late = co_await timeout(stubborn(), 1ms);
    CHECK(late.error() == beck::error::timeout);
    CHECK(refused == 100);
    char data[4];
    auto kept = co_await pair.a.async_read_some(beck::buffer(data));  // outside of the limit
    CHECK_FALSE(kept.error());
    CHECK(*kept == 4);
  });
}

CONFORMANCE("the innermost limit that passes decides, and limits nest") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    std::string story;
    const auto inner = [&]() -> beck::task<int> {
      char data[4];
      auto quick = co_await timeout(pair.a.async_read_some(beck::buffer(data)), 1ms);
      story += quick.error() == beck::error::timeout ? "inner " : "? ";
      auto slow = co_await timeout(pair.a.async_read_some(beck::buffer(data)), 1h);
      story += slow.error() == beck::error::timeout ? "outer " : "? ";
      co_return 3;
    };
    auto whole = co_await timeout(inner(), 5ms);
    CHECK(whole.error() == beck::error::timeout);
    CHECK(story == "inner outer ");
  });
}

CONFORMANCE("a deadline is inherited by everything below it") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    const beck::time_point end = beck::steady_now() + 2ms;
    const auto deep = [&](auto& self, int depth) -> beck::task<int> {
      if (depth > 0) {
        auto below = self(self, depth - 1);
        const int found = co_await std::move(below);
        co_return found + 1;
      }
      char data[4];
      auto got = co_await pair.a.async_read_some(beck::buffer(data));
      CHECK(got.error() == beck::error::timeout);
      co_return 0;
    };
    auto work = deep(deep, 50);
    auto whole = co_await with_deadline(end, std::move(work));
    CHECK(whole.error() == beck::error::timeout);
    CHECK(whole.value_ == 50);
    CHECK(beck::steady_now() >= end);
    auto past = co_await with_deadline(end, read_number(pair.a, 1));
    CHECK(past.error() == beck::error::timeout);
  });
}

CONFORMANCE("a limit on what is ready at once costs neither an allocation nor a clock") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    std::string text = "line\n";
    for (int round = 0; round < 2; ++round) {
      const auto before = beck::test::allocations();
      for (int i = 0; i < 50; ++i) {
        auto got =
            co_await timeout(beck::async_read_until(pair.a, beck::dynamic_buffer(text), '\n'), 1s);
        CHECK_FALSE(got.error());
      }
      if (round == 1) CHECK(beck::test::allocations() == before);
    }
  });
}

CONFORMANCE("a limit that passes allocates nothing once the timers have grown") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    std::size_t before = 0;
    for (int i = 0; i < 20; ++i) {
      if (i == 10) before = beck::test::allocations();
      char data[8];
      auto late = co_await timeout(pair.a.async_read_some(beck::buffer(data)), 10us);
      CHECK(late.error() == beck::error::timeout);
    }
    CHECK(beck::test::allocations() == before);
  });
}

CONFORMANCE("a limit for ever is none") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    beck::spawn([&]() -> beck::task<> {
      beck::steady_timer timer(ctx, 1ms);
      beck::ignore(co_await timer.async_wait());
      beck::ignore(co_await beck::async_write(pair.b, beck::buffer("x", 1)));
    });
    char data[8];
    auto got = co_await timeout(pair.a.async_read_some(beck::buffer(data)), beck::duration::max());
    CHECK_FALSE(got.error());
  });
}

CONFORMANCE("a context that goes takes suspended limits with it") {
  char data[8];
  bool resumed = false;
  {
    beck::io_context ctx(context_options());
    stream_pair pair(ctx);
    co_spawn(
        ctx,
        [&]() -> beck::task<> {
          beck::ignore(co_await timeout(read_number(pair.a, 1), 1h));
          resumed = true;
        },
        beck::detached);
    co_spawn(
        ctx,
        [&]() -> beck::task<> {
          beck::ignore(co_await timeout(pair.b.async_read_some(beck::buffer(data)), 1h));
          resumed = true;
        },
        beck::detached);
    ctx.poll();
  }
  CHECK_FALSE(resumed);
}

CONFORMANCE_ON(beck::test::kernel,
               "a composed read whose time passes while it is queued takes one more step") {
  bool met = false;  // the time must not pass before the loop has seen the bytes
  for (int attempt = 1; attempt <= 100 && !met; ++attempt) {
    beck::io_context ctx(context_options());
    stream_pair pair(ctx);
    std::string data(20 * 4096, ' ');
    std::vector<beck::mutable_buffer> parts;  // a step takes 16 of them
    for (std::size_t at = 0; at < data.size(); at += 4096) {
      parts.push_back(beck::buffer(data.data() + at, 4096));
    }
    std::optional<beck::io_result<std::size_t>> result;
    const beck::time_point end = beck::steady_now() + beck::duration(1ms * attempt);
    beck::co_spawn(
        ctx,
        [&]() -> beck::task<> {
          auto limited = with_deadline(end, beck::async_read(pair.a, parts));
          result = co_await std::move(limited);
        },
        beck::detached);
    ctx.poll();
    const std::string sent = pattern(data.size());
    beck::write(pair.b, beck::buffer(sent));
    // The kernel is asked after 64 entries, so what it says waits behind the one that takes long.
    for (int i = 0; i < 1500; ++i) {
      beck::post(ctx, [&, i] {
        while (i == 500 && beck::steady_now() < end) {}
      });
    }
    ctx.poll();
    REQUIRE(result.has_value());
    CHECK(result->error() == beck::error::timeout);
    CHECK((result->value_ == 0 || result->value_ == 16 * 4096));
    met = result->value_ != 0;
  }
  CHECK(met);
}
