// SPDX-License-Identifier: BSL-1.0
// && and || of awaitables: values, exceptions, and the end of the other operand.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/interop/awaitable_operators.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/sync_wait.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "support/handlers.hpp"

using namespace std::chrono_literals;
using namespace beck::awaitable_operators;
using beck::awaitable;
using beck::task;
using beck::use_awaitable;

namespace {

/// Counts the ends of waits that would not end by themselves.
struct endless {
  explicit endless(beck::io_context& context) : timer(context, 1h) {}
  awaitable<int> wait() {
    try {
      co_await timer.async_wait();
    } catch (const beck::io_error& e) {
      stopped += e.code() == beck::error::operation_aborted ? 1 : 0;
      throw;
    }
    co_return 1;
  }
  /// As wait(), but returns a value although it was stopped.
  awaitable<int> finish() {
    try {
      co_await timer.async_wait();
    } catch (const beck::io_error&) {
      ++stopped;
    }
    co_return 2;
  }
  beck::steady_timer timer;
  int stopped = 0;
};

template <class T>
awaitable<T> value(T v) {
  co_return v;
}
awaitable<> nothing() { co_return; }
awaitable<int> failure(const char* what) {
  throw std::runtime_error(what);
  co_return 0;
}
/// A value that can only be moved.
class no_default {
 public:
  explicit no_default(int n) : n_(std::make_unique<int>(n)) {}
  int get() const { return *n_; }

 private:
  std::unique_ptr<int> n_;
};

/// Runs `work`, which must end.
template <class T, bool Throwing>
T result_of(beck::io_context& context, task<T, Throwing> work) {
  return beck::sync_wait(context, std::move(work));
}

/// Returns the text of the exception that `work` throws first.
template <class T, bool Throwing>
std::string first_of_several(beck::io_context& context, task<T, Throwing> work) {
  try {
    static_cast<void>(result_of(context, std::move(work)));
  } catch (const beck::multiple_exceptions& several) {
    try {
      std::rethrow_exception(several.first_exception());
    } catch (const std::exception& first) {
      return first.what();
    }
  }
  return "none";
}

}  // namespace

TEST_CASE("&& returns the values of both without those of void, and continues a tuple") {
  beck::io_context context;
  const auto two = result_of(context, value(1) && value(std::string("b")));
  CHECK(two == std::tuple<int, std::string>(1, "b"));
  const auto three = result_of(context, value(1) && value('b') && value(2.5));
  CHECK(three == std::tuple<int, char, double>(1, 'b', 2.5));
  CHECK(result_of(context, value(1) && value(2) && nothing()) == std::tuple<int, int>(1, 2));
  CHECK(result_of(context, value(7) && nothing()) == 7);
  CHECK(result_of(context, nothing() && value(8)) == 8);
  static_assert(std::is_same_v<decltype(nothing() && nothing()), awaitable<>>);
  result_of(context, nothing() && nothing());
  const auto moved = result_of(context, value(no_default(3)) && value(no_default(4)));
  CHECK(std::get<0>(moved).get() * 10 + std::get<1>(moved).get() == 34);
}

TEST_CASE("&& stops the other operand when one throws, and awaits its end") {
  beck::io_context context;
  endless other(context);
  CHECK(first_of_several(context, other.wait() && failure("late")) == "late");
  CHECK(other.stopped == 1);
  CHECK(first_of_several(context, failure("early") && other.wait()) == "early");
  CHECK(other.stopped == 2);
  // Only one of them throws: its own exception.
  CHECK_THROWS_WITH(result_of(context, other.finish() && failure("alone")), "alone");
  CHECK(other.stopped == 3);
}

TEST_CASE("|| returns the first that succeeds as a variant, and continues a variant") {
  beck::io_context context;
  endless other(context);
  const auto right = result_of(context, other.wait() || value(5));
  CHECK(right == std::variant<int, int>(std::in_place_index<1>, 5));
  CHECK(other.stopped == 1);
  const auto left = result_of(context, value(6) || other.finish());
  CHECK(left == std::variant<int, int>(std::in_place_index<0>, 6));
  CHECK(other.stopped == 2);
  const auto none = result_of(context, nothing() || other.wait());
  CHECK(none.index() == 0);
  static_assert(std::is_same_v<decltype(none), const std::variant<std::monostate, int>>);

  using three = std::variant<int, char, std::monostate>;
  CHECK(result_of(context, failure("a") || value('c') || nothing()) ==
        three(std::in_place_index<1>, 'c'));
  CHECK(result_of(context, failure("a") || failure("b") || nothing()).index() == 2);
  CHECK(std::get<0>(result_of(context, value(no_default(9)) || other.wait())).get() == 9);
}

TEST_CASE("|| goes on when one operand throws, and throws when both have") {
  beck::io_context context;
  beck::steady_timer timer(context, 1ms);
  const auto waited = result_of(context, failure("no") || timer.async_wait(use_awaitable));
  CHECK(waited.index() == 1);
  CHECK(first_of_several(context, failure("first") || failure("second")) == "first");
  endless slow(context);
  slow.timer.expires_after(1ms);
  const auto fail_late = [&]() -> awaitable<int> {
    co_await slow.wait();
    throw std::runtime_error("left");
  };
  CHECK(first_of_several(context, fail_late() || failure("right")) == "right");
}

TEST_CASE("operations are operands, and their errors are exceptions only with use_awaitable") {
  beck::io_context context;
  beck::steady_timer soon(context, 0s);
  beck::steady_timer never(context, 1h);
  const auto won = result_of(context, never.async_wait() || soon.async_wait());
  CHECK(won.index() == 1);
  CHECK_FALSE(std::get<1>(won).error());
  const auto thrown = result_of(
      context, soon.async_wait(use_awaitable) && [&]() -> awaitable<int> { co_return 4; }());
  CHECK(thrown == 4);
}

TEST_CASE("a stop of the scope around && and || stops both operands") {
  beck::io_context context;
  endless left(context);
  endless right(context);
  const auto limited = [&](int& value) -> task<bool> {
    auto both = left.finish() && right.finish();
    const auto all = co_await beck::timeout(std::move(both), 1ms);
    value = std::get<0>(*all) + std::get<1>(*all);
    auto any = left.finish() || right.finish();
    const auto one = co_await beck::timeout(std::move(any), 1ms);
    co_return all.error() == beck::error::timeout&& one.error() == beck::error::timeout;
  };
  int value = 0;
  CHECK(result_of(context, limited(value)));
  CHECK(value == 4);
  CHECK(left.stopped == 2);
  CHECK(right.stopped == 2);
}
