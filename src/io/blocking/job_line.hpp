// SPDX-License-Identifier: BSL-1.0
// The order in which blocking operations are performed. There are two queues: jobs, which may wait
// for a name server for half a minute, and file operations. Jobs never take all threads, so that
// files do not wait behind them.
#pragma once

#include <algorithm>

#include <beck/detail/operation.hpp>

namespace beck::detail {

/// The queues of one loop's blocking operations. Not synchronised: the pool has a lock around it.
class job_line {
 public:
  /// The most operations performed at the same time.
  static constexpr unsigned at_once_max = 8;
  /// The most jobs among them.
  static constexpr unsigned jobs_at_once_max = 4;

  void push(io_op& op) noexcept {
    service_class& mine = class_of(op);
    mine.waiting.push(&op);
    ++mine.waits;
  }
  /// Removes a queued operation. Returns false if `op` is not queued here.
  bool remove(io_op& op) noexcept {
    service_class& mine = class_of(op);
    const queue_entry* at = mine.waiting.front();
    while (at != nullptr && at != &op) at = at->next;
    if (at == nullptr) return false;
    mine.waiting.remove(&op);
    --mine.waits;
    return true;
  }
  /// Removes any queued operation, and returns it; nullptr if none is queued.
  io_op* remove_any() noexcept {
    service_class& first = quick_.waits != 0 ? quick_ : jobs_;
    return first.waits != 0 ? take(first) : nullptr;
  }

  /// Returns how many of the queued operations may begin now.
  unsigned may_begin() const noexcept {
    const unsigned jobs = std::min(jobs_.waits, jobs_at_once_max - jobs_.performed);
    return std::min(quick_.waits + jobs, at_once_max - performed());
  }
  /// Takes the next operation from its queue and counts it as performed. Requires may_begin() != 0.
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
  /// One of the two queues, with the number of its operations that are performed.
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
