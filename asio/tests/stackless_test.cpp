// SPDX-License-Identifier: BSL-1.0
// Stackless coroutines in Asio's macros: yields, forks, ends.
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <asio/coroutine.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

#include <asio/yield.hpp>

namespace {

/// A handler that waits in loops, in a compound statement and at the end of a switch's case.
struct waiting_loop : asio::coroutine {
  asio::steady_timer* timer;
  std::string* order;
  asio::chrono::milliseconds pause = asio::chrono::milliseconds(1);
  int round = 0;

  void operator()(asio::error_code ec = {}) {
    reenter(this) {
      for (round = 0; round < 3; ++round) {
        *order += static_cast<char>('0' + round);
        timer->expires_after(round * pause);
        yield timer->async_wait(*this);
        if (ec) {
          yield break;
        }
        do {
          *order += 'a';
          yield {
            const int local = round;
            asio::post(timer->get_executor(), *this);
            *order += static_cast<char>('A' + local);
          }
        } while (false);
      }
      *order += '.';
    }
  }
};

/// Yields values.
struct numbers {
  asio::coroutine position;
  int next = 0;
  int operator()() {
    reenter(position) for (;;) {
      yield return next++;
      yield return next * 100;
      if (next == 2) return -1;
    }
    return -2;
  }
};

struct steps : asio::coroutine {
  int reached = 0;
  bool throws = false;
  void operator()() {
    reenter(this) {
      reached = 1;
      yield;
      reached = 2;
      if (throws) throw std::runtime_error("in the body");
      yield;
      reached = 3;
    }
  }
};

struct forking : asio::coroutine {
  std::string* order;
  int child = 0;
  void operator()() {
    reenter(this) {
      do {
        ++child;
        *order += is_parent() ? 'p' : '?';
        fork forking (*this)();
        if (is_parent() && child == 2) {
          yield break;
        }
      } while (is_parent());
      *order += is_child() ? 'c' : '?';
      *order += static_cast<char>('0' + child);
      yield;
      *order += "never";
    }
  }
};

}  // namespace

CONFORMANCE_ON(::beck::test::kernel, "a stackless coroutine goes on behind each yield") {
  asio::io_context context(context_options());
  asio::steady_timer timer(context);
  std::string order;
  waiting_loop loop;
  loop.timer = &timer;
  loop.order = &order;
  loop();
  context.run();
  CHECK(order == "0aA1aB2aC.");
  order.clear();
  context.restart();
  waiting_loop cancelled;
  cancelled.timer = &timer;
  cancelled.order = &order;
  cancelled.pause = asio::chrono::hours(1);
  cancelled();
  while (order != "0aA1") context.run_one();
  timer.cancel();
  context.run();
  CHECK(order == "0aA1");  // left by yield break
}

TEST_CASE("a yield returns a value, and a body that returns has ended") {
  numbers next;
  CHECK(next() == 0);
  CHECK(next() == 100);
  CHECK_FALSE(next.position.is_complete());
  CHECK(next() == 1);
  CHECK(next() == 200);
  CHECK(next() == -1);
  CHECK(next.position.is_complete());
  CHECK(next() == -2);
}

TEST_CASE("a body that reaches its end or throws is complete, and is not entered again") {
  steps plain;
  CHECK_FALSE(plain.is_complete());
  plain();
  CHECK(plain.reached == 1);
  CHECK_FALSE(plain.is_complete());
  plain();
  CHECK(plain.reached == 2);
  plain();
  CHECK(plain.reached == 3);
  CHECK(plain.is_complete());
  plain.reached = 0;
  plain();
  CHECK(plain.reached == 0);
  steps thrown;
  thrown.throws = true;
  thrown();
  CHECK_THROWS_AS(thrown(), std::runtime_error);
  CHECK(thrown.is_complete());
}

TEST_CASE("a fork goes on in both copies, which know which they are") {
  std::string order;
  forking parent;
  parent.order = &order;
  parent();
  CHECK(order == "pc1pc2");
  CHECK(parent.is_complete());
  CHECK(parent.is_parent());
}

namespace {

struct completing {
  int completed = 0;
  void complete() { ++completed; }
};
struct named_alike : asio::coroutine, completing {
  void operator()() {
    reenter(this) {
      yield complete();
      complete();
    }
  }
};

}  // namespace

TEST_CASE("a coroutine's base has no name that another base could have") {
  named_alike one;
  one();
  one();
  CHECK(one.completed == 2);
  CHECK(one.is_complete());
}

#include <asio/unyield.hpp>

TEST_CASE("the names of yield.hpp end with unyield.hpp, and can be taken again") {
#if defined(reenter) || defined(yield) || defined(fork)
  FAIL("unyield.hpp has left a name");
#endif
#include <asio/yield.hpp>
#if !defined(reenter) || !defined(yield) || !defined(fork)
  FAIL("yield.hpp has no effect the second time");
#endif
#include <asio/unyield.hpp>
  int fork = 1;
  asio::coroutine long_name;
  ASIO_CORO_REENTER(long_name) {
    ASIO_CORO_YIELD fork = 2;
    fork = 3;
  }
  CHECK(fork == 2);
}
