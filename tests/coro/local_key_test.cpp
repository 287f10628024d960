// SPDX-License-Identifier: BSL-1.0
// Coroutine-local values: who sees which, through every kind of scope, and how long they live.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/local_key.hpp>
#include <beck/coro/mutex.hpp>
#include <beck/coro/task_group.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/allocations.hpp"
#include "support/settle.hpp"

using namespace std::chrono_literals;
using beck::task;
using beck::test::run_next;

namespace {

constinit const beck::local_key<std::string> name;
constinit const beck::local_key<int> number;

task<std::string> seen() {
  const std::string* const n = co_await name.get();
  const int* const i = co_await number.get();
  std::string text = n != nullptr ? *n : "-";
  text += i != nullptr ? std::to_string(*i) : "-";
  co_return text;
}

task<std::string> seen_later(beck::io_context& context) {
  co_await beck::post(context);
  std::string text = co_await seen();
  co_await beck::post(context);
  co_return text;
}

}  // namespace

TEST_CASE("a value is seen by what is awaited inside, and by nobody else") {
  beck::io_context context;
  run_next(context, [&]() -> task<> {
    const std::string outside = co_await seen();
    CHECK(outside == "--");
    const std::string inside = co_await name.with("outer", seen_later(context));
    CHECK(inside == "outer-");
    const std::string after = co_await seen();
    CHECK(after == "--");
  });
}

TEST_CASE("the innermost value of a key counts, and keys do not disturb one another") {
  beck::io_context context;
  run_next(context, [&]() -> task<> {
    const auto inner = [&]() -> task<std::string> {
      std::string text = co_await seen();
      text += co_await number.with(2, seen_later(context));
      text += co_await name.with("inner", seen());
      text += co_await seen();
      co_return text;
    };
    const auto outer = [&]() -> task<std::string> {
      std::string text = co_await number.with(1, inner());
      co_return text;
    };
    const std::string text = co_await name.with("outer", outer());
    CHECK(text == "outer1outer2inner1outer1");
  });
}

TEST_CASE("values are inherited through time limits, stops, shields and branches") {
  beck::io_context context;
  run_next(context, [&]() -> task<> {
    const auto work = [&]() -> task<std::string> {
      std::string text = *(co_await beck::timeout(seen_later(context), 1h));
      text += *(co_await beck::shield(seen()));
      auto both = co_await beck::when_all(seen(), number.with(7, seen_later(context)));
      text += both.get<0>() + both.get<1>();
      co_return text;
    };
    const std::string text = co_await name.with("n", work());
    CHECK(text == "n-n-n-n7");
  });
}

TEST_CASE("the children of a task_group see the values around the group") {
  beck::io_context context;
  std::string text;
  run_next(context, [&]() -> task<> {
    const auto child = [&]() -> task<> { text += co_await seen_later(context); };
    const auto body = [&](beck::task_group& group) -> task<> {
      group.spawn(child());
      group.spawn(child());
      co_return;
    };
    const auto all = [&]() -> task<> { co_await beck::task_group::run(body); };
    co_await name.with("g", all());
  });
  CHECK(text == "g-g-");
}

TEST_CASE("what is spawned does not see the values of who spawns it") {
  beck::io_context context;
  std::string text;
  run_next(context, [&]() -> task<> {
    const auto child = [&]() -> task<> { text = co_await seen(); };
    const auto work = [&]() -> task<> {
      beck::co_spawn(context, child, beck::detached);
      co_return;
    };
    co_await name.with("x", work());
  });
  CHECK(text == "--");
}

TEST_CASE("a value lives until what it was given to has ended, also by an exception") {
  beck::io_context context;
  static constinit const beck::local_key<std::shared_ptr<int>> owner;
  const auto witness = std::make_shared<int>(5);
  run_next(context, [&]() -> task<> {
    const auto fails = [&]() -> task<> {
      const std::shared_ptr<int>* const seen_owner = co_await owner.get();
      REQUIRE(seen_owner != nullptr);
      co_await beck::post(context);
      CHECK(witness.use_count() == 2);
      if (**seen_owner == 5) throw std::runtime_error("inside");
    };
    bool caught = false;
    try {
      co_await owner.with(witness, fails());
    } catch (const std::runtime_error&) {
      caught = true;
    }
    CHECK(caught);
    CHECK(witness.use_count() == 1);
  });
}

TEST_CASE("a stop goes through a scope with a value, and its reason comes out") {
  beck::io_context context;
  beck::mutex m;
  REQUIRE(m.try_lock());
  run_next(context, [&]() -> task<> {
    const auto work = [&]() -> task<int> {
      const auto r = co_await m.lock();
      CHECK(r.error() == beck::error::timeout);
      co_return 3;
    };
    const auto r = co_await beck::timeout(number.with(1, work()), 1ms);
    CHECK(r == 3);
    const auto locked = co_await beck::timeout(number.with(1, m.lock()), 1ms);
    CHECK(locked.error() == beck::error::timeout);
  });
}

TEST_CASE("setting and reading a value allocates nothing") {
  beck::io_context context;
  run_next(context, [&]() -> task<> {
    co_await beck::post(context);
    const auto read = []() -> task<int> {
      const int* const i = co_await number.get();
      co_return i != nullptr ? *i : 0;
    };
    beck::ignore(co_await number.with(1, read()));
    const auto before = beck::test::allocations();
    int sum = 0;
    for (int i = 0; i < 20; ++i) sum += co_await number.with(i, read());
    CHECK(sum == 190);
    CHECK(beck::test::allocations() == before);
  });
}

namespace {

/// What a frame sees of a value when it goes.
class sees_at_end {
 public:
  sees_at_end(const std::string* value, std::string& seen) noexcept : value_(value), seen_(&seen) {}
  sees_at_end(sees_at_end&& other) noexcept
      : value_(std::exchange(other.value_, nullptr)), seen_(other.seen_) {}
  ~sees_at_end() {
    if (value_ != nullptr) *seen_ += *value_;
  }
  void look(const std::string* value) noexcept { value_ = value; }

 private:
  const std::string* value_;
  std::string* seen_;
};

const std::string long_name(64, 'n');  // no short string: its end is seen

task<> hold(beck::mutex& m, std::string& text) {
  const sees_at_end last(co_await name.get(), text);
  beck::ignore(co_await m.lock());
}

}  // namespace

TEST_CASE("a value outlives the frames that see it when their context goes") {
  beck::mutex m;
  REQUIRE(m.try_lock());
  std::string text;
  const auto goes_in_the_middle_of = [&](auto make) {
    std::optional<beck::io_context> context(std::in_place);
    text.clear();
    beck::co_spawn(*context, make, beck::detached);
    context->poll();
    CHECK(text.empty());
    context.reset();
    CHECK(text == long_name);
  };
  goes_in_the_middle_of([&]() -> task<> { co_await name.with(long_name, hold(m, text)); });
  goes_in_the_middle_of([&]() -> task<> {
    auto limited = beck::timeout(hold(m, text), 1h);
    auto named = name.with(long_name, std::move(limited));
    beck::ignore(co_await std::move(named));
  });
  goes_in_the_middle_of([&]() -> task<> {
    auto both = beck::when_all(hold(m, text), m.lock());
    auto named = name.with(long_name, std::move(both));
    beck::ignore(co_await std::move(named));
  });
  goes_in_the_middle_of([&]() -> task<> {
    const auto body = [&](beck::task_group& group) -> task<> {
      group.spawn(hold(m, text));
      co_return;
    };
    auto all = beck::task_group::run(body);
    co_await name.with(long_name, std::move(all));
  });
}

TEST_CASE("a value outlives the parameters of the task that it was given to") {
  beck::io_context context;
  std::string text;
  run_next(context, [&]() -> task<> {
    const auto work = [](sees_at_end last) -> task<> { last.look(co_await name.get()); };
    co_await name.with(long_name, work(sees_at_end(nullptr, text)));
    CHECK(text == long_name);
    text.clear();
    auto limited = beck::timeout(work(sees_at_end(nullptr, text)), 1h);
    auto named = name.with(long_name, std::move(limited));
    beck::ignore(co_await std::move(named));
  });
  CHECK(text == long_name);
}
