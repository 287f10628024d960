// SPDX-License-Identifier: BSL-1.0
// The waits of a loop for signals. A signal handler puts the signal into the inbox of its set and a
// notification into the loop's mailbox, which wakes the loop as any mail does. The rest is done
// here, by the runner.
#pragma once

#include <memory>

#include "io/driver/loop_core.hpp"
#include "io/loop/signal_state.hpp"

namespace beck::detail {

/// Knows the signal sets with waits. Thread: the runner, but for vacant().
class loop_signals {
 public:
  loop_signals(io_loop& loop, loop_core& core, const any_io_executor& executor);
  loop_signals(const loop_signals&) = delete;
  loop_signals& operator=(const loop_signals&) = delete;

  /// Starts a wait, or finishes it with a signal that was received before.
  void start(signal_wait& op) noexcept;
  /// Removes the wait from its set and completes it with `result`.
  void finish(signal_wait& op, int result) noexcept;
  /// Ends all waits for `set`, with operation_aborted.
  void cancel_waits(signal_state& set) noexcept;
  /// Ends all waits, with operation_aborted.
  void cancel_all() noexcept;
  /// Returns the state of vacant sets, whose waits end with bad_descriptor.
  signal_state& vacant() noexcept { return *vacant_; }

 private:
  loop_core& core_;
  const std::unique_ptr<signal_state> vacant_;
  signal_state* sets_ = nullptr;  // those with waits
};

}  // namespace beck::detail
