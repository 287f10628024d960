// SPDX-License-Identifier: BSL-1.0
// Signals that a context has received: the inbox that a signal handler fills, and the sets whose
// waits these signals complete.
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

// The signals that a set has received and not yet delivered to a wait. Signal handlers put them in,
// which may interrupt one another and must neither allocate nor wait: a bounded queue whose cells
// have sequence numbers (D. Vyukov's), and counters for the signals that find it full.
namespace beck::detail {

/// Thread: put() from any, in signal handlers too; take() by the runner; forget() while no put() of
/// that number is under way.
class signal_inbox {
 public:
  static constexpr std::uint32_t capacity = 512;

  signal_inbox();

  /// Adds a signal, or counts it if the queue is full. Async-signal-safe.
  void put(const signal_info& info) noexcept;
  /// Takes the oldest signal that was not forgotten or, if the queue is empty, one of those that
  /// were only counted. Returns false if there is none.
  bool take(signal_info& info) noexcept;
  /// Drops all signals `number` that were received so far.
  void forget(int number) noexcept;
  /// Frees the cells of forgotten signals at the front of the queue. Called by the runner.
  void drop_forgotten() noexcept;

 private:
  /// `turn` is the sequence number of the put() or take() that may use the cell next;
  /// release/acquire between the two.
  struct cell {
    std::atomic<std::uint32_t> turn;
    std::uint32_t epoch;
    signal_info info;
  };
  struct account {
    std::atomic<std::uint32_t> without_cell{0};  // signals that found no cell
    std::atomic<std::uint32_t> epoch{0};         // the number of calls of forget()
  };

  account& account_of(int number) noexcept { return accounts_[static_cast<unsigned>(number)]; }
  bool put_cell(const signal_info& info) noexcept;
  /// Returns the oldest cell, forgotten or not; nullptr if the queue is empty.
  cell* oldest() noexcept;
  void free_oldest() noexcept;
  bool is_forgotten(const cell& c) noexcept;

  std::unique_ptr<cell[]> cells_;
  std::atomic<std::uint32_t> next_put_{0};  // relaxed: the cells synchronise
  std::uint32_t next_take_ = 0;
  std::atomic<bool> overflowed_{false};
  std::array<account, signal_sink::number_max + 1> accounts_{};
};

// The part of a signal set that the runner uses: its signals and the waits for them.

class io_loop;

/// Thread: signalled() from any, in signal handlers too; `held` by the object; everything else by
/// the runner.
struct signal_state final : signal_sink {
  signal_state(io_loop& where, any_io_executor how) noexcept
      : loop(&where), executor(std::move(how)), notification(&look, this) {}

  void signalled(const signal_info& info) noexcept override;
  /// Completes waits with the signals in the inbox, while there are both.
  void deliver() noexcept;
  /// Prints the context's tasks if there was a signal; see dump_on_signal.
  void dump() noexcept;
  /// Handles the notification, on the runner: delivers the signals in the inbox, or prints the
  /// tasks.
  static void look(void* self) noexcept;

  io_loop* loop;
  any_io_executor executor;
  std::unique_ptr<signal_inbox> inbox;  ///< null for a moved-from object
  std::uint64_t held = 0;               ///< bit n - 1 for signal n
  int dumps_to = -1;             ///< a file descriptor: print tasks instead of completing waits
  signal_wait* first = nullptr;  ///< oldest
  signal_wait* last = nullptr;
  signal_state* next = nullptr;  ///< of the loop's sets with waits
  signal_state* previous = nullptr;
  loop_command notification;  ///< carries signals to the runner
  /// Whether `notification` is in the mailbox. acq_rel: signals put in before it was set are seen.
  std::atomic<bool> notified{false};
  loop_command release_order{};  ///< tells the runner that the object is destroyed
  use_mark used{};
};

/// Marks `set` as used by a function of its object; does nothing with NDEBUG. Moved-from sets share
/// a state, which is not checked.
inline object_use use_of(signal_state& set, const char* function) noexcept {
  return {set.inbox == nullptr ? nullptr : &set.used, "signal_set", nullptr, function};
}

}  // namespace beck::detail
