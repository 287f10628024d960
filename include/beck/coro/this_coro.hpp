// SPDX-License-Identifier: BSL-1.0
// Queries of a coroutine about itself: `auto ex = co_await this_coro::executor;`. None suspends.
#pragma once

#include <beck/coro/task.hpp>
#include <beck/run/cancellation.hpp>
#include <beck/run/stop_token.hpp>

namespace beck::this_coro {

/// The awaiter of this_coro::executor: returns the executor of the awaiting coroutine's scope.
class executor_query {
 public:
  /// For co_await.
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

/// The type of this_coro::executor.
class executor_t {
 public:
  /// Has no state.
  constexpr executor_t() noexcept {}
  /// Returns a fresh awaiter.
  executor_query operator co_await() const noexcept { return executor_query(); }
};
/// `co_await this_coro::executor` returns the coroutine's executor, as an any_io_executor.
inline constexpr executor_t executor{};

/// The awaiter of this_coro::stop_token.
class stop_token_query {
 public:
  /// For co_await.
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
/// The type of this_coro::stop_token.
class stop_token_t {
 public:
  /// Has no state.
  constexpr stop_token_t() noexcept {}
  /// Returns a fresh awaiter.
  stop_token_query operator co_await() const noexcept { return stop_token_query(); }
};
/// `co_await this_coro::stop_token` returns a token for every stop of the coroutine's scope: a
/// request from outside, the end of a time limit, a sibling that failed. Its callbacks are called
/// inside the coroutine's executor. Throws std::bad_alloc.
inline constexpr stop_token_t stop_token{};

/// Tells whether the coroutine was asked to end. Refers to its scope: use it while the coroutine
/// runs.
class coroutine_cancellation {
 public:
  /// For co_await.
  explicit coroutine_cancellation(const detail::scope& of) noexcept : scope_(&of) {}
  /// Returns `terminal` once a stop was requested, for whatever reason; it is not taken back. Until
  /// then `none`.
  cancellation_type cancelled() const noexcept {
    return scope_->stop_requested() ? cancellation_type::terminal : cancellation_type::none;
  }
  /// Returns the reason of the stop.
  detail::stop_reason reason() const noexcept { return scope_->reason(); }

 private:
  const detail::scope* scope_;
};
/// The awaiter of this_coro::cancellation_state.
class cancellation_state_query {
 public:
  /// For co_await.
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
/// The type of this_coro::cancellation_state.
class cancellation_state_t {
 public:
  /// Has no state.
  constexpr cancellation_state_t() noexcept {}
  /// Returns a fresh awaiter.
  cancellation_state_query operator co_await() const noexcept { return cancellation_state_query(); }
};
/// `auto state = co_await this_coro::cancellation_state;`, then `state.cancelled()` at any time.
inline constexpr cancellation_state_t cancellation_state{};

}  // namespace beck::this_coro
