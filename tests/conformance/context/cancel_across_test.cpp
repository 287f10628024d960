// SPDX-License-Identifier: BSL-1.0
//
// Requests to cancel what belongs to a context that another thread runs: they go there and come
// back, and what finished first wins. And requests that come when what waited has its end already.
#include <atomic>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/coro/within.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/sync_wait.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/compose.hpp>
#include <beck/run/thread_pool.hpp>
#include <chrono>
#include <memory>
#include <ostream>
#include <thread>
#include <utility>

#include "support/context_options.hpp"
#include "support/scale.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::cancellation_type;
using beck::error::operation_aborted;
using beck::test::kernel;
using beck::test::run_task;
using beck::test::scaled;
using beck::test::stream_pair;

namespace {

// A context that a thread of its own runs until join().
class neighbour {
 public:
  neighbour()
      : ctx(context_options()), guard_(ctx.get_executor()), thread_([this] { ctx.run(); }) {}
  ~neighbour() { join(); }

  void join() {
    guard_.reset();
    if (thread_.joinable()) thread_.join();
  }

  beck::io_context ctx;

 private:
  beck::executor_work_guard<beck::io_context::executor_type> guard_;
  std::thread thread_;
};

// A read that is started with a handler, as a library's own composed operations are.
template <class Token>
auto async_read_byte(beck::test::stream_socket& from, char& byte, Token&& token) {
  return beck::async_compose<Token, void(beck::error_code, std::size_t)>(
      [&from, &byte, begun = false](auto& self, beck::error_code ec = {},
                                    std::size_t n = 0) mutable {
        if (begun) return self.complete(ec, n);
        begun = true;
        from.async_read_some(beck::buffer(&byte, 1), std::move(self));
      },
      token, from);
}

}  // namespace

CONFORMANCE("a wait whose timer is gone can still be asked to stop") {
  beck::io_context ctx(context_options());
  run_task(ctx, [&]() -> beck::task<> {
    auto timer = std::make_unique<beck::steady_timer>(ctx, 1h);
    const auto wait = [&]() -> beck::task<bool> {
      const auto ended = co_await timer->async_wait();
      co_return ended.error() == operation_aborted;
    };
    // The end of this branch stops the other, whose completion is queued and not delivered.
    const auto destroy = [&]() -> beck::task<> {
      timer.reset();
      co_return;
    };
    auto both = beck::when_any(wait(), destroy());
    const auto first = co_await std::move(both);
    CHECK(first.index() == 1);
  });
}

CONFORMANCE_ON(kernel, "a signal reaches an operation of a context that another thread runs") {
  int aborted = 0;
  for (int round = 0; round < scaled(100); ++round) {
    neighbour other;
    beck::io_context home(context_options());
    stream_pair pair(other.ctx);
    beck::cancellation_signal signal;
    int calls = 0;
    char byte = 0;
    const auto note = [&](beck::error_code ec, std::size_t n) {
      ++calls;
      CHECK(home.get_executor().running_in_this_thread());
      CHECK((ec ? ec == operation_aborted && n == 0 : n == 1));
      if (ec) ++aborted;
    };
    pair.a.async_read_some(
        beck::buffer(&byte, 1),
        beck::bind_executor(home, beck::bind_cancellation_slot(signal.slot(), note)));
    beck::post(home, [&] { signal.emit(cancellation_type::all); });
    if (round % 2 == 1) {
      pair.b.async_write_some(beck::buffer("x", 1), [](beck::error_code, std::size_t) {});
    }
    home.run();
    CHECK(calls == 1);
  }
  CHECK(aborted >= scaled(100) / 2);
}

CONFORMANCE_ON(kernel,
               "a stop reaches a composed operation of a context that another thread runs") {
  neighbour other;
  for (int round = 0; round < scaled(100); ++round) {
    beck::io_context home(context_options());
    stream_pair pair(other.ctx);
    beck::stop_source source;
    char byte = 0;
    run_task(home, [&]() -> beck::task<> {
      beck::spawn([&]() -> beck::task<> {
        for (int i = 0; i < round % 5; ++i) co_await beck::post(home);
        source.request_stop();
      });
      auto read = async_read_byte(pair.a, byte, beck::deferred);
      const auto ended = co_await beck::with_stop(source.get_token(), std::move(read));
      CHECK(ended.error() == operation_aborted);
    });
  }
}

CONFORMANCE_ON(kernel, "a stop that races with the end of the other context's run is not lost") {
  for (int round = 0; round < scaled(200); ++round) {
    beck::io_context home(context_options());
    beck::io_context there(context_options());
    stream_pair pair(there);
    beck::stop_source source;
    char byte = 0;
    // Its run() returns when the read has ended, at about the time of the stop.
    pair.b.async_write_some(beck::buffer("x", 1), [](beck::error_code, std::size_t) {});
    std::thread runs;
    run_task(home, [&]() -> beck::task<> {
      beck::spawn([&]() -> beck::task<> {
        runs = std::thread([&] { there.run(); });
        for (int i = 0; i < round % 50; ++i) co_await beck::post(home);
        source.request_stop();
      });
      const auto read = [&]() -> beck::task<bool> {
        const auto [ec, n] = co_await pair.a.async_read_some(beck::buffer(&byte, 1));
        co_return ec ? ec == operation_aborted&& n == 0 : n == 1;
      };
      const auto ended = co_await beck::with_stop(source.get_token(), read());
      CHECK(ended.value_);
    });
    runs.join();
  }
}

CONFORMANCE_ON(kernel, "on a pool a composed operation is not cancelled, and its data arrive") {
  neighbour other;
  beck::thread_pool pool(2);
  for (int round = 0; round < scaled(50); ++round) {
    stream_pair pair(other.ctx);
    beck::stop_source source;
    char byte = 0;
    std::thread asks([&] {
      source.request_stop();
      beck::post(other.ctx, [&] {
        pair.b.async_write_some(beck::buffer("x", 1), [](beck::error_code, std::size_t) {});
      });
    });
    beck::sync_wait(pool, [&]() -> beck::task<> {
      const auto read = [&]() -> beck::task<std::size_t> {
        const auto [ec, n] = co_await async_read_byte(pair.a, byte, beck::deferred);
        co_return ec ? 0 : n;
      };
      const auto ended = co_await beck::with_stop(source.get_token(), read());
      CHECK(ended.value_ == 1);
    });
    asks.join();
  }
}

CONFORMANCE_ON(kernel,
               "a task whose stop another context has answered finishes nothing more at once") {
  neighbour other;
  beck::io_context home(context_options());
  stream_pair far(other.ctx);
  stream_pair near(home);
  beck::stop_source source;
  beck::error_code read = operation_aborted, written;
  // The read has ended there, and its result is on the way home when the stop is sent after it.
  const auto stop_too_late = [&] {
    std::atomic<bool> both_read{false};
    char next = 0;
    far.a.async_read_some(beck::buffer(&next, 1),
                          [&](beck::error_code, std::size_t) { both_read = true; });
    far.b.write_some(beck::buffer("ab", 2));
    while (!both_read) std::this_thread::yield();
    source.request_stop();
  };
  const auto work = [&]() -> beck::task<> {
    char byte = 0;
    const auto got = co_await far.a.async_read_some(beck::buffer(&byte, 1));
    read = got.error();
    const auto sent = co_await near.a.async_write_some(beck::buffer("x", 1));
    written = sent.error();
  };
  run_task(home, [&]() -> beck::task<> {
    beck::post(home, stop_too_late);
    auto stoppable = beck::with_stop(source.get_token(), work());
    beck::ignore(co_await std::move(stoppable));
  });
  CHECK_FALSE(read);
  CHECK(written == operation_aborted);
}
