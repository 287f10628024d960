// SPDX-License-Identifier: BSL-1.0
// A timer, as the loop sees it.
#pragma once

#include <utility>

#include <beck/detail/loop_order.hpp>
#include <beck/io/timer_object.hpp>

#include "base/use_check.hpp"

namespace beck::detail {

class io_loop;
class timer_operation;

/// A timer's part on the runner's side: the waits that are in flight.
struct timer_state {
  timer_state(io_loop& where, any_io_executor how, clock_kind which) noexcept
      : executor(std::move(how)), clock(which) {
    // A store of its own: fused with its neighbour it would delay the loads that come next.
    __atomic_store_n(&loop, &where, __ATOMIC_RELAXED);
  }

  io_loop* loop;
  any_io_executor executor;
  clock_kind clock;
  timer_operation* first = nullptr;  ///< oldest
  timer_operation* last = nullptr;
  loop_order release_order{};  ///< carries the end of its object to the runner
  use_mark used{};
};

}  // namespace beck::detail
