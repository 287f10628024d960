// SPDX-License-Identifier: BSL-1.0
// The handle to any executor: what it costs, what is equal, and how entries travel through an
// executor that a user brings.
#include <doctest/doctest.h>
#include <beck/io/io_context.hpp>
#include <beck/run/any_io_executor.hpp>
#include <beck/run/post.hpp>
#include <new>
#include <utility>

#include "support/allocations.hpp"
#include "support/manual_executor.hpp"

using beck::any_io_executor;
using beck::test::allocation_fault;
using beck::test::allocations;
using beck::test::manual_queue;

namespace {

// An executor that counts its copies, and is too large for the handle and for recycled blocks.
class counted_executor {
 public:
  explicit counted_executor(int& live, int number = 0) : live_(&live), number_(number) { ++*live_; }
  counted_executor(const counted_executor& other) : live_(other.live_), number_(other.number_) {
    ++*live_;
  }
  counted_executor& operator=(const counted_executor&) = delete;
  ~counted_executor() { --*live_; }

  template <class F>
  void execute(F&& function) const {
    auto kept = std::forward<F>(function);
    kept();
  }
  friend bool operator==(const counted_executor& a, const counted_executor& b) {
    return a.number_ == b.number_;
  }

 private:
  int* live_;
  int number_;
  [[maybe_unused]] char size_[5000] = {};
};

struct flag_entry : beck::detail::queue_entry {
  flag_entry() {
    next = nullptr;
    run = [](beck::detail::queue_entry* self, beck::detail::runner* where) {
      auto& entry = *static_cast<flag_entry*>(self);
      ++(where != nullptr ? entry.ran : entry.destroyed);
      entry.current = where != nullptr && where == beck::detail::runner::current();
    };
  }
  int ran = 0;
  int destroyed = 0;
  bool current = false;
};

}  // namespace

TEST_CASE("any_io_executor is two words, and empty until it is given an executor") {
  CHECK(sizeof(any_io_executor) == 16);
  const any_io_executor none;
  CHECK_FALSE(none);
  CHECK(none == any_io_executor());
  CHECK(none == nullptr);
  beck::io_context context;
  CHECK(any_io_executor(context.get_executor()));
  CHECK(any_io_executor(context.get_executor()) != none);
}

TEST_CASE("a handle to a context's executor is made, copied and dropped without memory") {
  beck::io_context context;
  const auto before = allocations();
  const auto misses = beck::detail::block_misses();
  {
    const any_io_executor first(context.get_executor());
    any_io_executor second(first);
    any_io_executor third;
    third = second;
    second = std::move(third);
    CHECK(first == second);
    CHECK(&second.context() == &context);
    CHECK_FALSE(second.running_in_this_thread());
  }
  CHECK(allocations() == before);
  CHECK(beck::detail::block_misses() == misses);
}

TEST_CASE("executors of one context are equal and those of two are not") {
  beck::io_context a;
  beck::io_context b;
  CHECK(any_io_executor(a.get_executor()) == any_io_executor(a.get_executor()));
  CHECK(any_io_executor(a.get_executor()) != any_io_executor(b.get_executor()));
}

TEST_CASE("a user's executor is kept once, however often its handle is copied") {
  int live = 0;
  {
    const any_io_executor first{counted_executor(live)};
    CHECK(live == 1);
    const auto before = allocations();
    const any_io_executor second(first);
    any_io_executor third;
    third = second;
    CHECK(live == 1);
    CHECK(allocations() == before);
    CHECK(third == first);
  }
  CHECK(live == 0);
}

TEST_CASE("handles to users' executors are equal when the executors are, also of two boxes") {
  int live = 0;
  const any_io_executor one{counted_executor(live, 1)};
  const any_io_executor same{counted_executor(live, 1)};
  const any_io_executor other{counted_executor(live, 2)};
  CHECK(one == same);
  CHECK(one != other);
  manual_queue queue;
  CHECK(one != any_io_executor(queue.executor()));
}

TEST_CASE(
    "a user's executor that cannot be boxed is an exception that leaves nothing behind (K9)") {
  NEEDS_ALLOCATION_FAULTS();
  int live = 0;
  {
    const counted_executor executor(live);
    const allocation_fault fault(1);
    CHECK_THROWS_AS(any_io_executor{executor}, std::bad_alloc);
    CHECK(fault.fired());
    CHECK(live == 1);
  }
  CHECK(live == 0);
}

TEST_CASE("an entry goes through a user's executor and runs inside a runner there") {
  manual_queue queue;
  const any_io_executor executor(queue.executor());
  flag_entry entry;
  executor.post(&entry);
  CHECK(entry.ran == 0);
  CHECK(queue.run() == 1);
  CHECK(entry.ran == 1);
  CHECK(entry.current);
  CHECK(entry.destroyed == 0);
  CHECK(executor.context_or_null() == nullptr);
}

TEST_CASE("an entry that a user's executor drops is told so, once") {
  flag_entry entry;
  {
    manual_queue queue;
    any_io_executor(queue.executor()).post(&entry);
  }
  CHECK(entry.ran == 0);
  CHECK(entry.destroyed == 1);
}

TEST_CASE("outstanding work is announced to a user's executor") {
  manual_queue queue;
  const any_io_executor executor(queue.executor());
  executor.on_work_started();
  executor.on_work_started();
  CHECK(queue.work() == 2);
  {
    const beck::outstanding_work ends_one(executor, true);
    const beck::outstanding_work ends_none(executor, false);
  }
  CHECK(queue.work() == 1);
  executor.on_work_finished();
  CHECK(queue.work() == 0);
}

TEST_CASE("execute runs at once inside the executor and queues outside of it") {
  beck::io_context context;
  const any_io_executor executor(context.get_executor());
  int ran = 0;
  executor.execute([&] { ++ran; });
  CHECK(ran == 0);
  executor.execute([&] {
    executor.execute([&] { ran += 10; });
    CHECK(ran == 11);
  });
  context.run();
  CHECK(ran == 11);
}
