// SPDX-License-Identifier: BSL-1.0
// One direction of a descriptor: the queue of its operations, what is known about its readiness,
// and what its reads have taught so far. io/op/readiness.hpp has the rules that read and write it.
#pragma once

#include <algorithm>
#include <cstdint>

#include <beck/detail/operation.hpp>

namespace beck::detail {

/// What is known about a direction without asking the kernel.
enum class readiness : std::uint8_t {
  no,       ///< an attempt would find nothing: wait for an event
  perhaps,  ///< the last read filled its buffer or met a boundary: there may be more
  known,    ///< an event, a hang-up or the kernel's word says so
};

/// Learns whether a read that has no event yet finds its data by being tried one turn later.
class read_predictor {
 public:
  bool expects_data() const noexcept { return waits_ >= waits_enough; }
  /// A read has waited for its event, and then found data.
  void waiting_was_right() noexcept { waits_ = std::min<std::uint8_t>(waits_ + 1, waits_max); }
  /// A late attempt is due whatever happened before: only it can tell whether there is more.
  void expect_data() noexcept { waits_ = std::max(waits_, waits_enough); }
  void late_attempt_failed() noexcept { waits_ = 0; }

 private:
  static constexpr std::uint8_t waits_enough = 2;
  static constexpr std::uint8_t waits_max = 3;
  std::uint8_t waits_ = 0;
};

/// Learns in which form the small receives of a direction are cheaper. Armed on a ring they cost no
/// system call where their data is there when the ring looks, and a wake-up of the ring each where
/// it keeps coming later; there the descriptor's readiness and direct calls are cheaper.
class arming_record {
 public:
  /// Whether receives are to be armed.
  bool arms() const noexcept { return arms_; }
  /// The ring gets an armed receive by the visit to the kernel of this number.
  void armed_by(std::uint8_t number) noexcept { enter_number_ = number; }
  bool was_armed_by(std::uint8_t number) const noexcept { return enter_number_ == number; }
  /// The outcome of an armed receive: whether it had its data within the visit that armed it.
  void note_armed(bool at_once) noexcept;
  /// The outcome of one that was not armed: whether its data was there one turn later.
  void note_unarmed(bool at_once) noexcept;
  /// True once after the return to arming: the descriptor's events are of no use any more.
  bool take_return() noexcept {
    const bool returned = returned_;
    returned_ = false;
    return returned;
  }

 private:
  static constexpr int later_enough = 8;       // more than at once: arming ends
  static constexpr int at_once_enough = -16;   // arming is right: a return comes easily again
  static constexpr unsigned patience_max = 4;  // the hits before a return: 8 to 128

  std::uint8_t enter_number_ = 0;
  std::int8_t balance_ = 0;  // of the present form: what speaks against it
  std::uint8_t patience_ : 4 = 0;
  bool arms_ : 1 = true;
  bool returned_ : 1 = false;
};

inline void arming_record::note_armed(bool at_once) noexcept {
  if (!arms_) return;  // it was under way when the form changed
  if (at_once) {
    if (balance_ > at_once_enough && --balance_ == at_once_enough) patience_ = 0;
  } else if (++balance_ >= later_enough) {
    arms_ = false;
    balance_ = 0;
  }
}

inline void arming_record::note_unarmed(bool at_once) noexcept {
  if (arms_) return;
  if (!at_once) {
    if (balance_ > 0) --balance_;
  } else if (++balance_ >= (later_enough << patience_) - 1) {
    arms_ = returned_ = true;
    balance_ = 0;
    if (patience_ < patience_max) ++patience_;
  }
}

/// The operations of one direction, in the order of their start: one that is being tried, waits for
/// readiness or is in the kernel, and those behind it.
struct direction {
  io_op* current = nullptr;
  entry_queue waiting;
  /// The last one whose completion is in the run queue: nothing may finish inline before it.
  io_op* undelivered = nullptr;
  readiness ready = readiness::no;
  read_predictor predictor;
  arming_record arming;
  bool handing_over = false;  ///< waiting operations are being given to the driver
  bool trying = false;        ///< shared: a thread makes its system call
  bool woken_late = false;    ///< shared: an event came during that
};

}  // namespace beck::detail
