// SPDX-License-Identifier: BSL-1.0
//
// The shared memory of a scripted ring, laid out as Linux does, seen from the kernel's side. The
// areas are separate blocks of exactly the mapped size, so that the address sanitizer sees a ring
// that leaves them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "io/uring/ring_kernel.hpp"

namespace beck::testing {

/// The two queues. Thread: the one that is inside the ring's enter.
class scripted_queues {
 public:
  /// Fills the offsets and sizes of `parameters`, whose entries and flags have been decided.
  explicit scripted_queues(io_uring_params& parameters);
  scripted_queues(const scripted_queues&) = delete;
  scripted_queues& operator=(const scripted_queues&) = delete;
  ~scripted_queues();

  /// Maps the area of IORING_OFF_*; returns null if it does not exist, is smaller than `bytes` or
  /// is already mapped.
  void* map(std::uint64_t offset, std::size_t bytes);
  /// Unmaps an area; returns false if there is none with this address and size.
  bool unmap(void* address, std::size_t bytes);
  bool all_mapped() const;

  unsigned submitted() const;  ///< entries between head and tail
  io_uring_sqe next_entry();   ///< takes the entry at the head; requires submitted() > 0

  void post(std::uint64_t user_data, int result, unsigned flags, bool keep_back);
  void flush_overflow();
  void count_lost();       ///< Linux had no memory to keep an overflown completion
  unsigned ready() const;  ///< completions in the queue and not yet reaped
  unsigned overflown() const { return static_cast<unsigned>(overflow_.size()); }
  unsigned capacity() const { return cq_entries_; }

  void flag_task_work(bool on);

 private:
  struct area {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    bool mapped = false;
  };
  struct completion {
    std::uint64_t user_data;
    int result;
    unsigned flags;
  };

  area* find(std::uint64_t offset);
  unsigned& word(area& where, std::size_t offset) const;
  area& cq_area() { return single_ ? rings_ : cq_; }
  void write(const completion& entry);
  void set_flag(unsigned flag, bool on);

  area rings_;
  area cq_;
  area entries_;
  bool single_;
  bool has_array_;
  unsigned sq_entries_;
  unsigned cq_entries_;
  unsigned* sq_head_ = nullptr;
  unsigned* sq_tail_ = nullptr;
  unsigned* sq_flags_ = nullptr;
  unsigned* sq_array_ = nullptr;
  unsigned* cq_head_ = nullptr;
  unsigned* cq_tail_ = nullptr;
  unsigned* cq_lost_ = nullptr;
  io_uring_cqe* cqes_ = nullptr;
  std::deque<completion> overflow_;
};

}  // namespace beck::testing
