// SPDX-License-Identifier: BSL-1.0
//
// The set-up of the queues, and the submission: the only place that knows the possible answers of
// io_uring_enter(2). Sizes and offsets come from the kernel and are checked before they are used.
#include "io/uring/ring.hpp"

#include <bit>
#include <cerrno>
#include <initializer_list>

namespace beck::uring {
namespace {

template <class T>
T* at(void* base, std::size_t offset) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(base) + offset);
}

bool fits(std::size_t offset, std::size_t bytes, std::size_t area_bytes) {
  return offset <= area_bytes && bytes <= area_bytes - offset;
}

bool has_array(const io_uring_params& parameters) {
  return (parameters.flags & setup_no_sqarray) == 0;
}

// Returns the end of the last word of the submission ring, without its array.
std::size_t sq_words_end(const io_sqring_offsets& offsets) {
  std::size_t end = 0;
  for (const unsigned offset : {offsets.head, offsets.tail, offsets.ring_mask, offsets.ring_entries,
                                offsets.flags, offsets.dropped}) {
    if (offset + sizeof(unsigned) > end) end = offset + sizeof(unsigned);
  }
  return end;
}

}  // namespace

int ring::open(ring_kernel& kernel, const ring_options& options) {
  io_uring_params parameters{};
  parameters.flags = options.flags;
  parameters.cq_entries = (options.flags & IORING_SETUP_CQSIZE) != 0 ? options.completions : 0;
  const int fd = kernel.setup(options.entries, parameters);
  if (fd < 0) return fd;
  kernel_ = &kernel;
  fd_ = fd;
  const int error = map_queues(parameters);
  if (error != 0) {
    close();
    return error;
  }
  setup_flags_ = parameters.flags;
  features_ = parameters.features;
  adopt_queues(parameters);
  return 0;
}

int ring::map_queues(const io_uring_params& parameters) {
  const bool sizes_agree =
      std::has_single_bit(parameters.sq_entries) && std::has_single_bit(parameters.cq_entries);
  if (!sizes_agree) return -EPROTO;
  const std::size_t array_bytes =
      has_array(parameters)
          ? std::size_t{parameters.sq_off.array} + parameters.sq_entries * sizeof(unsigned)
          : 0;
  std::size_t sq_bytes = sq_words_end(parameters.sq_off);
  if (array_bytes > sq_bytes) sq_bytes = array_bytes;
  std::size_t cq_bytes =
      std::size_t{parameters.cq_off.cqes} + parameters.cq_entries * sizeof(io_uring_cqe);
  const bool single = (parameters.features & IORING_FEAT_SINGLE_MMAP) != 0;
  if (single) sq_bytes = cq_bytes = sq_bytes > cq_bytes ? sq_bytes : cq_bytes;

  if (!map_area(sq_area_, sq_bytes, IORING_OFF_SQ_RING)) return -ENOMEM;
  if (!single && !map_area(cq_area_, cq_bytes, IORING_OFF_CQ_RING)) return -ENOMEM;
  if (!map_area(sqe_area_, parameters.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES))
    return -ENOMEM;

  for (const unsigned offset :
       {parameters.cq_off.head, parameters.cq_off.tail, parameters.cq_off.ring_mask,
        parameters.cq_off.ring_entries, parameters.cq_off.overflow}) {
    if (!fits(offset, sizeof(unsigned), cq_bytes)) return -EPROTO;
  }
  void* const cq = single ? sq_area_.address : cq_area_.address;
  if (*at<unsigned>(sq_area_.address, parameters.sq_off.ring_mask) != parameters.sq_entries - 1 ||
      *at<unsigned>(cq, parameters.cq_off.ring_mask) != parameters.cq_entries - 1) {
    return -EPROTO;
  }
  return 0;
}

bool ring::map_area(area& where, std::size_t bytes, std::uint64_t offset) {
  void* const address = kernel_->map(fd_, bytes, offset);
  if (address == nullptr) return false;
  where = {address, bytes};
  return true;
}

void ring::adopt_queues(const io_uring_params& parameters) noexcept {
  void* const sq = sq_area_.address;
  void* const cq = cq_area_.address != nullptr ? cq_area_.address : sq;
  sq_khead_ = at<unsigned>(sq, parameters.sq_off.head);
  sq_ktail_ = at<unsigned>(sq, parameters.sq_off.tail);
  sq_kflags_ = at<unsigned>(sq, parameters.sq_off.flags);
  sq_entries_ = parameters.sq_entries;
  sq_mask_ = parameters.sq_entries - 1;
  sqes_ = static_cast<io_uring_sqe*>(sqe_area_.address);
  cq_khead_ = at<unsigned>(cq, parameters.cq_off.head);
  cq_ktail_ = at<unsigned>(cq, parameters.cq_off.tail);
  cq_lost_ = at<unsigned>(cq, parameters.cq_off.overflow);
  cq_entries_ = parameters.cq_entries;
  cq_mask_ = parameters.cq_entries - 1;
  cqes_ = at<io_uring_cqe>(cq, parameters.cq_off.cqes);
  sq_head_ = sq_tail_ = *sq_ktail_;
  cq_head_ = *cq_khead_;
  if (has_array(parameters)) {
    // Entries are used in order, so the indirection is filled once and never touched again.
    unsigned* const array = at<unsigned>(sq, parameters.sq_off.array);
    for (unsigned index = 0; index < sq_entries_; ++index) array[index] = index;
  }
}

void ring::close() noexcept {
  if (fd_ < 0) return;
  // The queues must not be read here: in a child of fork they are not mapped.
  for (area* const each : {&sqe_area_, &cq_area_, &sq_area_}) {
    if (each->address != nullptr) kernel_->unmap(each->address, each->bytes);
    *each = {};
  }
  kernel_->close(fd_);
  fd_ = -1;
  sq_entries_ = 0;
  sq_tail_ = sq_head_ = 0;
  absolute_deadlines_ = false;
}

void ring::after_fork_in_child() noexcept {
  sqe_area_ = cq_area_ = sq_area_ = {};
  close();
}

io_uring_sqe* ring::flush_and_get_entry() noexcept {
  // The kernel's answer does not matter: afterwards there is room, or the caller parks its
  // operation.
  static_cast<void>(submit(0, no_deadline, false));
  return get_entry();
}

submit_result ring::submit(unsigned wait_for, std::int64_t deadline_ns, bool get_events) noexcept {
  // release: pairs with the kernel's acquire of the tail, before it reads the entries.
  std::atomic_ref(*sq_ktail_).store(sq_tail_, std::memory_order_release);
  unsigned interrupts = 0;
  for (;;) {
    const unsigned waiting = prepared();
    const bool overflown = (kernel_flags() & IORING_SQ_CQ_OVERFLOW) != 0;
    if (waiting == 0 && wait_for == 0 && !get_events && !overflown) return {submit_status::done, 0};
    if (overflown) {
      ++stats_.overflows;
      get_events = true;  // only this makes the kernel move them into the queue
    }
    const int result = enter_once(waiting, wait_for, deadline_ns, get_events);
    ++stats_.enters;
    // The head tells how many entries were taken, also after a failure; the returned count hides
    // entries and errors.
    const unsigned taken = waiting - prepared();
    stats_.submitted += taken;
    if (std::atomic_ref(*cq_lost_).load(std::memory_order_relaxed) != 0) {
      return {submit_status::failed,
              EBADR};  // the kernel lost a completion (no memory): an operation never ends
    }
    if (result < 0) {
      if (result == -EINTR && completions_ready() < wait_for && ++interrupts <= interrupts_max) {
        ++stats_.interrupted;
        continue;
      }
      return explain(-result);
    }
    if (taken == waiting) return {submit_status::done, 0};
    if (taken == 0) return explain(EAGAIN);
    // A partial submission never waits (io_uring_enter(2)): the next round submits the rest and
    // waits.
    ++stats_.partial;
  }
}

int ring::enter_once(unsigned to_submit, unsigned wait_for, std::int64_t deadline_ns,
                     bool get_events) noexcept {
  unsigned flags = get_events || wait_for > 0 ? unsigned{IORING_ENTER_GETEVENTS} : 0U;
  if (wait_for == 0 || deadline_ns == no_deadline) {
    return kernel_->enter(fd_, to_submit, wait_for, flags, nullptr, 0);
  }
  std::int64_t when_ns = deadline_ns;
  if (absolute_deadlines_) {
    flags |= enter_abs_timer;
  } else {
    when_ns -= kernel_->now_ns();
  }
  if (when_ns <= 0) return kernel_->enter(fd_, to_submit, 0, flags, nullptr, 0);
  const __kernel_timespec when{when_ns / 1'000'000'000, when_ns % 1'000'000'000};
  io_uring_getevents_arg argument{};
  argument.ts = reinterpret_cast<std::uintptr_t>(&when);
  return kernel_->enter(fd_, to_submit, wait_for, flags | IORING_ENTER_EXT_ARG, &argument,
                        sizeof argument);
}

submit_result ring::explain(int error) noexcept {
  switch (error) {
    case ETIME:
    case EINTR:
      if (error == EINTR) ++stats_.interrupted;
      // If entries were taken, Linux returns their count instead of an error, so none should be
      // left.
      return prepared() == 0 ? submit_result{submit_status::done, 0}
                             : submit_result{submit_status::refused, error};
    case EAGAIN:
    case ENOMEM:
    case ENOBUFS:
      ++stats_.refused;
      return {submit_status::refused, error};
    case EBUSY:
      ++stats_.busy;
      return {submit_status::busy, error};
    default:
      return {submit_status::failed, error};
  }
}

}  // namespace beck::uring
