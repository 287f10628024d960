// SPDX-License-Identifier: BSL-1.0
// Points in time as senders, on the clock of an io_context or a strand over one.
#pragma once

#include <beck/detail/pause_operation.hpp>
#include <beck/interop/execution/as_sender.hpp>

namespace beck::execution {
inline namespace BECK_EXECUTION_VOCABULARY {

/// Returns a sender that completes on the executor when `after` has passed since its start. Sends
/// set_stopped after a stop, and the error operation_not_supported if the executor has no clock
/// (a thread_pool). Memory: none.
inline auto scheduler::schedule_after(duration after) const {
  return execution::as_sender(beck::detail::pause_operation(
                                  beck::detail::time_limit(after, beck::detail::stop_reason::stop)),
                              executor_);
}
/// Returns a sender that completes at the point in time `at`; else as schedule_after().
inline auto scheduler::schedule_at(time_point at) const {
  return execution::as_sender(
      beck::detail::pause_operation(beck::detail::time_limit(at, beck::detail::stop_reason::stop)),
      executor_);
}

}  // namespace BECK_EXECUTION_VOCABULARY
}  // namespace beck::execution
