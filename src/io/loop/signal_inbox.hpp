// SPDX-License-Identifier: BSL-1.0
// The signals that a set has got and not given to anybody yet. They are put in by signal handlers,
// which may interrupt one another and must neither allocate nor wait: a bounded queue whose cells
// carry their turn (D. Vyukov's), and counters for what finds it full.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "io/system/signal_sink.hpp"

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

}  // namespace beck::detail
