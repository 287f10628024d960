// SPDX-License-Identifier: BSL-1.0
// Who is next among operations that block. Jobs, which may wait for a name server for half a
// minute, never take all the places: files must not wait behind them.
#pragma once

#include <algorithm>

#include <beck/detail/operation.hpp>

namespace beck::detail {

class job_line {
 public:
  /// Performed at once, in all; and of these, jobs.
  static constexpr unsigned at_once_max = 8;
  static constexpr unsigned jobs_at_once_max = 4;

  void push(io_op& op) noexcept {
    service_class& mine = class_of(op);
    mine.waiting.push(&op);
    ++mine.waits;
  }
  /// False: it does not wait here.
  bool remove(io_op& op) noexcept {
    service_class& mine = class_of(op);
    const queue_entry* at = mine.waiting.front();
    while (at != nullptr && at != &op) at = at->next;
    if (at == nullptr) return false;
    mine.waiting.remove(&op);
    --mine.waits;
    return true;
  }
  /// Takes out any; nullptr: none waits.
  io_op* remove_any() noexcept {
    service_class& first = quick_.waits != 0 ? quick_ : jobs_;
    return first.waits != 0 ? take(first) : nullptr;
  }

  /// How many of those that wait may begin now.
  unsigned may_begin() const noexcept {
    const unsigned jobs = std::min(jobs_.waits, jobs_at_once_max - jobs_.performed);
    return std::min(quick_.waits + jobs, at_once_max - performed());
  }
  /// The next one begins. Requires may_begin() != 0.
  io_op& begin() noexcept {
    const bool job_may = jobs_.waits != 0 && jobs_.performed < jobs_at_once_max;
    const bool job_next = job_may && (quick_.waits == 0 || jobs_.performed == 0);
    service_class& next = job_next ? jobs_ : quick_;
    ++next.performed;
    return *take(next);
  }
  void end(const io_op& op) noexcept { --class_of(op).performed; }
  unsigned performed() const noexcept { return quick_.performed + jobs_.performed; }

 private:
  struct service_class {
    entry_queue waiting;
    unsigned waits = 0;
    unsigned performed = 0;
  };

  service_class& class_of(const io_op& op) noexcept {
    return op.kind == op_kind::job ? jobs_ : quick_;
  }
  static io_op* take(service_class& from) noexcept {
    --from.waits;
    return static_cast<io_op*>(from.waiting.pop());
  }

  service_class quick_;
  service_class jobs_;
};

}  // namespace beck::detail
