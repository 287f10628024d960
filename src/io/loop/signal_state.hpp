// SPDX-License-Identifier: BSL-1.0
// Signals on their way to a context: the inbox that a signal handler fills, and the sets whose
// waits it ends.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include <beck/detail/loop_command.hpp>
#include <beck/io/signal_set.hpp>

#include "base/use_check.hpp"
#include "io/system/requests.hpp"

// The signals that a set has got and not given to anybody yet. They are put in by signal handlers,
// which may interrupt one another and must neither allocate nor wait: a bounded queue whose cells
// carry their turn (D. Vyukov's), and counters for what finds it full.
namespace beck::detail {

/// Thread: put() from any, in signal handlers too; take() by the runner; forget() while no put() of
/// that number is under way.
class signal_inbox {
 public:
  static constexpr std::uint32_t capacity = 512;

  signal_inbox();

  void put(const signal_info& info) noexcept;
  /// The oldest one that was not forgotten; then those that were only counted. False: there is
  /// none.
  bool take(signal_info& info) noexcept;
  void forget(int number) noexcept;
  /// Makes room where forgotten ones are the oldest. By the runner.
  void drop_forgotten() noexcept;

 private:
  /// `turn` is the number of the put() or take() that may use the cell; release/acquire between
  /// them.
  struct cell {
    std::atomic<std::uint32_t> turn;
    std::uint32_t epoch;
    signal_info info;
  };
  struct account {
    std::atomic<std::uint32_t> without_cell{0};  // signals that found no cell
    std::atomic<std::uint32_t> epoch{0};         // how often it was forgotten
  };

  account& account_of(int number) noexcept { return accounts_[static_cast<unsigned>(number)]; }
  bool put_cell(const signal_info& info) noexcept;
  /// The oldest that was put in, forgotten or not; nullptr: none.
  cell* oldest() noexcept;
  void free_oldest() noexcept;
  bool is_forgotten(const cell& c) noexcept;

  std::unique_ptr<cell[]> cells_;
  std::atomic<std::uint32_t> next_put_{0};  // relaxed: the cells synchronise
  std::uint32_t next_take_ = 0;
  std::atomic<bool> overflowed_{false};
  std::array<account, signal_sink::number_max + 1> accounts_{};
};

// A signal set's part on the runner's side: what it has got, and who waits for it.

class io_loop;

/// Thread: signalled() from any, in signal handlers too; `held` by its object; all else by the
/// runner.
struct signal_state final : signal_sink {
  signal_state(io_loop& where, any_io_executor how) noexcept
      : loop(&where), executor(std::move(how)), notification(&look, this) {}

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
  loop_command notification;          ///< carries signals to the runner
  std::atomic<bool> notified{false};  ///< it is on its way; acq_rel: what was put before is seen
  loop_command release_order{};       ///< carries the end of its object to the runner
  use_mark used{};
};

/// A function of a set is running; with NDEBUG nothing. Moved-from ones share a state.
inline object_use use_of(signal_state& set, const char* function) noexcept {
  return {set.inbox == nullptr ? nullptr : &set.used, "signal_set", nullptr, function};
}

}  // namespace beck::detail
