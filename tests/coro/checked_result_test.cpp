// SPDX-License-Identifier: BSL-1.0
// Compiled with BECK_CHECK_RESULTS: a failed result that nobody looks at ends the program, with the
// place of the await; everything that looks at one, or says that it does not want to, does not.
#include <doctest/doctest.h>
#include <beck/coro/channel.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/sync_wait.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/dies.hpp"

using beck::awaitable;
using beck::io_result;
using beck::task;
using namespace std::chrono_literals;

namespace {

/// Its receive fails at once, or after a suspension.
struct closed_channel {
  closed_channel() { channel.close(); }
  auto fails() { return channel.async_receive(); }
  auto fails_later() { return beck::timeout(open.async_receive(), 1us); }
  beck::channel<int> channel{1};
  beck::channel<int> open{1};
};

task<io_result<std::unique_ptr<int>>> fails_with_owner() {
  co_return io_result<std::unique_ptr<int>>(beck::error::eof, std::make_unique<int>(4));
}
task<io_result<int, int>> fails_with_two() {
  co_return io_result<int, int>(beck::error::eof, 1, 2);
}
task<io_result<>> fails_with_none() { co_return beck::error_code(beck::error::eof); }

bool takes(const io_result<int>& result) { return static_cast<bool>(result); }

/// The line that this call stands in, as the message has it.
std::string here(unsigned line) {
  return std::string("checked_result_test.cpp:") + std::to_string(line) + ": ";
}

template <class Text>
bool holds(const std::string& text, const Text& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a failed result that is dropped ends the program with operation, error and place") {
  unsigned line = 0;
  const std::string at_once = dies_with([] {
    closed_channel c;
    beck::sync_wait([&]() -> task<> { static_cast<void>(co_await c.fails()); });
  });
  line = __LINE__ - 2;
  INFO(at_once);
  CHECK(holds(at_once, here(line) + "the failed result of channel receive was dropped"));
  CHECK(holds(at_once, "Channel closed"));
  CHECK(holds(at_once, "beck::ignore"));
  const std::string later = dies_with([] {
    closed_channel c;
    beck::sync_wait([&]() -> task<> { static_cast<void>(co_await c.fails_later()); });
  });
  line = __LINE__ - 2;
  INFO(later);
  CHECK(holds(later, here(line) + "the failed result of channel receive was dropped"));
  CHECK(holds(later, "Deadline passed"));
}

TEST_CASE("a failed result that is kept and not looked at ends the program too") {
  const std::string kept = dies_with([] {
    closed_channel c;
    beck::sync_wait([&]() -> task<> { auto result = co_await c.fails(); });
  });
  CHECK(holds(kept, "channel receive"));
  const std::string moved_on = dies_with([] {
    closed_channel c;
    beck::sync_wait([&]() -> task<> {
      auto result = co_await c.fails();
      auto other = std::move(result);
    });
  });
  CHECK(holds(moved_on, "channel receive"));
  const std::string replaced = dies_with([] {
    closed_channel c;
    beck::sync_wait([&]() -> task<> {
      auto result = co_await c.fails();
      result = co_await c.fails();
      static_cast<void>(result.error());
    });
  });
  CHECK(holds(replaced, "channel receive"));
  const std::string of_a_task = dies_with(
      [] { beck::sync_wait([]() -> task<> { static_cast<void>(co_await fails_with_none()); }); });
  CHECK(holds(of_a_task, "End of file"));
}

TEST_CASE("each way to look at a failed result is enough") {
  closed_channel c;
  int looked = 0;
  beck::sync_wait([&]() -> task<> {
    {
      auto [ec, n] = co_await c.fails();  // binding is looking
    }
    const auto [ec, n] = co_await c.fails_later();
    looked += ec == beck::error::timed_out && n == 0;
    auto by_bool = co_await c.fails();
    if (!by_bool) ++looked;
    auto by_error = co_await c.fails();
    looked += by_error.error() == beck::error::channel_closed;
    auto by_star = co_await c.fails();
    looked += *by_star == 0;
    auto result = co_await fails_with_owner();
    looked += **result == 4;
    auto by_arrow = co_await fails_with_owner();
    looked += by_arrow->get() != nullptr;
    auto of_two = co_await fails_with_two();
    auto& [ec2, first, second] = of_two;
    looked += ec2 == beck::error::eof && first == 1 && second == 2;
    auto [ec0] = co_await fails_with_none();
    looked += ec0 == beck::error::eof;
    if (auto in_condition = co_await c.fails(); !in_condition) ++looked;
    try {
      auto by_value = co_await c.fails();
      by_value.value();
    } catch (const beck::io_error& e) {
      looked += std::string(e.what()) == "channel receive: Channel closed";
    }
  });
  CHECK(looked == 10);
}

TEST_CASE("what takes an io_result takes the result of an await, which counts as looked at") {
  closed_channel c;
  int looked = 0;
  beck::sync_wait([&]() -> task<> {
    io_result<int> plain = co_await c.fails();
    looked += !plain;
    looked += !takes(co_await c.fails());
    std::vector<io_result<int>> kept;
    kept.push_back(co_await c.fails());
    looked += !kept.front();
    auto copied = co_await c.fails();
    auto copy = copied;
    looked += !copy;
    auto inner = [&]() -> task<io_result<int>> { co_return co_await c.fails(); };
    auto passed_on = co_await inner();
    looked += !passed_on;
    auto owned = co_await fails_with_owner();
    io_result<std::unique_ptr<int>> moved = std::move(owned);
    looked += **moved == 4;
  });
  CHECK(looked == 6);
}

TEST_CASE("ignore says on purpose, and successes may be dropped") {
  closed_channel c;
  beck::channel<int> numbers(2);
  beck::sync_wait([&]() -> task<> {
    beck::ignore(co_await c.fails());
    auto kept = co_await c.fails_later();
    beck::ignore(kept);
    static_cast<void>(co_await numbers.async_send(1));
    static_cast<void>(co_await numbers.async_receive());
  });
  CHECK(numbers.size() == 0);
}

TEST_CASE("an exception on its way past a result that was not looked at is not disturbed") {
  closed_channel c;
  CHECK_THROWS_WITH_AS(beck::sync_wait([&]() -> task<> {
                         auto result = co_await c.fails();
                         throw std::runtime_error("something else");
                       }),
                       "something else", std::runtime_error);
}

TEST_CASE("a task that is destroyed before it could look at its result is not blamed") {
  closed_channel c;
  bool reached = false;
  {
    beck::io_context context;
    auto work = [&]() -> task<> {
      auto result = co_await c.fails();
      reached = true;
      beck::steady_timer timer(context, 1h);
      auto waited = co_await timer.async_wait();
      CHECK((result && waited));
    };
    beck::co_spawn(context, work, beck::detached);
    context.poll();
  }
  CHECK(reached);
}

TEST_CASE("an awaitable throws as ever, and everything that is no result passes through") {
  closed_channel c;
  int seen = 0;
  beck::sync_wait([&]() -> awaitable<> {
    try {
      co_await c.fails();
    } catch (const beck::io_error& e) {
      seen += std::string(e.what()) == "channel receive: Channel closed";
    }
  });
  beck::sync_wait([&]() -> task<> {
    co_await beck::post(beck::detail::current_executor());
    auto number = []() -> task<int> { co_return 5; };
    seen += co_await number() == 5;
    int object = 0;
    auto reference = [&]() -> task<int&> { co_return object; };
    seen += &co_await reference() == &object;
    auto one = number();
    auto two = number();
    auto [first, second] = co_await beck::when_all(std::move(one), std::move(two));
    seen += first == 5 && second == 5;
  });
  CHECK(seen == 4);
}
