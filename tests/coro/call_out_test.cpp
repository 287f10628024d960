// SPDX-License-Identifier: BSL-1.0
// Code of users is never called under a lock of the library: what it is told of, it may answer by
// using the object that told it. On a thread_pool, where the locks are real; a case that hangs is
// ended by its alarm.
#include <doctest/doctest.h>
#include <unistd.h>
#include <beck/coro/channel.hpp>
#include <beck/coro/collect_windowed.hpp>
#include <beck/coro/event.hpp>
#include <beck/coro/task_group.hpp>
#include <beck/coro/this_coro.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/sync_wait.hpp>
#include <beck/run/thread_pool.hpp>

#include <atomic>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using beck::task;
using beck::task_group;

namespace {

/// Ends the program if a case takes longer than any could.
class watchdog {
 public:
  watchdog() { ::alarm(20); }
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;
  ~watchdog() { ::alarm(0); }
};

/// Waits until it is stopped, and calls `told` on the way.
task<> stuck(beck::manual_reset_event& for_ever, std::function<void()> told) {
  const beck::stop_token token = co_await beck::this_coro::stop_token;
  const beck::stop_callback callback(token, std::move(told));
  beck::ignore(co_await for_ever.wait());
}
task<> hop() {
  auto executor = co_await beck::this_coro::executor;
  co_await beck::post(executor);
}
task<> nothing() { co_return; }
task<> fail() {
  co_await hop();
  throw std::runtime_error("boom");
}

/// An operation of a user that uses the group when it is cancelled.
class answers_cancel : public beck::op<answers_cancel, void(beck::error_code)> {
 public:
  explicit answers_cancel(std::function<void()> told) : told_(std::move(told)) {}
  answers_cancel(answers_cancel&& other) noexcept
      : op(std::move(other)), told_(std::move(other.told_)) {}
  void initiate(handler done) { done_ = std::move(done); }
  void cancel() noexcept {
    told_();
    done_(beck::error::operation_aborted);
  }

 private:
  std::function<void()> told_;
  handler done_;
};

}  // namespace

TEST_CASE("a stop callback may stop, ask and fill the group that stops it (K7)") {
  const watchdog bounded;
  beck::thread_pool pool(2);
  std::atomic<int> told{0};
  std::atomic<int> ran{0};
  const auto stop_two_children = [&]() -> task<> {
    beck::manual_reset_event for_ever(beck::concurrent);
    const auto body = [&](task_group& group) -> task<> {
      const auto answer = [&] {
        ++told;
        group.stop();
        const auto child = [&]() -> task<> {
          ++ran;
          co_return;
        };
        group.spawn(child);
        CHECK(group.size() != 0);
      };
      group.spawn(stuck(for_ever, answer));
      group.spawn(stuck(for_ever, answer));
      co_await hop();
      group.stop();
    };
    co_await task_group::run(body);
  };
  // The stop ends the waits first: a child that has ended by then has no callback any more.
  for (int round = 0; round < 10'000 && told == 0; ++round)
    beck::sync_wait(pool, stop_two_children());
  CHECK(told >= 1);
  CHECK(ran == told);
}

TEST_CASE("an operation of a user that is cancelled may use the group around it (K7)") {
  const watchdog bounded;
  beck::thread_pool pool(2);
  std::atomic<int> told{0};
  const auto stop_a_child = [&]() -> task<> {
    const auto body = [&](task_group& group) -> task<> {
      const auto child = [&]() -> task<> {
        const auto ended = co_await answers_cancel([&] {
          ++told;
          group.stop();
          group.spawn(nothing());
        });
        CHECK(ended.error() == beck::error::operation_aborted);
      };
      group.spawn(child);
      co_await hop();
      group.stop();
    };
    co_await task_group::run(body);
  };
  // A child that has not begun to wait when the stop comes is not cancelled but refused.
  for (int round = 0; round < 10'000 && told == 0; ++round) beck::sync_wait(pool, stop_a_child());
  CHECK(told == 1);
}

TEST_CASE("a failing child, and the end of a child, use the group from destructors (K7)") {
  const watchdog bounded;
  beck::thread_pool pool(2);
  std::atomic<int> told{0};
  bool thrown = false;
  beck::sync_wait(pool, [&]() -> task<> {
    beck::manual_reset_event for_ever(beck::concurrent);
    const auto body = [&](task_group& group) -> task<> {
      struct last_word {
        last_word(task_group& g, std::atomic<int>& t) : group(&g), told(&t) {}
        last_word(last_word&& other) noexcept
            : group(std::exchange(other.group, nullptr)), told(other.told) {}
        ~last_word() {
          if (group == nullptr) return;
          ++*told;
          group->stop();
        }
        task_group* group;
        std::atomic<int>* told;
      };
      auto child = [word = last_word(group, told)]() -> task<> { co_return; };
      group.spawn(std::move(child));
      group.spawn(stuck(for_ever, [&] { group.spawn(nothing()); }));
      group.spawn(fail());
      co_await hop();
    };
    try {
      co_await task_group::run(body);
    } catch (const std::runtime_error&) {
      thrown = true;
    }
  });
  CHECK(told == 1);
  CHECK(thrown);
}

TEST_CASE("branches of when_all and when_any are told outside of their lock (K7)") {
  const watchdog bounded;
  beck::thread_pool pool(2);
  std::atomic<int> told{0};
  beck::sync_wait(pool, [&]() -> task<> {
    beck::manual_reset_event for_ever(beck::concurrent);
    task_group* around = nullptr;
    const auto answer = [&] {
      ++told;
      around->stop();
    };
    const auto any = [&]() -> task<> {
      auto first = beck::when_any(stuck(for_ever, answer), nothing());
      beck::ignore(co_await std::move(first));
    };
    const auto all = [&]() -> task<> {
      auto failing = beck::when_all(stuck(for_ever, answer), fail());
      try {
        beck::ignore(co_await std::move(failing));
      } catch (const std::exception&) {  // what fail() throws, or the stop
        ++told;
      }
      auto stopped = beck::when_all(stuck(for_ever, answer), stuck(for_ever, answer));
      beck::ignore(co_await std::move(stopped));
    };
    const auto body = [&](task_group& group) -> task<> {
      around = &group;
      group.spawn(any());
      group.spawn(all());
      co_return;
    };
    co_await task_group::run(body);
  });
  CHECK(told >= 1);
}

TEST_CASE("a window makes, keeps and drops tasks outside of its lock (K7)") {
  const watchdog bounded;
  beck::thread_pool pool(2);
  static constexpr int numbers_given[] = {1, 2, 3, 4, 5, 6, 7, 8};
  std::atomic<int> made{0};
  beck::sync_wait(pool, [&]() -> task<> {
    const auto body = [&](task_group& group) -> task<> {
      const auto make = [&](int n) -> task<> {
        ++made;
        if (n == 5) group.stop();  // which stops the window that makes this
        return hop();
      };
      const auto each = [&]() -> task<> {
        const std::vector<int> numbers(numbers_given, numbers_given + 8);
        co_await beck::for_each_limited(2, numbers, make);
      };
      bool stopped = false;
      try {
        co_await each();
      } catch (const beck::io_error& error) {
        stopped = error.code() == beck::error::operation_aborted;
      }
      CHECK(stopped);
    };
    co_await task_group::run(body);
  });
  CHECK(made == 5);
}

TEST_CASE("a channel asks for sizes outside of its lock (K7)") {
  const watchdog bounded;
  static beck::channel<std::string>* asked = nullptr;
  static std::atomic<int> sizes{0};
  beck::channel<std::string> lines(beck::concurrent, beck::unbounded, 100,
                                   [](const std::string& line) {
                                     ++sizes;
                                     static_cast<void>(asked->size());  // waits for the lock
                                     return line.size();
                                   });
  asked = &lines;
  CHECK(lines.try_send("one"));
  CHECK_FALSE(lines.try_send(std::string(98, 'x')));
  CHECK(lines.size() == 1);
  beck::io_context context;
  beck::co_spawn(
      context,
      [&]() -> task<> {
        beck::spawn(
            [&]() -> task<> { beck::ignore(co_await lines.async_send(std::string(98, 'y'))); });
        auto executor = co_await beck::this_coro::executor;
        co_await beck::post(executor);
        const auto first = co_await lines.async_receive();
        CHECK(first.value_ == "one");
        const auto second = co_await lines.async_receive();
        CHECK(second.value_ == std::string(98, 'y'));
      },
      beck::detached);
  context.run();
  CHECK(sizes >= 3);
}
