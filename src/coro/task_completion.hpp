// SPDX-License-Identifier: BSL-1.0
// The handler of co_spawn() for a coroutine that does the work of an operation: it completes the
// operation with the coroutine's result.
#pragma once

#include <exception>
#include <new>
#include <system_error>
#include <utility>

#include <beck/base/io_result.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/detail/result_slot.hpp>

namespace beck::detail {

/// Returns the error of a coroutine that ended by an exception: cancelled before it began, without
/// memory, or what it threw.
inline error_code failure_code(const std::exception_ptr& failed) noexcept {
  try {
    std::rethrow_exception(failed);
  } catch (...) {
    const error_code known = caught_code();
    return known ? known : make_error_code(std::errc::not_enough_memory);
  }
}

/// Completes an operation that has a value of type T, or none. Has the executor and the
/// cancellation slot of the operation's handler, so that a cancelled operation cancels the
/// coroutine.
template <class... T>
class task_completion {
 public:
  using handler = result_handler<error_code, T...>;
  using executor_type = any_io_executor;
  using cancellation_slot_type = cancellation_slot;

  explicit task_completion(handler done) noexcept : done_(std::move(done)) {}
  executor_type get_executor() const noexcept { return done_.get_executor(); }
  cancellation_slot get_cancellation_slot() const noexcept { return done_.get_cancellation_slot(); }
  void operator()(const std::exception_ptr& failed, error_code ec)
    requires(sizeof...(T) == 0)
  {
    done_(failed ? failure_code(failed) : ec);
  }
  void operator()(const std::exception_ptr& failed, io_result<T...> result)
    requires(sizeof...(T) == 1)
  {
    done_(failed ? failure_code(failed) : result.error(), std::move(result.value_));
  }

 private:
  handler done_;
};

}  // namespace beck::detail
