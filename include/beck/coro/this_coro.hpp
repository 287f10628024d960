// SPDX-License-Identifier: BSL-1.0
// What a coroutine can ask about itself: `auto ex = co_await this_coro::executor;`. None of it
// suspends.
#pragma once

#include <beck/coro/task.hpp>
#include <beck/run/cancellation.hpp>
#include <beck/run/stop_token.hpp>

namespace beck::this_coro {

/// Gives the executor of the awaiting coroutine's scope; never suspends.
class executor_query {
 public:
  executor_query() noexcept {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    executor_ = detail::scope_of(coroutine).executor();
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

/// Gives a token that hears of every stop of the awaiting coroutine's scope: a request from
/// outside, the end of a time limit, a sibling that failed. Its callbacks are called inside the
/// coroutine's executor. Throws std::bad_alloc.
class stop_token_query {
 public:
  stop_token_query() noexcept {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) {
    token_ = detail::scope_of(coroutine).token();
    return false;
  }
  beck::stop_token await_resume() noexcept { return static_cast<beck::stop_token&&>(token_); }

 private:
  beck::stop_token token_;
};
class stop_token_t {
 public:
  constexpr stop_token_t() noexcept {}
  stop_token_query operator co_await() const noexcept { return stop_token_query(); }
};
inline constexpr stop_token_t stop_token{};

/// Whether the coroutine was asked to end. Refers to its scope: use it while the coroutine runs.
class coroutine_cancellation {
 public:
  explicit coroutine_cancellation(const detail::scope& of) noexcept : scope_(&of) {}
  /// `terminal` once a stop was requested, for whatever reason; it is not taken back.
  cancellation_type cancelled() const noexcept {
    return scope_->stop_requested() ? cancellation_type::terminal : cancellation_type::none;
  }
  detail::stop_reason reason() const noexcept { return scope_->reason(); }

 private:
  const detail::scope* scope_;
};
class cancellation_state_query {
 public:
  cancellation_state_query() noexcept {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    scope_ = &detail::scope_of(coroutine);
    return false;
  }
  coroutine_cancellation await_resume() const noexcept { return coroutine_cancellation(*scope_); }

 private:
  const detail::scope* scope_ = nullptr;
};
class cancellation_state_t {
 public:
  constexpr cancellation_state_t() noexcept {}
  cancellation_state_query operator co_await() const noexcept { return cancellation_state_query(); }
};
/// `auto state = co_await this_coro::cancellation_state;`, then `state.cancelled()` at any time.
inline constexpr cancellation_state_t cancellation_state{};

}  // namespace beck::this_coro
