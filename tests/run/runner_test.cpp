// SPDX-License-Identifier: BSL-1.0
// The rules that a runner keeps: what an entry may spend, how deep calls nest, and in which order
// coroutines continue when one has unwound.
#include <doctest/doctest.h>
#include <beck/detail/runner.hpp>
#include <coroutine>
#include <functional>
#include <string>
#include <thread>

using beck::detail::runner;

namespace {

struct counting_entry : beck::detail::queue_entry {
  explicit counting_entry(std::function<void(runner*)> body) : body_(std::move(body)) {
    next = nullptr;
    run = [](beck::detail::queue_entry* self, runner* where) {
      static_cast<counting_entry*>(self)->body_(where);
    };
  }
  std::function<void(runner*)> body_;
};

// A coroutine that notes a letter each time it runs, and lives until it is destroyed by hand.
struct noting {
  struct promise_type {
    noting get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<> frame;
};

noting note(std::string& order, char letter, std::function<void()> then = {}) {
  order += letter;
  if (then) then();
  co_return;
}

}  // namespace

TEST_CASE("an entry starts with a full budget, whatever the one before it has spent") {
  runner r;
  counting_entry spender([](runner* where) {
    while (where->spend(runner::call_weight)) continue;
    CHECK(where->budget() == 0);
  });
  counting_entry next([](runner* where) { CHECK(where->budget() == runner::budget_per_entry); });
  r.run(&spender);
  r.run(&next);
}

TEST_CASE("weights are taken from the budget, and an attempt may overdraw it once") {
  runner r;
  CHECK(r.spend(runner::budget_per_entry - 1));
  CHECK(r.budget() == 1);
  CHECK(r.spend(1000));
  CHECK(r.budget() == 0);
  CHECK_FALSE(r.spend(1));
}

TEST_CASE("each refusal counts as a budget stop and charging never does") {
  runner r;
  r.charge(1000);
  CHECK(r.budget() == 0);
  CHECK(r.counters.budget_stops == 0);
  CHECK_FALSE(r.spend(1));
  CHECK_FALSE(r.spend(1));
  CHECK(r.counters.budget_stops == 2);
}

TEST_CASE("tasks nest to the bound, and its counter keeps the deepest (K3)") {
  runner r;
  for (unsigned i = 0; i < runner::depth_max; ++i) CHECK(r.descend());
  CHECK_FALSE(r.descend());
  CHECK(r.counters.depth_max == runner::depth_max);
  r.ascend();
  CHECK(r.descend());
  for (unsigned i = 0; i < runner::depth_max; ++i) r.ascend();
  CHECK(r.descend());
  CHECK(r.counters.depth_max == runner::depth_max);
}

TEST_CASE("immediate handlers nest to the bound, and not at all without budget (K3)") {
  runner r;
  for (unsigned i = 0; i < runner::immediate_depth_max; ++i) CHECK(r.descend_immediate());
  CHECK_FALSE(r.descend_immediate());
  r.ascend_immediate();
  const runner::binding bound(r);
  for (int i = 0; i < 2; ++i) {
    const beck::detail::immediate_level the_last_one;  // and gives it back
    CHECK(the_last_one);
    const beck::detail::immediate_level one_too_many;
    CHECK_FALSE(one_too_many);
  }
  r.ascend_immediate();
  r.charge(runner::budget_per_entry);
  CHECK_FALSE(r.descend_immediate());
}

TEST_CASE("a thread has the runner that was bound last, and the one before after that") {
  CHECK(runner::current() == nullptr);
  runner outer;
  runner inner;
  {
    const runner::binding bound(outer);
    CHECK(runner::current() == &outer);
    {
      const runner::binding nested(inner);
      CHECK(runner::current() == &inner);
      std::thread([] { CHECK(runner::current() == nullptr); }).join();
    }
    CHECK(runner::current() == &outer);
  }
  CHECK(runner::current() == nullptr);
}

TEST_CASE("a coroutine that asks to go on continues after the current one has unwound (K3)") {
  runner r;
  std::string order;
  noting second = note(order, '2');
  noting first = note(order, '1', [&] {
    CHECK(r.resume_next(second.frame));
    CHECK_FALSE(r.resume_next(second.frame));  // one place only
    order += '-';
  });
  r.resume(first.frame);
  CHECK(order == "1-2");
  CHECK(second.frame.done());
  first.frame.destroy();
  second.frame.destroy();
}

TEST_CASE("what runs after unwinding runs behind the coroutines that continue") {
  runner r;
  std::string order;
  counting_entry last([&](runner* where) {
    CHECK(where == &r);
    order += 'e';
  });
  noting second = note(order, '2');
  noting first = note(order, '1', [&] {
    r.run_after_unwind(&last);
    CHECK(r.resume_next(second.frame));
  });
  r.resume(first.frame);
  CHECK(order == "12e");
  first.frame.destroy();
  second.frame.destroy();
}
