// SPDX-License-Identifier: BSL-1.0
// One writer, one reader, and somebody who stops what they do.
#include "simulation/cancellation.hpp"

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/mutex.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/io/cancel_after.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <utility>

namespace beck::test {
using namespace detail;
namespace {

constexpr std::size_t bytes_max = 200;
constexpr unsigned operations_each = 12;
constexpr std::uint64_t limit_ns_max = 300'000;

char expected(std::uint64_t position) {
  return static_cast<char>((position * 131 + (position >> 8)) & 0xff);
}

class cancellation {
 public:
  cancellation(io_context& ctx, testing::sim::random_source& random, cancellation_result& result)
      : ctx_(ctx), writing_(ctx), reading_(ctx), random_(random), result_(result) {
    connect_pair(writing_, reading_);
  }

  void start() {
    co_spawn(ctx_, write(), detached);
    co_spawn(ctx_, read(), detached);
  }

 private:
  duration some_time() { return duration(static_cast<long long>(random_.below(limit_ns_max))); }

  /// Requests a stop after a while, or after some turns of the queue.
  task<> stop_later(stop_source source) {
    if (random_.chance(0.5)) {
      steady_timer timer(ctx_, some_time());
      beck::ignore(co_await timer.async_wait());
    } else {
      for (std::uint64_t hops = random_.below(6); hops > 0; --hops) co_await post(ctx_);
    }
    source.request_stop();
  }

  task<> wait(duration time) {
    steady_timer timer(ctx_, time);
    beck::ignore(co_await timer.async_wait());
  }

  /// The operation is started with a handler, which a coroutine waits for.
  template <class Op>
  auto with_handler(Op op, duration limit) {
    auto start = [kept = std::move(op), limit](auto&& handler) mutable {
      std::move(kept)(cancel_after(limit, static_cast<decltype(handler)&&>(handler)));
    };
    deferred_t token;
    return async_initiate<deferred_t, void(error_code, std::size_t)>(std::move(start), token);
  }

  /// Awaits an operation under a limit of some kind, or none; the result is the operation's own.
  template <class Op>
  task<io_result<std::size_t>> cut_short(Op op) {
    ++result_.operations;
    io_result<std::size_t> got;
    const stop_source source;
    switch (random_.below(8)) {
      case 0:
        got = co_await std::move(op);
        if (got.error()) ++result_.wrong_errors;
        co_return got;
      case 1: {
        auto limited = timeout(std::move(op), some_time());
        got = co_await std::move(limited);
        break;
      }
      case 2: {
        co_spawn(ctx_, stop_later(source), detached);
        auto limited = with_stop(source.get_token(), std::move(op));
        got = co_await std::move(limited);
        break;
      }
      case 3: {
        auto race = when_any(std::move(op), wait(some_time()));
        auto ended = co_await std::move(race);
        got = std::move(ended).template get<0>().value();
        break;
      }
      case 4: {
        auto limited = std::move(op)(cancel_after(some_time()));
        got = co_await std::move(limited);
        break;
      }
      case 5: {
        auto limited = with_handler(std::move(op), some_time());
        got = co_await std::move(limited);
        break;
      }
      case 6: {
        writing_.expires_after(some_time());
        got = co_await std::move(op);
        writing_.expires_never();
        break;
      }
      default: {
        co_spawn(ctx_, stop_later(source), detached);
        auto inner = timeout(as_task(std::move(op)), some_time());
        auto limited = with_stop(source.get_token(), as_task(std::move(inner)));
        got = co_await std::move(limited);
        break;
      }
    }
    if (got.error()) {
      const bool explained =
          got.error() == error::operation_aborted || got.error() == error::timeout;
      ++(explained ? result_.cancelled : result_.wrong_errors);
    }
    co_return got;
  }

  /// Takes the mutex, perhaps not in time, and holds it for a moment.
  task<> visit_mutex() {
    ++result_.operations;
    auto locking = timeout(mutex_.lock(), some_time());
    const auto locked = co_await std::move(locking);
    if (locked.error()) {
      ++(locked.error() == error::timeout ? result_.cancelled : result_.wrong_errors);
      co_return;
    }
    if (++holders_ != 1) ++result_.two_in_mutex;
    if (random_.chance(0.5)) co_await wait(some_time());
    --holders_;
    mutex_.unlock();
  }

  task<> write() {
    char data[bytes_max];
    for (unsigned i = 0; i < operations_each; ++i) {
      if (random_.chance(0.3)) co_await visit_mutex();
      const std::size_t bytes = 1 + random_.below(bytes_max);
      for (std::size_t at = 0; at < bytes; ++at) data[at] = expected(result_.sent + at);
      io_result<std::size_t> sent;
      if (random_.chance(0.5)) {
        auto whole = cut_short(async_write(writing_, buffer(data, bytes)));
        sent = co_await std::move(whole);
      } else {
        auto some = cut_short(writing_.async_write_some(buffer(data, bytes)));
        sent = co_await std::move(some);
      }
      result_.sent += sent.value_;
    }
    writing_.shutdown(writing_.shutdown_send);
    sent_all_ = true;
  }

  void check(const char* data, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; ++at) {
      if (data[at] != expected(result_.received + at)) ++result_.wrong_bytes;
    }
    result_.received += bytes;
  }

  task<> read() {
    char data[bytes_max];
    while (!sent_all_ || result_.received < result_.sent) {
      if (random_.chance(0.3)) co_await visit_mutex();
      const std::size_t bytes = 1 + random_.below(bytes_max);
      io_result<std::size_t> got;
      if (!sent_all_ && random_.chance(0.4)) {
        auto whole = cut_whole(data, bytes);
        got = co_await std::move(whole);
      } else {
        auto some = cut_or_end(data, bytes);
        got = co_await std::move(some);
      }
      check(data, got.value_);
    }
    const auto end = co_await reading_.async_read_some(buffer(data));
    if (end.error() != error::eof) ++result_.wrong_errors;
    result_.ended = true;
  }

  /// A whole read always has a limit: the writer may have nothing more to say.
  task<io_result<std::size_t>> cut_whole(char* data, std::size_t bytes) {
    ++result_.operations;
    io_result<std::size_t> got;
    if (random_.chance(0.5)) {
      auto limited = timeout(async_read(reading_, buffer(data, bytes)), some_time());
      got = co_await std::move(limited);
    } else {
      reading_.expires_after(some_time());
      got = co_await async_read(reading_, buffer(data, bytes));
      reading_.expires_never();
    }
    if (got.error() == error::timeout) ++result_.cancelled;
    if (got.error() && got.error() != error::timeout && got.error() != error::eof)
      ++result_.wrong_errors;
    co_return got;
  }
  task<io_result<std::size_t>> cut_or_end(char* data, std::size_t bytes) {
    if (sent_all_) {  // what is left is there, or on its way
      co_return co_await reading_.async_read_some(buffer(data, bytes));
    }
    ++result_.operations;
    auto limited = timeout(reading_.async_read_some(buffer(data, bytes)), some_time());
    const auto got = co_await std::move(limited);
    if (got.error() == error::timeout) ++result_.cancelled;
    if (got.error() && got.error() != error::timeout && got.error() != error::eof)
      ++result_.wrong_errors;
    co_return got;
  }

  io_context& ctx_;
  local::stream_protocol::socket writing_;
  local::stream_protocol::socket reading_;
  testing::sim::random_source& random_;
  cancellation_result& result_;
  mutex mutex_;
  unsigned holders_ = 0;
  bool sent_all_ = false;
};

}  // namespace

cancellation_result run_cancellation(testing::sim::world& world) {
  auto how = testing::sim::settings();
  if (world.random().chance(0.5)) how.buffer_sizes(32, 32);  // so that writes wait
  world.configure(how);
  cancellation_result result;
  io_context ctx(world.host("one"));
  {
    cancellation work(ctx, world.random(), result);
    work.start();
    ctx.run();
  }
  result.outstanding = ctx.stats().outstanding;
  return result;
}

std::string cancellation_result::report() const {
  std::string text;
  const auto expect = [&text](bool right, const char* what) {
    if (!right) text += std::string(text.empty() ? "" : "; ") + what;
  };
  expect(ended, "the reader did not come to the end");
  expect(sent == received, "the writer was told of other bytes than the reader");
  expect(wrong_bytes == 0, "bytes came damaged or out of order");
  expect(wrong_errors == 0, "an operation ended with an error that nobody caused");
  expect(two_in_mutex == 0, "two held the mutex");
  expect(outstanding == 0, "operations are left");
  return text;
}

std::string cancellation_program(testing::sim::world& world) {
  return run_cancellation(world).report();
}

}  // namespace beck::test
