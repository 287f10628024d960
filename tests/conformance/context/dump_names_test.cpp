// SPDX-License-Identifier: BSL-1.0
//
// io_context::dump(): what it calls the things that tasks wait for, where its text goes, and from
// which threads.
#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <beck/coro/channel.hpp>
#include <beck/coro/condition_variable.hpp>
#include <beck/coro/event.hpp>
#include <beck/coro/latch.hpp>
#include <beck/coro/semaphore.hpp>
#include <beck/coro/shared_mutex.hpp>
#include <beck/coro/task_group.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/signal_set.hpp>
#include <beck/io/system_timer.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/compose.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/allocations.hpp"
#include "support/context_options.hpp"
#include "support/dump_text.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::test::dump_of;
using beck::test::stream_pair;

namespace {

// An operation of a user: ends when it is told to.
class line_from_user : public beck::op<line_from_user, void(beck::error_code)> {
 public:
  explicit line_from_user(handler& place) : place_(&place) {}
  void initiate(handler done) { *place_ = std::move(done); }

 private:
  handler* place_;
};

class named_operation : public beck::op<named_operation, void(beck::error_code)> {
 public:
  static constexpr const char* waits_for = "an answer";
  explicit named_operation(handler& place) : place_(&place) {}
  void initiate(handler done) { *place_ = std::move(done); }

 private:
  handler* place_;
};

template <class Op>
beck::task<> await(Op operation) {
  beck::ignore(co_await static_cast<Op&&>(operation));
}

// A context whose tasks each wait for something else.
class waits {
 public:
  beck::io_context ctx{context_options()};

  // What a dump says of a new task that awaits `operation`: "timer (due in T)".
  template <class Op>
  std::string name_of(Op operation) {
    beck::co_spawn(ctx, await(static_cast<Op&&>(operation)), beck::detached);
    ctx.restart();
    ctx.poll();
    const std::string text = dump_of(ctx);
    const std::string number = "#" + std::to_string(++tasks_);
    const auto at = text.find(number);
    REQUIRE(at != text.npos);
    const auto line = text.rfind('\n', at) + 1;  // it may name others that wait for the same
    const std::string words = "  waiting T for ";
    CHECK(text.substr(line, words.size()) == words);
    const auto name = line + words.size();
    const auto detail = at + number.size();
    return text.substr(name, text.find(": #", name) - name) +
           text.substr(detail, text.find_first_of(",\n", detail) - detail);
  }

 private:
  int tasks_ = 0;
};

}  // namespace

CONFORMANCE("a dump names the operation that a task waits for, and its descriptor") {
  waits here;
  beck::ip::tcp::acceptor acceptor(here.ctx,
                                   beck::ip::tcp::endpoint(beck::ip::address_v4::loopback(), 0));
  stream_pair some(here.ctx);
  stream_pair whole(here.ctx);
  stream_pair line(here.ctx);
  stream_pair ready(here.ctx);
  stream_pair full(here.ctx);
  std::string text;
  char byte = 0;
  const auto on = [](auto& object) {
    return " (fd " + std::to_string(object.native_handle()) + ")";
  };
  CHECK(here.name_of(some.a.async_read_some(beck::buffer(&byte, 1))) == "read_some" + on(some.a));
  CHECK(here.name_of(beck::async_read(whole.a, beck::buffer(&byte, 1))) == "read" + on(whole.a));
  CHECK(here.name_of(beck::async_read_until(line.a, beck::dynamic_buffer(text), '\n')) ==
        "read" + on(line.a));
  CHECK(here.name_of(ready.a.async_wait(beck::socket_base::wait_read)) ==
        "readiness to read" + on(ready.a));
  CHECK(here.name_of(acceptor.async_accept()) == "accept" + on(acceptor));
  const std::string much(1 << 22, 'x');
  CHECK(here.name_of(beck::async_write(full.a, beck::buffer(much))) == "write" + on(full.a));
}

CONFORMANCE("a dump names timers and says when they are due") {
  waits here;
  beck::steady_timer timer(here.ctx, 1h);
  beck::system_timer date(here.ctx, 1h);
  beck::signal_set signals(here.ctx, SIGUSR2);
  CHECK(here.name_of(timer.async_wait()) == "timer (due in T)");
  CHECK(here.name_of(beck::timeout(timer.async_wait(), 2h)) == "timer (due in T)");
  waits shielded;
  beck::steady_timer other(shielded.ctx, 1h);
  CHECK(shielded.name_of(beck::shield(other.async_wait())) == "timer (due in T)");
  CHECK(here.name_of(date.async_wait()) == "timer");
  CHECK(here.name_of(signals.async_wait()) == "signal");
}

CONFORMANCE("a dump names what coroutines synchronise with") {
  beck::mutex mutex;
  beck::shared_mutex shared;
  beck::semaphore semaphore(0);
  beck::latch latch(1);
  beck::manual_reset_event open;
  beck::auto_reset_event once;
  beck::condition_variable condition;
  beck::mutex of_condition;
  beck::channel<int> full(0);
  beck::channel<int> empty(0);
  CHECK(mutex.try_lock());
  CHECK(of_condition.try_lock());
  CHECK(shared.try_lock());
  {
    waits here;
    CHECK(here.name_of(mutex.lock()) == "mutex");
    CHECK(here.name_of(mutex.scoped_lock()) == "mutex");
    CHECK(here.name_of(shared.lock_shared()) == "shared_mutex");
    CHECK(here.name_of(semaphore.acquire()) == "semaphore");
    CHECK(here.name_of(latch.wait()) == "latch");
    CHECK(here.name_of(open.wait()) == "event");
    CHECK(here.name_of(once.wait()) == "event");
    CHECK(here.name_of(condition.wait(of_condition)) == "condition_variable");
    CHECK(here.name_of(full.async_send(1)) == "channel send");
    CHECK(here.name_of(empty.async_receive()) == "channel receive");
  }
}

CONFORMANCE("operations of users have the names of their classes, or those that they choose") {
  line_from_user::handler first;
  named_operation::handler second;
  waits here;
  CHECK(here.name_of(line_from_user(first)) == "line_from_user");
  CHECK(here.name_of(named_operation(second)) == "an answer");
}

CONFORMANCE("an operation that exists only as a handler is said to be one") {
  beck::manual_reset_event event;
  waits here;
  auto started = [&event](auto handler) {
    event.wait()(
        [handler = std::move(handler)](beck::error_code ec) mutable { std::move(handler)(ec); });
  };
  beck::deferred_t token;
  auto operation = beck::async_initiate<beck::deferred_t, void(beck::error_code)>(started, token);
  CHECK(here.name_of(std::move(operation)) == "an operation with a handler");
  event.set();
  here.ctx.run();
}

CONFORMANCE("a descriptor of another context is not looked at") {
  beck::io_context other(context_options());
  waits here;
  stream_pair pair(other);
  char byte = 0;
  CHECK(here.name_of(pair.a.async_read_some(beck::buffer(&byte, 1))) ==
        "an operation of another context");
  pair.a.close();
  other.poll();
  here.ctx.restart();
  here.ctx.poll();
  CHECK(dump_of(here.ctx) == "no tasks\n");
}

CONFORMANCE("a task that goes through another executor is said to") {
  beck::io_context other(context_options());
  beck::io_context ctx(context_options());
  auto work = [&other]() -> beck::task<> { co_await beck::post(other); };
  beck::co_spawn(ctx, work, beck::detached);
  ctx.poll();
  CHECK(dump_of(ctx).find("  waiting T for its turn on another executor: #1\n") !=
        std::string::npos);
  other.poll();
  ctx.run();
  CHECK(dump_of(ctx) == "no tasks\n");
}

// --- where it goes -------------------------------------------------------------------------------

CONFORMANCE("a dump goes to strings, streams, functions and descriptors") {
  waits here;
  beck::steady_timer timer(here.ctx, 1h);
  static_cast<void>(here.name_of(timer.async_wait()));
  const std::string expected = dump_of(here.ctx);

  std::ostringstream stream;
  here.ctx.dump(stream);
  CHECK(beck::test::without_ages(stream.str()) == expected);

  std::string pieces;
  here.ctx.dump([&](std::string_view piece) { pieces += std::string(piece); });
  CHECK(beck::test::without_ages(pieces) == expected);

  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_NONBLOCK) == 0);
  here.ctx.dump(ends[1]);
  std::string read(4096, '\0');
  const auto bytes = ::read(ends[0], read.data(), read.size());
  REQUIRE(bytes > 0);
  read.resize(static_cast<std::size_t>(bytes));
  CHECK(beck::test::without_ages(read) == expected);
  for (const int end : ends) ::close(end);
}

CONFORMANCE("what a sink throws is dropped, and so is the rest of the text") {
  waits here;
  beck::manual_reset_event event;
  for (int i = 0; i < 30; ++i) {
    beck::co_spawn(here.ctx, await(event.wait()), beck::detached);
    beck::co_spawn(here.ctx, await(beck::timeout(event.wait(), 1h)), beck::detached);
  }
  int calls = 0;
  here.ctx.dump([&](std::string_view) {
    ++calls;
    throw std::runtime_error("full");
  });
  CHECK(calls == 1);
  event.set();
  here.ctx.run();
}

CONFORMANCE("a dump without memory tells fewer groups apart, and says so") {
  NEEDS_ALLOCATION_FAULTS();
  beck::manual_reset_event event;
  waits here;
  const auto chain = [&event](auto& self, int frames) -> beck::task<> {
    if (frames == 0) {
      beck::ignore(co_await event.wait());
    } else {
      co_await self(self, frames - 1);
    }
  };
  for (int i = 0; i < 20; ++i) beck::co_spawn(here.ctx, chain(chain, i), beck::detached);
  here.ctx.poll();
  std::size_t bytes = 0;
  std::array<char, 8192> text{};
  {
    const beck::test::allocation_fault fault(1);
    here.ctx.dump([&](std::string_view piece) {
      std::copy(piece.begin(), piece.end(), text.begin() + static_cast<std::ptrdiff_t>(bytes));
      bytes += piece.size();
    });
    CHECK(fault.fired());
  }
  const std::string seen(text.data(), bytes);
  CHECK(seen.find("20 tasks in 12 groups\n") == 0);
  CHECK(seen.find("and 8 tasks of which there was no memory to keep account\n") != seen.npos);
  event.set();
  here.ctx.run();
}

// --- from where ----------------------------------------------------------------------------------

CONFORMANCE_ON(beck::test::kernel, "another thread may ask while the context runs") {
  waits here;
  beck::steady_timer timer(here.ctx, 1h);
  static_cast<void>(here.name_of(timer.async_wait()));
  const std::string expected = dump_of(here.ctx);
  here.ctx.restart();
  std::thread runner([&] { here.ctx.run(); });
  for (int i = 0; i < 20; ++i) CHECK(dump_of(here.ctx) == expected);
  here.ctx.stop();
  runner.join();
  CHECK(dump_of(here.ctx) == expected);  // nobody runs it
}

CONFORMANCE_ON(beck::test::kernel, "a dump is printed also if run() is left meanwhile") {
  waits here;
  beck::steady_timer timer(here.ctx, 1h);
  static_cast<void>(here.name_of(timer.async_wait()));
  const std::string expected = dump_of(here.ctx);
  std::atomic<bool> over = false;
  std::thread runner([&] {
    while (!over) {
      here.ctx.restart();
      here.ctx.poll();
    }
  });
  for (int i = 0; i < 200; ++i) CHECK(dump_of(here.ctx) == expected);
  over = true;
  runner.join();
}
