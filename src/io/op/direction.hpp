// SPDX-License-Identifier: BSL-1.0
// One direction of a descriptor: the queue of its operations, its readiness as far as it is known,
// and the experience of its reads. io/op/readiness.hpp has the rules that read and write it.
#pragma once

#include <algorithm>
#include <cstdint>

#include <beck/detail/operation.hpp>

namespace beck::detail {

/// What is known about a direction without asking the kernel.
enum class readiness : std::uint8_t {
  no,       ///< an attempt would find nothing: wait for an event
  perhaps,  ///< the last read filled its buffer or met a boundary: there may be more
  known,    ///< an event, a hang-up or a completion says that there is something
};

/// Learns whether a read without an event finds data if it is attempted one poll later. The more
/// of these attempts are in vain, the more reads wait before one is made that is not necessary.
class read_predictor {
 public:
  /// Returns whether an attempt that has to be made finds more if it is made late.
  bool prefers_late() const noexcept { return waits_ >= waits_enough[0]; }
  /// Returns whether a late attempt is worth its call although it need not be made.
  bool expects_data() const noexcept { return waits_ >= waits_enough[failures_]; }
  /// Notes that a read has waited for its event, and will find data.
  void waiting_was_right() noexcept {
    if (waits_ < waits_max) ++waits_;
  }
  /// Makes the next attempt a late one, whatever happened before.
  void prefer_late() noexcept {
    if (!prefers_late()) waits_ = waits_enough[0];
  }
  void late_attempt_succeeded() noexcept { failures_ = 0; }
  void late_attempt_failed() noexcept {
    waits_ = 0;
    if (failures_ < failures_max) ++failures_;
  }

 private:
  static constexpr std::uint8_t failures_max = 3;
  static constexpr std::uint8_t waits_max = 32;
  static constexpr std::uint8_t waits_enough[failures_max + 1] = {2, 2, 8, waits_max};

  std::uint8_t waits_ : 6 = 0;     // reads that waited, since the last attempt in vain
  std::uint8_t failures_ : 2 = 0;  // late attempts in vain, since one found data
};

/// Learns which form of small receives is cheaper in a direction. An armed receive costs no system
/// call if its data is there when the kernel takes its entry, and a wake-up of the ring if its data
/// comes later. If data keeps coming later, the descriptor's readiness and direct calls are
/// cheaper.
class arming_record {
 public:
  /// Returns whether receives are to be armed.
  bool arms() const noexcept { return arms_; }
  /// Notes the number of the enter that submits an armed receive.
  void armed_by(std::uint8_t number) noexcept { enter_number_ = number; }
  bool was_armed_by(std::uint8_t number) const noexcept { return enter_number_ == number; }
  /// Notes the outcome of an armed receive; `at_once`: the enter that submitted it found its data.
  void note_armed(bool at_once) noexcept;
  /// Notes the outcome of a receive that was not armed; `at_once`: its data was there one poll
  /// later.
  void note_unarmed(bool at_once) noexcept;
  /// Begins without arming. On epoll, arming stands for the form without events: reads are
  /// attempted one poll later, and the descriptor is not watched.
  void begin_unarmed() noexcept { arms_ = false; }
  /// Ends arming, if there is any: events are needed.
  void stop() noexcept {
    if (!arms_) return;
    arms_ = returned_ = false;
    balance_ = 0;
  }
  /// Returns true once after each return to arming, which makes the descriptor's events useless.
  bool take_return() noexcept {
    const bool returned = returned_;
    returned_ = false;
    return returned;
  }

 private:
  static constexpr int later_enough = 8;       // the surplus of late data that ends arming
  static constexpr int at_once_enough = -16;   // the surplus of early data that makes a return easy
  static constexpr unsigned patience_max = 4;  // limits hits before a return to 7 to 127

  std::uint8_t enter_number_ = 0;
  std::int8_t balance_ = 0;  // the evidence against the present form
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

/// The operations of one direction, in the order of their starts: the current one, which is being
/// attempted, waits for readiness or is in the kernel, and the waiting ones behind it.
struct direction {
  io_op* current = nullptr;
  entry_queue waiting;
  /// The last operation whose completion is in the run queue. No other may finish inline before it.
  io_op* undelivered = nullptr;
  readiness ready = readiness::no;
  read_predictor predictor;
  arming_record arming;
  bool handing_over : 1 = false;   ///< waiting operations are being passed to the driver
  bool peer_finished : 1 = false;  ///< io_uring: a poll for other events has reported that
  bool trying = false;             ///< shared loops: a thread makes a system call for it
  bool woken_late = false;         ///< shared loops: an event came during that call
};

}  // namespace beck::detail
