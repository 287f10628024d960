// SPDX-License-Identifier: BSL-1.0
//
// One io_uring: its two queues in shared memory, and the one call that submits and waits. It knows
// nothing of operations, descriptors or buffers; the driver writes the entries and reads the
// completions. The kernel's possible answers to a submission (failure classes U1 to U6) are handled
// here, once, and reported as one of four states.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "io/uring/ring_kernel.hpp"

namespace beck::uring {

/// The flags of a ring whose thread may change. The ring submits even past a bad entry, bounds the
/// sizes of the queues instead of failing, lets completions wait until the thread enters the kernel
/// by itself, and reports them in its flags. Without COOP_TASKRUN a completion raised on another
/// CPU interrupts the thread, which costs more than epoll does.
inline constexpr unsigned exclusive_ring_flags =
    IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_CQSIZE |
    IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CLAMP | setup_no_sqarray;

/// The flags of a ring whose thread is the same one from its creation to its destruction.
inline constexpr unsigned owned_thread_ring_flags =
    (exclusive_ring_flags & ~unsigned{IORING_SETUP_COOP_TASKRUN}) | IORING_SETUP_SINGLE_ISSUER |
    IORING_SETUP_DEFER_TASKRUN;

struct ring_options {
  unsigned entries = 256;       ///< submission queue; the kernel rounds up to a power of two
  unsigned completions = 4096;  ///< completion queue; used with IORING_SETUP_CQSIZE
  unsigned flags = exclusive_ring_flags;
};

/// Counters of one ring. They only grow.
struct ring_stats {
  std::uint64_t enters = 0;       ///< calls of io_uring_enter
  std::uint64_t submitted = 0;    ///< entries that the kernel has taken
  std::uint64_t completions = 0;  ///< completions handed to the driver
  std::uint64_t refused = 0;      ///< U2: EAGAIN, ENOMEM, ENOBUFS, or nothing taken
  std::uint64_t busy = 0;         ///< U3: EBUSY
  std::uint64_t interrupted = 0;  ///< U4: EINTR
  std::uint64_t overflows = 0;    ///< U5: enters that found the overflow flag set
  std::uint64_t partial = 0;      ///< U6: enters that took some of the entries
};

enum class submit_status : std::uint8_t {
  /// The kernel has taken all entries. The wait has ended, for any reason: check the queue.
  done,
  /// U2: entries are left in the ring. Reap, back off, submit again.
  refused,
  /// U3: entries are left in the ring; the kernel takes none before completions are reaped.
  busy,
  /// The ring can no longer be used; `error` is the reason.
  failed,
};

struct submit_result {
  submit_status status;
  int error;  ///< the errno of `refused`, `busy` and `failed`; otherwise 0
};

/// A submission and a completion queue shared with the kernel. All functions but `open`, `close`
/// and the destructor require an open ring. Thread: one at a time, any thread (with
/// IORING_SETUP_SINGLE_ISSUER: the one that opened it). In a child of fork(2) nothing but
/// after_fork_in_child() and the destructor may be called: the queues are not mapped there.
class ring {
 public:
  static constexpr std::int64_t no_deadline = std::numeric_limits<std::int64_t>::max();

  ring() = default;
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;
  ~ring() { close(); }

  /// Makes the ring. Returns 0 or -errno of the set-up; -ENOMEM if a queue could not be mapped,
  /// -EPROTO if the kernel describes queues that do not fit their own sizes. Requires: closed;
  /// `kernel` outlives the ring.
  int open(ring_kernel& kernel, const ring_options& options);

  /// Unmaps the queues and closes the ring. Operations in flight continue: their memory belongs to
  /// the kernel until they are reaped, so the driver cancels and reaps before it closes the ring
  /// (U20).
  void close() noexcept;

  /// Closes the descriptor in a child of fork(2), and forgets the queues: they are not mapped in
  /// the child, where other memory may have their addresses.
  void after_fork_in_child() noexcept;

  /// Sets whether deadlines are passed to the kernel as points in time, which saves one reading of
  /// the clock per wait. Called by the probe when the kernel has shown that it understands them.
  void use_absolute_deadlines(bool on) noexcept { absolute_deadlines_ = on; }

  /// Returns the next free entry, zeroed, or null if the queue is full. The next `submit` submits
  /// it, so it must be filled by then; it cannot be taken back.
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

  /// U1: as `get_entry`, but submits a full queue first. Returns null only if the kernel took
  /// nothing: the caller parks its operation and tries again after it has reaped.
  io_uring_sqe* get_entry_or_flush() noexcept {
    if (io_uring_sqe* const entry = get_entry(); entry != nullptr) [[likely]]
      return entry;
    return flush_and_get_entry();
  }

  /// Returns the number of entries that are written and not yet taken by the kernel.
  unsigned prepared() noexcept {
    refresh_head();
    return sq_tail_ - sq_head_;
  }

  /// Submits the prepared entries and waits until `wait_for` completions are in the queue, those
  /// not yet reaped included, or until `deadline_ns` on CLOCK_MONOTONIC. Makes one system call,
  /// unless the kernel takes a part of the entries (U6) or a signal cuts the wait short (U4: at
  /// most `interrupts_max` times); none if nothing is prepared, wanted or overflown. `get_events`
  /// makes the kernel run pending task work without a wait. The wait may also end early: the caller
  /// checks the queue and its clock, and calls again. For a deadline that has passed, pass
  /// `wait_for` 0: a wait of no duration sleeps some 30 us.
  ///
  /// The completion of a waiting operation is made by the thread that submitted it. On that thread,
  /// one call with `get_events` reaps the operations that its own cancels have ended (400 of 400 on
  /// Linux 6.18; with IORING_SETUP_DEFER_TASKRUN none without `get_events`). Another thread sees
  /// the completion when the submitting thread next enters the kernel: after 20 us if that thread
  /// sleeps (its epoll_wait then fails with EINTR), 4 ms, a timer tick, if it computes, up to 12 ms
  /// if it has ended. So a runner that took over a ring waits for the completions that it needs and
  /// never counts on one call.
  submit_result submit(unsigned wait_for, std::int64_t deadline_ns, bool get_events) noexcept;

  /// Calls `function(const io_uring_cqe&)` for the completions that are there now. Returns their
  /// number. A completion counts as reaped before its call, so a call that throws, submits or reaps
  /// repeats none and loses none.
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

  /// Returns the number of completions that `for_each_completion` would pass on.
  unsigned completions_ready() const noexcept {
    // acquire: as in for_each_completion.
    return std::atomic_ref(*cq_ktail_).load(std::memory_order_acquire) - cq_head_;
  }

  /// Returns whether the kernel has completions that only an enter brings into the queue: task work
  /// that waits for the thread, or an overflow. Costs one load; the driver calls it in every poll.
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

  /// The number of signals that may cut one wait short before `submit` gives up waiting.
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

  io_uring_sqe* flush_and_get_entry() noexcept;
  /// Maps the queues and checks their sizes and offsets. Returns 0 or -errno.
  int map_queues(const io_uring_params& parameters);
  bool map_area(area& where, std::size_t bytes, std::uint64_t offset);
  void adopt_queues(const io_uring_params& parameters) noexcept;
  int enter_once(unsigned to_submit, unsigned wait_for, std::int64_t deadline_ns,
                 bool get_events) noexcept;
  /// Maps an errno of io_uring_enter(2) to a state, and counts it.
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
  unsigned sq_tail_ = 0;  // the ring's own; published by submit
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
