// SPDX-License-Identifier: BSL-1.0
// The way from a coroutine of the connection to the handler of an operation of the user's.
#pragma once

#include <exception>
#include <utility>

#include <beck/base/io_result.hpp>
#include <beck/detail/result_slot.hpp>

#include "http/connection.hpp"

namespace beck::http::detail {

/// Passes the result of a task on to the handler of an operation, with its cancellation slot. The
/// operation is under way until then.
template <class T>
class pass_on {
 public:
  using handler = beck::detail::result_handler<error_code, T>;
  pass_on(connection& of, handler done) : under_way_(of), done_(std::move(done)) {}
  using executor_type = any_io_executor;
  using cancellation_slot_type = cancellation_slot;
  executor_type get_executor() const noexcept { return done_.get_executor(); }
  cancellation_slot get_cancellation_slot() const noexcept { return done_.get_cancellation_slot(); }
  void operator()(const std::exception_ptr& failed, io_result<T> result) {
    under_way_.end();
    if (failed) {
      done_(make_error_code(std::errc::not_enough_memory), T());
    } else {
      done_(result.error(), result.value_);
    }
  }

 private:
  connection::operation under_way_;
  handler done_;
};

}  // namespace beck::http::detail
