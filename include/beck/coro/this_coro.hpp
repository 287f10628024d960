// SPDX-License-Identifier: BSL-1.0
// What a coroutine can ask about itself: `auto ex = co_await this_coro::executor;`.
#pragma once

#include <beck/coro/task.hpp>

namespace beck::this_coro {

/// Gives the executor of the awaiting coroutine's scope; never suspends.
class executor_query {
 public:
  executor_query() noexcept {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    executor_ = scope_of(coroutine).executor();
    return false;
  }
  any_io_executor await_resume() noexcept { return static_cast<any_io_executor&&>(executor_); }

 private:
  any_io_executor executor_;
};

/// A constant; co_await makes a fresh awaiter of it each time.
class executor_t {
 public:
  constexpr executor_t() noexcept {}
  executor_query operator co_await() const noexcept { return executor_query(); }
};
inline constexpr executor_t executor{};

}  // namespace beck::this_coro
