// SPDX-License-Identifier: BSL-1.0
// A wait for a point in time on the clock of the executor where the waiter runs. It needs no timer
// object and allocates nothing.
#pragma once

#include <beck/coro/timeout.hpp>
#include <beck/detail/continuation.hpp>

namespace beck::detail {

class [[nodiscard]] pause_operation : private queue_entry {
 public:
  explicit pause_operation(time_limit until) noexcept : until_(until) {}
  /// Moves an inert one.
  pause_operation(pause_operation&& other) noexcept : until_(other.until_) {}
  pause_operation& operator=(pause_operation&&) = delete;

  static constexpr bool await_ready() noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> coroutine,
                     std::source_location at = std::source_location::current()) {
    suspend_in(coroutine, detail::scope_of(coroutine, at));
  }
  void suspend_in(continuation waiting, scope& environment) noexcept;
  /// operation_aborted or timeout after a stop; operation_not_supported if the executor has no
  /// clock; not_enough_memory.
  io_result<> await_resume() noexcept {
    timer_.disarm();  // here, where the start has certainly returned
    return io_result<>(error_);
  }

 private:
  static void expired(void* self, stop_walk& stops) noexcept;
  static scope* cancel(void* leaf, scope& from) noexcept;
  static void resume(queue_entry* entry, runner* where);
  /// Returns whether the caller is the one that ends the pause.
  bool claim_end() noexcept { return !__atomic_exchange_n(&over_, true, __ATOMIC_ACQ_REL); }
  void end(error_code ec) noexcept {
    if (claim_end()) deliver(ec);
  }
  void deliver(error_code ec) noexcept;

  time_limit until_;
  deadline_timer timer_;
  continuation waiting_;
  scope* scope_ = nullptr;
  error_code error_;
  bool counted_ = false;  // as outstanding work of the executor
  bool over_ = false;     // atomic: on shared contexts the timer may expire beside a stop
};

}  // namespace beck::detail
