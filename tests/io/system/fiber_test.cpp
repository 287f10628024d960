// SPDX-License-Identifier: BSL-1.0
// Fibers: what is kept for each of them, in which order they run, and that they may be used again.
#include "io/system/fiber.hpp"

#include <beck/detail/frame_end.hpp>
#include <beck/io/io_context.hpp>
#include <beck/run/post.hpp>

#include <doctest/doctest.h>

#include <signal.h>

#include <array>
#include <cfenv>
#include <exception>
#include <stdexcept>
#include <string>

using beck::detail::fiber;

namespace {

/// A fiber that calls a function once. Ends with it.
template <class Function>
class running {
 public:
  explicit running(Function& body) : fiber_(fiber::take()) {
    fiber_->start([](void* function) noexcept { (*static_cast<Function*>(function))(); }, &body);
  }
  void resume() { fiber_->resume(); }
  bool is_over() const { return fiber_->is_over(); }

 private:
  fiber::handle fiber_;
};

}  // namespace

TEST_CASE("a fiber goes on where it stopped, with what it had there") {
  std::string trace;
  auto count = [&trace] {
    double half = 0.5;
    std::array<char, 1000> kept{};
    for (char i = 'a'; i != 'd'; ++i, half += 1) {
      kept.fill(i);
      trace += i;
      fiber::suspend();
      for (const char c : kept) CHECK(c == i);
    }
    CHECK(half == 3.5);
  };
  running first(count);
  running second(count);
  for (int i = 0; i < 3; ++i) {
    first.resume();
    trace += '-';
    second.resume();
    trace += ' ';
    CHECK(fiber::current() == nullptr);
  }
  CHECK(trace == "a-a b-b c-c ");
  CHECK(!first.is_over());
  first.resume();
  CHECK(first.is_over());
  CHECK(!second.is_over());
  second.resume();
  CHECK(second.is_over());
}

TEST_CASE("a fiber that is over runs another body, from its beginning") {
  int runs = 0;
  auto once = [&runs] { ++runs; };
  for (int i = 1; i <= 3; ++i) {
    running again(once);
    again.resume();
    CHECK(runs == i);
    CHECK(again.is_over());
  }
}

TEST_CASE("a fiber resumes others, and they return to it") {
  std::string trace;
  auto inner = [&trace] {
    trace += 'b';
    fiber::suspend();
    trace += 'd';
  };
  auto outer = [&] {
    running nested(inner);
    trace += 'a';
    nested.resume();
    trace += 'c';
    fiber::suspend();  // the inner one is resumed from another place of the thread's stack
    nested.resume();
    CHECK(nested.is_over());
    trace += 'e';
  };
  running both(outer);
  both.resume();
  CHECK(trace == "abc");
  both.resume();
  CHECK(both.is_over());
  CHECK(trace == "abcde");
}

TEST_CASE("each fiber has the exceptions that it handles") {
  std::string caught;
  auto handle = [&caught] {
    try {
      try {
        throw std::runtime_error("the first");
      } catch (const std::runtime_error&) {
        fiber::suspend();
        throw;
      }
    } catch (const std::runtime_error& e) {
      caught += e.what();
    }
  };
  running first(handle);
  first.resume();
  try {
    throw std::logic_error("mine");
  } catch (const std::logic_error&) {
    first.resume();
    CHECK(caught == "the first");
    CHECK(first.is_over());
    CHECK_THROWS_AS(std::rethrow_exception(std::current_exception()), std::logic_error);
  }
}

TEST_CASE("an exception on its way through a fiber is no one's elsewhere") {
  struct leaves_late {
    ~leaves_late() { fiber::suspend(); }
  };
  int in_flight = -1;
  auto unwind = [&in_flight] {
    try {
      const leaves_late here;
      throw std::runtime_error("on its way");
    } catch (const std::runtime_error&) {
      in_flight = std::uncaught_exceptions();
    }
  };
  running thrower(unwind);
  thrower.resume();
  CHECK(std::uncaught_exceptions() == 0);
  thrower.resume();
  CHECK(in_flight == 0);
}

TEST_CASE(
    "each fiber has a rounding mode; the first switch to it leaves the signal mask as it is") {
  auto round_down = [] {
    std::fesetround(FE_DOWNWARD);
    fiber::suspend();
    CHECK(std::fegetround() == FE_DOWNWARD);
  };
  running down(round_down);
  sigset_t one, before, after;
  ::sigemptyset(&one);
  ::sigaddset(&one, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &one, &before);
  std::fesetround(FE_UPWARD);
  down.resume();
  CHECK(std::fegetround() == FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  down.resume();
  CHECK(std::fegetround() == FE_TONEAREST);
  ::pthread_sigmask(SIG_SETMASK, &before, &after);
  CHECK(::sigismember(&after, SIGUSR1) == 1);
}

TEST_CASE("what a fiber runs, and the room on its stack, are its own") {
  beck::io_context context;
  const auto runs_here = [&context] { return context.get_executor().running_in_this_thread(); };
  bool runs_there = false, has_room = false;
  auto poll = [&] {
    beck::post(context, [&] {
      fiber::suspend();
      runs_there = runs_here();
      has_room = beck::detail::stack_room::is_left();
    });
    context.poll();
  };
  running loop(poll);
  loop.resume();
  CHECK(!runs_here());
  loop.resume();
  CHECK(loop.is_over());
  CHECK(runs_there);
  CHECK(has_room);
}
