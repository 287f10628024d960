// SPDX-License-Identifier: BSL-1.0
//
// One io_uring: its two queues in shared memory, and the one call that submits and waits. It knows
// nothing of operations, descriptors or buffers; the driver writes the entries and reads the
// completions. What the kernel may answer to a submission (failure classes U1 to U6) is decided
// here, once, and told in four words.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "io/uring/ring_kernel.hpp"

namespace beck::uring {

/// Submits even past a bad entry, bounds the queues instead of failing, lets completions wait for
/// the thread to enter the kernel by itself and says so in the flags. Without COOP_TASKRUN a
/// completion raised on another CPU interrupts the thread, which costs more than epoll does.
inline constexpr unsigned exclusive_ring_flags =
    IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_CQSIZE |
    IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CLAMP | setup_no_sqarray;

/// Only for a ring whose thread is known from its creation to its destruction.
inline constexpr unsigned owned_thread_ring_flags =
    (exclusive_ring_flags & ~unsigned{IORING_SETUP_COOP_TASKRUN}) | IORING_SETUP_SINGLE_ISSUER |
    IORING_SETUP_DEFER_TASKRUN;

struct ring_options {
  unsigned entries = 256;       ///< submission queue; the kernel rounds up to a power of two
  unsigned completions = 4096;  ///< completion queue; used with IORING_SETUP_CQSIZE
  unsigned flags = exclusive_ring_flags;
};

/// Counters of one ring; only ever grow.
struct ring_stats {
  std::uint64_t enters = 0;       ///< calls of io_uring_enter
  std::uint64_t submitted = 0;    ///< entries the kernel has taken
  std::uint64_t completions = 0;  ///< completions handed to the driver
  std::uint64_t refused = 0;      ///< U2: EAGAIN, ENOMEM, ENOBUFS, or nothing taken
  std::uint64_t busy = 0;         ///< U3: EBUSY
  std::uint64_t interrupted = 0;  ///< U4: EINTR
  std::uint64_t overflows = 0;    ///< U5: enters that found the overflow flag set
  std::uint64_t partial = 0;      ///< U6: enters that took some of the entries
};

enum class submit_status : std::uint8_t {
  done,  ///< all entries are the kernel's. The wait is over, for whatever reason: look at the queue
  refused,  ///< U2: entries are left and stay the ring's. Reap, back off, submit again
  busy,     ///< U3: entries are left; nothing is taken before completions are reaped
  failed,   ///< this ring can no longer be used; `error` says why
};

struct submit_result {
  submit_status status;
  int error;  ///< the errno behind `refused`, `busy` and `failed`; else 0
};

/// A submission and a completion queue shared with the kernel. Everything but `open`, `close` and
/// the destructor requires an open ring. Thread: one at a time, any thread (with
/// IORING_SETUP_SINGLE_ISSUER: the one that opened it). After fork(2) the child may destroy the
/// object and nothing else: the queues are not mapped there.
class ring {
 public:
  static constexpr std::int64_t no_deadline = std::numeric_limits<std::int64_t>::max();

  ring() = default;
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;
  ~ring() { close(); }

  /// Makes the ring. 0 or -errno of the set-up; -ENOMEM when a queue could not be mapped, -EPROTO
  /// when the kernel describes queues that do not fit their own sizes. Requires: closed; `kernel`
  /// outlives the ring.
  int open(ring_kernel& kernel, const ring_options& options);

  /// Gives the queues back. Operations still in flight go on: their memory is the kernel's until
  /// they were reaped, so the driver cancels and reaps before it closes (U20).
  void close() noexcept;

  /// In a child of fork(2): closes the descriptor and forgets the queues, which are not mapped
  /// here; something else may be where they were.
  void after_fork_in_child() noexcept;

  /// Deadlines are handed to the kernel as points in time (one clock reading less in a wait). Set
  /// by the probe when the kernel has been seen to understand it.
  void use_absolute_deadlines(bool on) noexcept { absolute_deadlines_ = on; }

  /// The next free entry, zeroed, or null when the queue is full. It is submitted by the next
  /// `submit`, so it must be filled by then; there is no way to take it back.
  io_uring_sqe* get_entry() noexcept {
    if (sq_tail_ - sq_head_ == sq_entries_) {
      refresh_head();
      if (sq_tail_ - sq_head_ == sq_entries_) return nullptr;
    }
    io_uring_sqe* const entry = &sqes_[sq_tail_ & sq_mask_];
    ++sq_tail_;
    *entry = io_uring_sqe{};
    return entry;
  }

  /// U1: as `get_entry`, but a full queue is submitted first. Null only when the kernel took
  /// nothing: the caller parks its operation and tries again after it has reaped.
  io_uring_sqe* get_entry_or_flush() noexcept;

  /// Entries written and not yet taken by the kernel.
  unsigned prepared() noexcept {
    refresh_head();
    return sq_tail_ - sq_head_;
  }

  /// Submits what is prepared and waits until `wait_for` completions are in the queue, those not
  /// yet reaped included, or until `deadline_ns` on CLOCK_MONOTONIC. One system call, unless the
  /// kernel takes a part (U6) or a signal cuts the wait short (U4: at most `interrupts_max` times);
  /// none if nothing is prepared, wanted or overflown. `get_events` makes the kernel run pending
  /// task work without a wait. The wait may also end early: the caller looks at the queue and at
  /// its clock, and comes again. A deadline that has passed should come as `wait_for` 0: a wait for
  /// no time sleeps some 30 us.
  ///
  /// The completion of a waiting operation is made by the thread that submitted it. There, one call
  /// with `get_events` reaps what its own cancels have ended (400 of 400 on Linux 6.18; with
  /// IORING_SETUP_DEFER_TASKRUN none without `get_events`). Another thread sees it when the first
  /// one next meets the kernel: 20 us when it sleeps (its epoll_wait then fails with EINTR), 4 ms,
  /// a timer tick, when it computes, up to 12 ms when it has ended. So a runner that took over
  /// waits for the completions it needs and never counts on one call.
  submit_result submit(unsigned wait_for, std::int64_t deadline_ns, bool get_events) noexcept;

  /// Calls `function(const io_uring_cqe&)` for the completions that are there now; returns how
  /// many. An entry counts as reaped before its call, so a call that throws, submits or reaps
  /// itself repeats and loses none.
  template <class Function>
  unsigned for_each_completion(Function&& function) {
    // acquire: pairs with the kernel's release of the tail, after it wrote the entries.
    const unsigned tail = std::atomic_ref(*cq_ktail_).load(std::memory_order_acquire);
    const publish_on_exit publish{*this};
    unsigned count = 0;
    while (static_cast<int>(tail - cq_head_) > 0) {
      const io_uring_cqe& entry = cqes_[cq_head_ & cq_mask_];
      const io_uring_cqe copy{entry.user_data, entry.res, entry.flags};
      ++cq_head_;
      ++stats_.completions;
      ++count;
      function(copy);
    }
    return count;
  }

  /// Completions that `for_each_completion` would see.
  unsigned completions_ready() const noexcept {
    // acquire: as in for_each_completion.
    return std::atomic_ref(*cq_ktail_).load(std::memory_order_acquire) - cq_head_;
  }

  /// The kernel has completions that only an enter brings into the queue: task work that waits for
  /// the thread, or overflow. One load; the driver asks it every turn.
  bool flagged() const noexcept {
    return (kernel_flags() & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
  }

  bool is_open() const noexcept { return fd_ >= 0; }
  int fd() const noexcept { return fd_; }
  ring_kernel& kernel() const noexcept { return *kernel_; }
  unsigned entries() const noexcept { return sq_entries_; }
  unsigned completions() const noexcept { return cq_entries_; }
  unsigned setup_flags() const noexcept { return setup_flags_; }
  unsigned features() const noexcept { return features_; }
  bool absolute_deadlines() const noexcept { return absolute_deadlines_; }
  const ring_stats& stats() const noexcept { return stats_; }
  void reset_stats() noexcept { stats_ = {}; }

  /// Signals that may cut one wait short before `submit` gives up waiting.
  static constexpr unsigned interrupts_max = 16;

 private:
  struct publish_on_exit {
    ring& owner;
    // release: pairs with the kernel's acquire of the head, before it writes over the entries.
    ~publish_on_exit() {
      std::atomic_ref(*owner.cq_khead_).store(owner.cq_head_, std::memory_order_release);
    }
  };
  struct area {
    void* address = nullptr;
    std::size_t bytes = 0;
  };

  int map_queues(const io_uring_params& parameters);
  bool map_area(area& where, std::size_t bytes, std::uint64_t offset);
  void adopt_queues(const io_uring_params& parameters) noexcept;
  int enter_once(unsigned to_submit, unsigned wait_for, std::int64_t deadline_ns,
                 bool get_events) noexcept;
  submit_result explain(int error) noexcept;

  // acquire: pairs with the kernel's release of the head, after it has read the entries.
  void refresh_head() noexcept {
    sq_head_ = std::atomic_ref(*sq_khead_).load(std::memory_order_acquire);
  }
  // relaxed: the flags only advise an enter, and the system call orders everything.
  unsigned kernel_flags() const noexcept {
    return std::atomic_ref(*sq_kflags_).load(std::memory_order_relaxed);
  }

  unsigned* sq_kflags_ = nullptr;
  unsigned* cq_ktail_ = nullptr;
  unsigned* cq_khead_ = nullptr;
  io_uring_cqe* cqes_ = nullptr;
  unsigned cq_head_ = 0;
  unsigned cq_mask_ = 0;
  unsigned sq_tail_ = 0;  // our own; published by submit
  unsigned sq_head_ = 0;  // the kernel's, as last read
  unsigned sq_mask_ = 0;
  unsigned sq_entries_ = 0;
  io_uring_sqe* sqes_ = nullptr;
  unsigned* sq_khead_ = nullptr;
  unsigned* sq_ktail_ = nullptr;
  unsigned* cq_lost_ = nullptr;
  ring_kernel* kernel_ = nullptr;
  int fd_ = -1;
  unsigned cq_entries_ = 0;
  unsigned setup_flags_ = 0;
  unsigned features_ = 0;
  bool absolute_deadlines_ = false;
  area sq_area_;
  area cq_area_;
  area sqe_area_;
  ring_stats stats_;
};

}  // namespace beck::uring
