// SPDX-License-Identifier: BSL-1.0
//
// Stop requests: from the same thread and from others, before, during and after what they end; what
// finished first wins, and no byte is lost.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/within.hpp>
#include <beck/io/sync_wait.hpp>
#include <beck/net/tcp.hpp>
#include <chrono>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/context_options.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::with_stop;
using beck::error::operation_aborted;
using beck::test::run_task;
using beck::test::stream_pair;

namespace {

beck::task<int> read_one(beck::test::stream_socket& socket) {
  char byte = 0;
  const auto [ec, n] = co_await socket.async_read_some(beck::buffer(&byte, 1));
  co_return ec ? -1 : 1;
}

}  // namespace

CONFORMANCE("a stop ends the operation that a task awaits") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::stop_source source;
  run_task(ctx, [&]() -> beck::task<> {
    beck::spawn([&]() -> beck::task<> {
      beck::steady_timer timer(ctx, 1ms);
      beck::ignore(co_await timer.async_wait());
      CHECK(source.request_stop());
      CHECK_FALSE(source.request_stop());
    });
    auto stopped = co_await with_stop(source.get_token(), read_one(pair.a));
    CHECK(stopped.error() == operation_aborted);
    CHECK(stopped.value_ == -1);
  });
}

CONFORMANCE("a stop that was requested before ends the first await") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::stop_source source;
  source.request_stop();
  run_task(ctx, [&]() -> beck::task<> {
    beck::ignore(pair.b.write_some(beck::buffer("x", 1)));
    auto stopped = co_await with_stop(source.get_token(), read_one(pair.a));
    CHECK(stopped.error() == operation_aborted);
    char byte = 0;
    auto direct = co_await with_stop(source.get_token(), beck::steady_timer(ctx, 1h).async_wait());
    CHECK(direct.error() == operation_aborted);
    auto kept = co_await pair.a.async_read_some(beck::buffer(&byte, 1));
    CHECK_FALSE(kept.error());
    CHECK(byte == 'x');
  });
}

CONFORMANCE("a stop after the end does nothing") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::stop_source source;
  run_task(ctx, [&]() -> beck::task<> {
    beck::ignore(pair.b.write_some(beck::buffer("xy", 2)));
    auto fine = co_await with_stop(source.get_token(), read_one(pair.a));
    CHECK_FALSE(fine.error());
    source.request_stop();
    const int after = co_await read_one(pair.a);
    CHECK(after == 1);
  });
}

CONFORMANCE("a stop reaches through limits, tasks and other stops below it") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::stop_source outer;
  beck::stop_source inner;
  run_task(ctx, [&]() -> beck::task<> {
    const auto nested = [&]() -> beck::task<int> {
      auto limited = beck::timeout(read_one(pair.a), 1h);
      auto got = co_await with_stop(inner.get_token(), std::move(limited));
      CHECK(got.error() == operation_aborted);
      co_return 5;
    };
    beck::spawn([&]() -> beck::task<> {
      co_await beck::post(ctx);
      outer.request_stop();
      co_return;
    });
    auto whole = co_await with_stop(outer.get_token(), nested());
    CHECK(whole.error() == operation_aborted);
    CHECK(whole.value_ == 5);
  });
}

CONFORMANCE("a shielded farewell is said although its task was stopped") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::stop_source source;
  run_task(ctx, [&]() -> beck::task<> {
    const auto session = [&]() -> beck::task<> {
      char byte = 0;
      auto got = co_await pair.a.async_read_some(beck::buffer(&byte, 1));
      CHECK(got.error() == operation_aborted);
      auto refused = co_await beck::async_write(pair.a, beck::buffer("no", 2));
      CHECK(refused.error() == operation_aborted);
      CHECK(*refused == 0);
      auto farewell = beck::timeout(beck::async_write(pair.a, beck::buffer("bye", 3)), 10s);
      auto said = co_await beck::shield(std::move(farewell));
      CHECK_FALSE(said.error());
    };
    beck::spawn([&]() -> beck::task<> {
      co_await beck::post(ctx);
      source.request_stop();
      co_return;
    });
    beck::ignore(co_await with_stop(source.get_token(), session()));
    std::string heard(3, ' ');
    beck::ignore(co_await beck::async_read(pair.b, beck::buffer(heard)));
    CHECK(heard == "bye");
  });
}

CONFORMANCE_ON(beck::test::kernel, "stops from another thread end every task, each exactly once") {
  beck::io_context ctx(context_options());
  constexpr int tasks = 50;
  std::vector<stream_pair> pairs;
  pairs.reserve(tasks);
  std::vector<beck::stop_source> sources(tasks);
  int ended = 0;
  for (int i = 0; i < tasks; ++i) {
    pairs.emplace_back(ctx);
    co_spawn(
        ctx,
        [&, i]() -> beck::task<> {
          const auto at = static_cast<std::size_t>(i);
          auto got = co_await with_stop(sources[at].get_token(), read_one(pairs[at].a));
          CHECK(got.error() == operation_aborted);
          ++ended;
        },
        beck::detached);
  }
  std::thread other([&] {
    for (const auto& source : sources) source.request_stop();
  });
  ctx.run();
  other.join();
  CHECK(ended == tasks);
}

CONFORMANCE_ON(beck::test::kernel,
               "a stop that races with the end of its task and of its context harms nothing") {
  for (int round = 0; round < 200; ++round) {
    beck::stop_source source;
    std::thread other([token_source = source] { token_source.request_stop(); });
    {
      beck::io_context ctx(context_options());
      stream_pair pair(ctx);
      beck::ignore(pair.b.write_some(beck::buffer("x", 1)));
      bool finished = false;
      co_spawn(
          ctx,
          [&]() -> beck::task<> {
            auto got = co_await with_stop(source.get_token(), read_one(pair.a));
            CHECK(((got.error() == operation_aborted && got.value_ == -1) ||
                   (!got.error() && got.value_ == 1)));
            finished = true;
          },
          beck::detached);
      if (round % 2 == 0) {
        ctx.run();
        CHECK(finished);
      } else {
        ctx.poll_one();
      }
    }
    other.join();
  }
}

CONFORMANCE("a task on one context is stopped while it waits for another context's operation") {
  beck::io_context home(context_options());
  beck::io_context away(context_options());
  stream_pair pair(away);
  beck::stop_source source;
  bool ended = false;
  co_spawn(
      home,
      [&]() -> beck::task<> {
        char data[4];
        auto got =
            co_await with_stop(source.get_token(), pair.a.async_read_some(beck::buffer(data)));
        CHECK(got.error() == operation_aborted);
        ended = true;
      },
      beck::detached);
  const auto turn = [&] {
    home.poll();
    home.restart();
    away.poll();
    away.restart();
  };
  turn();
  source.request_stop();
  for (int i = 0; i < 10 && !ended; ++i) turn();
  CHECK(ended);
}

CONFORMANCE("bytes are never lost, whenever the stop comes") {
  // The reader is stopped after k hops of the loop; what it read and what is left are the whole.
  for (int k = 0; k < 40; ++k) {
    beck::io_context ctx(context_options());
    stream_pair pair(ctx);
    const std::string text = beck::test::pattern(3000);
    std::string first(1000, '\0');
    std::string rest;
    run_task(ctx, [&]() -> beck::task<> {
      beck::stop_source source;
      beck::spawn([&, source]() -> beck::task<> {
        for (int i = 0; i < k; ++i) co_await beck::post(ctx);
        source.request_stop();
      });
      beck::spawn([&]() -> beck::task<> {
        for (std::size_t at = 0; at < text.size(); at += 100)
          beck::ignore(co_await beck::async_write(pair.b, beck::buffer(&text[at], 100)));
        pair.b.shutdown(pair.b.shutdown_send);
      });
      auto reading = beck::async_read(pair.a, beck::buffer(first));
      auto got = co_await with_stop(source.get_token(), std::move(reading));
      CHECK((got.error() == operation_aborted || !got.error()));
      first.resize(*got);
      rest.resize(text.size());
      auto more = co_await beck::async_read(pair.a, beck::buffer(rest));
      rest.resize(*more);
      CHECK((more.error() == beck::error::eof || first.empty()));
    });
    CHECK(first + rest == text);
  }
}
