// SPDX-License-Identifier: BSL-1.0
// How a spawned coroutine ends when its result cannot be moved, when its end is asked for before it
// has begun, and when nobody takes its exception.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_context.hpp>
#include <beck/run/bind.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/dies.hpp"
#include "support/handlers.hpp"

using beck::co_spawn;
using beck::detached;
using beck::task;
using beck::test::handler_life;
using beck::test::tracked;

namespace {

std::string message_of(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

/// A result whose moves are counted, and of which one throws.
class throws_when_moved {
 public:
  throws_when_moved() = default;
  throws_when_moved(int& moves_left, std::shared_ptr<int> witness)
      : moves_left_(&moves_left), witness_(std::move(witness)) {}
  throws_when_moved(throws_when_moved&& other)
      : moves_left_(other.moves_left_), witness_(other.witness_) {
    if (moves_left_ != nullptr && (*moves_left_)-- == 0) throw std::runtime_error("moved");
  }
  throws_when_moved& operator=(throws_when_moved&&) = delete;

 private:
  int* moves_left_ = nullptr;
  std::shared_ptr<int> witness_;
};

}  // namespace

TEST_CASE("a result that throws when it is moved is an exception to its handler (K1)") {
  for (const bool travels : {false, true}) {
    int told = 0;
    for (int moves = 0; moves < 8; ++moves) {
      beck::io_context context;
      beck::io_context other;
      auto witness = std::make_shared<int>(0);
      handler_life life;
      int moves_left = moves;
      bool failed = false;
      int escaped = 0;
      auto work = [&, witness]() -> task<throws_when_moved> {
        co_return throws_when_moved(moves_left, witness);
      };
      auto handler = tracked(life, [&](std::exception_ptr error, const throws_when_moved&) {
        failed = message_of(error) == "moved";
      });
      if (travels) {
        co_spawn(context, std::move(work), beck::bind_executor(other, std::move(handler)));
      } else {
        co_spawn(context, std::move(work), std::move(handler));
      }
      for (beck::io_context* const one : {&context, &other}) {
        try {
          one->poll();
        } catch (const std::runtime_error&) {
          ++escaped;
        }
      }
      CHECK(escaped == 0);
      CHECK(life.calls == 1);
      CHECK(life.live == 0);
      CHECK(witness.use_count() <= 2);  // one may be in `work`, which was moved from
      CHECK(context.stats().outstanding == 0);
      CHECK(other.stats().outstanding == 0);
      told += failed ? 1 : 0;
      if (moves_left > 0) break;
    }
    CHECK(told > 0);
  }
}

TEST_CASE("a signal that is emitted before a coroutine has started keeps it from starting") {
  beck::io_context context;
  for (const auto type : {beck::cancellation_type::terminal, beck::cancellation_type::total}) {
    beck::cancellation_signal signal;
    bool started = false;
    bool called = false;
    std::exception_ptr error;
    const auto work = [&]() -> task<int> {
      started = true;
      co_return 1;
    };
    co_spawn(context, work,
             beck::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e, int) {
               called = true;
               error = e;
             }));
    signal.emit(type);
    context.restart();
    context.run();
    CHECK(called);
    const bool ends = type == beck::cancellation_type::terminal;
    CHECK(started == !ends);
    CHECK((error != nullptr) == ends);
    if (!error) continue;
    try {
      std::rethrow_exception(error);
    } catch (const beck::io_error& aborted) {
      CHECK(aborted.code() == beck::error::operation_aborted);
    }
  }
}

TEST_CASE("an exception without a handler names the place where its task was spawned (K1)") {
  const auto fail = []() -> task<int> {
    throw std::runtime_error("failed here");
    co_return 0;
  };
  const std::string place = std::string(__FILE__) + ":" + std::to_string(__LINE__ + 4);
  const std::string spawned = dies_with([&] {
    beck::io_context context;
    // The next line is named.
    co_spawn(context, fail(), detached);
    context.run();
  });
  CHECK(spawned.find("spawned at " + place + ": failed here") != std::string::npos);
  const std::string started_place = std::string(__FILE__) + ":" + std::to_string(__LINE__ + 3);
  const std::string started = dies_with([&] {
    beck::io_context context;
    fail().start(context, [](int) {});
    context.run();
  });
  CHECK(started.find("spawned at " + started_place + ": failed here") != std::string::npos);
}

TEST_CASE("a callable that throws when it is moved keeps no context from ending (K1)") {
  for (int moves = 0; moves < 8; ++moves) {
    struct throwing {
      explicit throwing(int& left) : moves_left(&left) {}
      throwing(throwing&& other) : moves_left(other.moves_left) {
        if ((*moves_left)-- == 0) throw std::runtime_error("moved");
      }
      beck::task<> operator()() { co_return; }
      int* moves_left;
    };
    beck::io_context context;
    beck::io_context other;
    int moves_left = moves;
    int called = 0;
    bool refused = false;
    try {
      throwing work(moves_left);
      co_spawn(context, std::move(work),
               beck::bind_executor(other, [&](std::exception_ptr) { ++called; }));
    } catch (const std::runtime_error&) {
      refused = true;
    }
    context.run();
    other.poll();
    CHECK(called == (refused ? 0 : 1));
    CHECK(other.stopped());
  }
}
