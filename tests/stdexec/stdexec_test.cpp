// SPDX-License-Identifier: BSL-1.0
//
// Senders of beck under the algorithms, scopes and coroutines of stdexec, and stdexec's senders in
// tasks. Built if -DBECK_STDEXEC_DIR=... names a source tree of stdexec, which no package has.
#define BECK_WITH_STDEXEC
#include <array>
#include <atomic>
#include <beck/beck.hpp>
#include <beck/interop/execution.hpp>
#include <chrono>
#include <exec/repeat_until.hpp>
#include <exec/static_thread_pool.hpp>
#include <exec/when_any.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stdexec/execution.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

namespace ex = stdexec;
namespace be = beck::execution;
using namespace std::chrono_literals;
using beck::ip::tcp;
using beck::test::stream_pair;
using beck::test::stream_socket;

static_assert(ex::scheduler<be::scheduler>);
static_assert(ex::sender<be::detail::schedule_sender>);

namespace {

/// A context that a thread of its own runs, so that sync_wait of stdexec may block.
class running_context {
 public:
  running_context() : context(context_options()), work_(beck::make_work_guard(context)) {
    runner_ = std::thread([this] { context.run(); });
  }
  ~running_context() {
    work_.reset();
    runner_.join();
  }
  std::thread::id thread() const { return runner_.get_id(); }
  be::scheduler scheduler() { return be::scheduler_of(context); }

  beck::io_context context;

 private:
  beck::executor_work_guard<beck::io_context::executor_type> work_;
  std::thread runner_;
};

struct session {
  explicit session(tcp::socket accepted) : socket(std::move(accepted)) {}
  tcp::socket socket;
  std::array<char, 4096> space{};
};

auto echo(tcp::socket accepted) {
  return ex::just(std::make_unique<session>(std::move(accepted))) |
         ex::let_value([](std::unique_ptr<session>& at) {
           auto read = [s = at.get()] { return s->socket.async_read_some(beck::buffer(s->space)); };
           auto write = [s = at.get()](std::size_t n) {
             return be::as_sender(beck::async_write(s->socket, beck::buffer(s->space.data(), n)));
           };
           return exec::repeat_until(be::as_sender(read) | ex::let_value(write) |
                                     ex::then([](std::size_t) { return false; }));
         });
}

/// Sends messages, and returns the number of those that came back.
beck::task<int> talk(beck::io_context& context, tcp::endpoint to, int rounds) {
  tcp::socket socket(context);
  auto connected = co_await socket.async_connect(to);
  if (!connected) co_return -1;
  int returned = 0;
  for (int i = 0; i < rounds; ++i) {
    const std::string out = "hello " + std::to_string(1000 + i);
    std::string in(out.size(), '\0');
    beck::ignore(co_await beck::async_write(socket, beck::buffer(out)));
    beck::ignore(co_await beck::async_read(socket, beck::buffer(in)));
    returned += in == out;
  }
  co_return returned;
}

/// An operation that is ready whenever it is awaited.
class ready_operation : public beck::op<ready_operation, void(beck::error_code, std::size_t)> {
 public:
  ready_operation() = default;
  ready_operation(ready_operation&&) = default;
  bool ready() { return finish(beck::error_code(), 1); }
  void initiate(handler done) { done(beck::error_code(), 1); }
};

/// The end of the work on a context, whose senders start there.
struct last {
  using receiver_concept = be::receiver_tag;
  beck::io_context* context;
  void set_value(auto&&...) noexcept { context->stop(); }
  void set_error(auto&&) noexcept { std::terminate(); }
  void set_stopped() noexcept { context->stop(); }
  struct env {
    be::scheduler start;
    be::scheduler query(ex::get_scheduler_t) const noexcept { return start; }
    be::scheduler query(ex::get_start_scheduler_t) const noexcept { return start; }
  };
  env get_env() const noexcept { return {be::scheduler_of(*context)}; }
};

/// Runs a loop of senders beside a timer. Returns whether the timer has expired before its end.
template <class Sender>
bool is_fair(beck::io_context& context, Sender loop) {
  bool has_expired = false;
  beck::steady_timer timer(context, 1ms);
  timer.async_wait([&](beck::error_code) { has_expired = true; });
  auto state = be::connect(std::move(loop), last{&context});
  beck::post(context, [&] { state.start(); });
  context.run();
  return has_expired;
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel, "stdexec: algorithms run on beck's scheduler") {
  running_context at;
  const auto thread_of = [] { return std::this_thread::get_id(); };
  auto [thread] = ex::sync_wait(ex::schedule(at.scheduler()) | ex::then(thread_of)).value();
  CHECK(thread == at.thread());
  auto [back] = ex::sync_wait(ex::on(at.scheduler(), ex::just() | ex::then(thread_of))).value();
  CHECK(back == at.thread());
  auto [sum] =
      ex::sync_wait(ex::starts_on(at.scheduler(), ex::just(3)) | ex::continues_on(at.scheduler()) |
                    ex::then([](int n) { return n + 4; }))
          .value();
  CHECK(sum == 7);
}

CONFORMANCE_ON(beck::test::kernel,
               "stdexec: when_any limits the time of a read, whose bytes stay") {
  running_context at;
  stream_pair pair(at.context);
  std::array<char, 16> space{};
  const auto read = [&] { return be::as_sender(pair.a.async_read_some(beck::buffer(space))); };
  auto limit = at.scheduler().schedule_after(5ms) | ex::then([] { return std::size_t(99); });
  auto [first] = ex::sync_wait(exec::when_any(read(), std::move(limit))).value();
  CHECK(first == 99);
  CHECK(pair.b.write_some(beck::buffer("abc", 3)) == 3);
  auto [second] = ex::sync_wait(read()).value();
  CHECK(second == 3);
  pair.b.close();
  try {
    ex::sync_wait(read());
    FAIL("the end of the stream is an error");
  } catch (const std::system_error& e) {
    CHECK(e.code() == beck::error::eof);
  }
}

CONFORMANCE_ON(beck::test::kernel, "stdexec: a stop from another thread loses no byte") {
  running_context at;
  stream_pair pair(at.context);
  int values = 0, stops = 0, others = 0;
  for (int i = 0; i < 500; ++i) {
    char byte;
    ex::inplace_stop_source source;
    std::thread stopper([&] { source.request_stop(); });
    if (i % 2 == 1) CHECK(pair.b.write_some(beck::buffer("x", 1)) == 1);
    auto read = be::as_sender(pair.a.async_read_some(beck::buffer(&byte, 1))) |
                ex::upon_error([](auto&&) { return std::size_t(99); });
    const auto end = ex::sync_wait(
        ex::write_env(std::move(read), ex::prop{ex::get_stop_token, source.get_token()}));
    stopper.join();
    if (!end) {
      ++stops;
    } else {
      ++(std::get<0>(*end) == 1 ? values : others);
    }
  }
  CHECK(others == 0);
  CHECK(values + stops == 500);
  const std::size_t left = 250 - static_cast<std::size_t>(values);
  CHECK(pair.a.available() == left);
}

CONFORMANCE_ON(beck::test::kernel, "stdexec: an echo server of senders in a counting_scope") {
  running_context at;
  tcp::acceptor acceptor(at.context, tcp::endpoint(beck::ip::make_address("127.0.0.1"), 0));
  ex::counting_scope scope;
  const auto ignore_error = ex::upon_error([](auto&&) noexcept {});
  auto accept =
      be::as_sender([&] { return acceptor.async_accept(); }) | ex::then([&](tcp::socket socket) {
        ex::spawn(echo(std::move(socket)) | ex::upon_error([](auto&&) noexcept {}) |
                      ex::then([](auto&&...) noexcept {}),
                  scope.get_token());
        return false;
      });
  ex::spawn(exec::repeat_until(std::move(accept)) | ignore_error, scope.get_token());
  int returned = 0;
  for (int i = 0; i < 4; ++i) {
    auto [n] =
        ex::sync_wait(be::as_sender(talk(at.context, acceptor.local_endpoint(), 50), at.context))
            .value();
    returned += n;
  }
  CHECK(returned == 200);
  scope.request_stop();
  ex::sync_wait(scope.join());
}

CONFORMANCE_ON(beck::test::kernel, "stdexec: a thousand reads at once, and when_all") {
  running_context at;
  std::vector<std::unique_ptr<stream_pair>> pairs;
  for (int i = 0; i < 100; ++i) pairs.push_back(std::make_unique<stream_pair>(at.context));
  std::vector<char> bytes(1000);
  std::atomic<std::size_t> received = 0;
  ex::counting_scope scope;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    ex::spawn(be::as_sender(pairs[i % 100]->a.async_read_some(beck::buffer(&bytes[i], 1))) |
                  ex::then([&](std::size_t n) noexcept { received += n; }) |
                  ex::upon_error([](auto&&) noexcept {}),
              scope.get_token());
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    ex::sync_wait(be::as_sender(beck::async_write(pairs[i % 100]->b, beck::buffer("x", 1))));
  }
  ex::sync_wait(scope.join());
  CHECK(received == 1000);
  auto write = be::as_sender(beck::async_write(pairs[0]->b, beck::buffer("y", 1)));
  auto read = be::as_sender(pairs[0]->a.async_read_some(beck::buffer(&bytes[0], 1)));
  auto [written, got] = ex::sync_wait(ex::when_all(std::move(write), std::move(read))).value();
  CHECK(written + got == 2);
}

CONFORMANCE_ON(beck::test::kernel, "stdexec: tasks of beck as senders, and senders in tasks") {
  running_context at;
  const auto later = [](beck::io_context& context, int n) -> beck::task<int> {
    co_await beck::post(context);
    if (n < 0) throw std::runtime_error("negative");
    co_return n;
  };
  auto chain = be::as_sender(later(at.context, 5), at.context) | ex::let_value([&](int n) {
                 return be::as_sender(later(at.context, n + 1), at.context);
               });
  auto [value] = ex::sync_wait(std::move(chain)).value();
  CHECK(value == 6);
  CHECK_THROWS_WITH_AS(ex::sync_wait(be::as_sender(later(at.context, -1), at.context)), "negative",
                       std::runtime_error);

  exec::static_thread_pool pool(2);
  bool is_home = false;
  const auto uses_pool = [&]() -> beck::task<int> {
    const int n =
        co_await be::from_sender(ex::schedule(pool.get_scheduler()) | ex::then([] { return 42; }));
    is_home = at.context.get_executor().running_in_this_thread();
    co_return n;
  };
  auto [answer] = ex::sync_wait(be::as_sender(uses_pool(), at.context)).value();
  CHECK(answer == 42);
  CHECK(is_home);
}

CONFORMANCE_ON(beck::test::kernel,
               "stdexec: its task awaits ready operations without a turn of the queue") {
  beck::io_context context(context_options());
  constexpr int rounds = 1000;
  int done = 0;
  const auto work = [&]() -> ex::task<void> {
    while (done < rounds) {
      co_await be::as_sender(ready_operation(), context.get_executor());
      ++done;
    }
  };
  auto state = be::connect(work(), last{&context});
  beck::post(context, [&] { state.start(); });
  const auto before = context.stats().entries_run;
  context.run();
  CHECK(done == rounds);
  CHECK(context.stats().entries_run - before < rounds / 10);
}

CONFORMANCE_ON(beck::test::kernel, "stdexec: loops over ready operations give way to a timer") {
  beck::io_context context(context_options());
  bool may_end = false;
  beck::steady_timer end(context, 3ms);
  end.async_wait([&](beck::error_code) { may_end = true; });
  const auto ready = [&] {
    return be::as_sender([] { return ready_operation(); }, context.get_executor());
  };
  const auto is_last = [&](std::size_t) noexcept { return may_end; };
  CHECK(is_fair(context, exec::repeat_until(ready() | ex::then(is_last))));
  context.restart();
  may_end = false;
  end.expires_after(3ms);
  end.async_wait([&](beck::error_code) { may_end = true; });
  CHECK(is_fair(context, be::repeat_until(ex::just(std::size_t(1)) | ex::then(is_last))));
}
