// SPDX-License-Identifier: BSL-1.0
//
// The kernel's half of the two queues: it moves the head of the submission queue and the tail of
// the completion queue, with the memory orders that Linux uses, and keeps completions that do not
// fit.
#include "support/scripted_queues.hpp"

#include <atomic>
#include <cstring>
#include <new>

namespace beck::testing {
namespace {

// The offsets of the words of both rings. They are spread out, so that a wrong offset is noticed.
constexpr unsigned sq_head_at = 0;
constexpr unsigned sq_tail_at = 8;
constexpr unsigned sq_mask_at = 16;
constexpr unsigned sq_entries_at = 24;
constexpr unsigned sq_flags_at = 32;
constexpr unsigned sq_dropped_at = 40;
constexpr unsigned cq_head_at = 64;
constexpr unsigned cq_tail_at = 72;
constexpr unsigned cq_mask_at = 80;
constexpr unsigned cq_entries_at = 88;
constexpr unsigned cq_overflow_at = 96;
constexpr unsigned cq_flags_at = 104;
constexpr unsigned cqes_at = 128;
constexpr unsigned sq_array_at = 48;

constexpr std::align_val_t area_alignment{64};

// The start of the counters is just below the wrap-around, which real ones reach after a long time,
// so that every difference that the ring computes is tested.
constexpr unsigned first_index = 0xfffffff0U;

}  // namespace

scripted_queues::scripted_queues(io_uring_params& parameters)
    : single_((parameters.features & IORING_FEAT_SINGLE_MMAP) != 0),
      has_array_((parameters.flags & uring::setup_no_sqarray) == 0),
      sq_entries_(parameters.sq_entries),
      cq_entries_(parameters.cq_entries) {
  const std::size_t cq_bytes = cqes_at + cq_entries_ * sizeof(io_uring_cqe);
  // With one mapping the array comes last, as in Linux.
  const std::size_t array_at = single_ ? cq_bytes : sq_array_at;
  const std::size_t array_bytes = has_array_ ? sq_entries_ * sizeof(unsigned) : 0;
  rings_.bytes = array_at + array_bytes;
  if (!single_) cq_.bytes = cq_bytes;
  entries_.bytes = sq_entries_ * sizeof(io_uring_sqe);
  for (area* const each : {&rings_, &cq_, &entries_}) {
    if (each->bytes == 0) continue;
    each->memory = static_cast<std::byte*>(::operator new(each->bytes, area_alignment));
    std::memset(each->memory, 0, each->bytes);
  }
  parameters.sq_off = {};
  parameters.sq_off.head = sq_head_at;
  parameters.sq_off.tail = sq_tail_at;
  parameters.sq_off.ring_mask = sq_mask_at;
  parameters.sq_off.ring_entries = sq_entries_at;
  parameters.sq_off.flags = sq_flags_at;
  parameters.sq_off.dropped = sq_dropped_at;
  parameters.sq_off.array = has_array_ ? static_cast<unsigned>(array_at) : 0;
  parameters.cq_off = {};
  parameters.cq_off.head = cq_head_at;
  parameters.cq_off.tail = cq_tail_at;
  parameters.cq_off.ring_mask = cq_mask_at;
  parameters.cq_off.ring_entries = cq_entries_at;
  parameters.cq_off.overflow = cq_overflow_at;
  parameters.cq_off.flags = cq_flags_at;
  parameters.cq_off.cqes = cqes_at;

  sq_head_ = &word(rings_, sq_head_at);
  sq_tail_ = &word(rings_, sq_tail_at);
  sq_flags_ = &word(rings_, sq_flags_at);
  cq_head_ = &word(cq_area(), cq_head_at);
  cq_tail_ = &word(cq_area(), cq_tail_at);
  cq_lost_ = &word(cq_area(), cq_overflow_at);
  if (has_array_) sq_array_ = &word(rings_, array_at);
  cqes_ = reinterpret_cast<io_uring_cqe*>(cq_area().memory + cqes_at);
  word(rings_, sq_mask_at) = sq_entries_ - 1;
  word(rings_, sq_entries_at) = sq_entries_;
  word(cq_area(), cq_mask_at) = cq_entries_ - 1;
  word(cq_area(), cq_entries_at) = cq_entries_;
  *sq_head_ = *sq_tail_ = *cq_head_ = *cq_tail_ = first_index;
}

scripted_queues::~scripted_queues() {
  for (area* const each : {&rings_, &cq_, &entries_}) {
    if (each->memory != nullptr) ::operator delete(each->memory, area_alignment);
  }
}

unsigned& scripted_queues::word(area& where, std::size_t offset) const {
  return *reinterpret_cast<unsigned*>(where.memory + offset);
}

scripted_queues::area* scripted_queues::find(std::uint64_t offset) {
  if (offset == IORING_OFF_SQ_RING) return &rings_;
  if (offset == IORING_OFF_CQ_RING) return &cq_area();
  return offset == IORING_OFF_SQES ? &entries_ : nullptr;
}

void* scripted_queues::map(std::uint64_t offset, std::size_t bytes) {
  area* const wanted = find(offset);
  if (wanted == nullptr || wanted->mapped || bytes > wanted->bytes) return nullptr;
  wanted->mapped = true;
  return wanted->memory;
}

bool scripted_queues::unmap(void* address, std::size_t bytes) {
  for (area* const each : {&rings_, &cq_, &entries_}) {
    if (each->memory == nullptr || each->memory != address) continue;
    if (!each->mapped || bytes > each->bytes) return false;
    each->mapped = false;
    return true;
  }
  return false;
}

bool scripted_queues::all_mapped() const {
  return rings_.mapped && entries_.mapped && (single_ || cq_.mapped);
}

unsigned scripted_queues::submitted() const {
  // acquire: pairs with the ring's release of the tail, as in Linux.
  return std::atomic_ref(*sq_tail_).load(std::memory_order_acquire) - *sq_head_;
}

io_uring_sqe scripted_queues::next_entry() {
  const unsigned mask = sq_entries_ - 1;
  const unsigned slot = has_array_ ? sq_array_[*sq_head_ & mask] & mask : *sq_head_ & mask;
  io_uring_sqe* const entry = reinterpret_cast<io_uring_sqe*>(entries_.memory) + slot;
  const io_uring_sqe copy = *entry;
  // The entry belongs to the application again, which must not rely on its content.
  std::memset(static_cast<void*>(entry), 0xee, sizeof *entry);
  std::atomic_ref(*sq_head_).store(*sq_head_ + 1, std::memory_order_release);
  return copy;
}

void scripted_queues::post(std::uint64_t user_data, int result, unsigned flags, bool keep_back) {
  const completion entry{user_data, result, flags};
  if (keep_back || !overflow_.empty() || ready() == cq_entries_) {
    overflow_.push_back(entry);
    set_flag(IORING_SQ_CQ_OVERFLOW, true);
    return;
  }
  write(entry);
}

void scripted_queues::flush_overflow() {
  while (!overflow_.empty() && ready() < cq_entries_) {
    write(overflow_.front());
    overflow_.pop_front();
  }
  set_flag(IORING_SQ_CQ_OVERFLOW, !overflow_.empty());
}

void scripted_queues::count_lost() {
  std::atomic_ref(*cq_lost_).fetch_add(1, std::memory_order_relaxed);
}

void scripted_queues::write(const completion& entry) {
  io_uring_cqe& slot = cqes_[*cq_tail_ & (cq_entries_ - 1)];
  slot.user_data = entry.user_data;
  slot.res = entry.result;
  slot.flags = entry.flags;
  std::atomic_ref(*cq_tail_).store(*cq_tail_ + 1, std::memory_order_release);
}

unsigned scripted_queues::ready() const {
  // acquire: pairs with the ring's release of the head, as in Linux.
  return *cq_tail_ - std::atomic_ref(*cq_head_).load(std::memory_order_acquire);
}

void scripted_queues::flag_task_work(bool on) { set_flag(IORING_SQ_TASKRUN, on); }

void scripted_queues::set_flag(unsigned flag, bool on) {
  const unsigned flags = on ? *sq_flags_ | flag : *sq_flags_ & ~flag;
  std::atomic_ref(*sq_flags_).store(flags, std::memory_order_relaxed);
}

}  // namespace beck::testing
