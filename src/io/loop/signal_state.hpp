// SPDX-License-Identifier: BSL-1.0
// A signal set's part on the runner's side: what it has got, and who waits for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include <beck/io/signal_set.hpp>

#include <beck/detail/loop_order.hpp>
#include "base/use_check.hpp"
#include "io/loop/signal_inbox.hpp"

namespace beck::detail {

class io_loop;

/// Thread: signalled() from any, in signal handlers too; `held` by its object; all else by the
/// runner.
struct signal_state final : signal_sink {
  signal_state(io_loop& where, any_io_executor how) noexcept
      : loop(&where), executor(std::move(how)), notice(&look, this) {}

  void signalled(const signal_info& info) noexcept override;
  /// Gives signals to waits, as long as there are both.
  void deliver() noexcept;
  /// Prints the context's tasks if there was a signal; see dump_on_signal.
  void dump() noexcept;
  static void look(void* self) noexcept;

  io_loop* loop;
  any_io_executor executor;
  std::unique_ptr<signal_inbox> inbox;  ///< none: of moved-from objects
  std::uint64_t held = 0;               ///< bit n - 1 for signal n
  int dumps_to = -1;                    ///< a file descriptor: instead of giving signals to waits
  signal_wait* first = nullptr;         ///< oldest
  signal_wait* last = nullptr;
  signal_state* next = nullptr;  ///< of the loop's sets with waits
  signal_state* previous = nullptr;
  loop_order notice;                 ///< carries signals to the runner
  std::atomic<bool> noticed{false};  ///< it is on its way; acq_rel: what was put before is seen
  loop_order release_order{};        ///< carries the end of its object to the runner
  use_mark used{};
};

/// A function of a set is running; with NDEBUG nothing. Moved-from ones share a state.
inline object_use use_of(signal_state& set, const char* function) noexcept {
  return {set.inbox == nullptr ? nullptr : &set.used, "signal_set", nullptr, function};
}

}  // namespace beck::detail
