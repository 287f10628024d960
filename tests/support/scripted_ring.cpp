// SPDX-License-Identifier: BSL-1.0
//
// The system calls of the scripted kernel: they check their arguments as Linux does, and pass the
// rest of the work to the engine of the ring.
#include "support/scripted_ring.hpp"

#include <time.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace beck::testing {
namespace {

constexpr unsigned completions_max = 65536;

}  // namespace

int scripted_kernel::setup(unsigned entries, io_uring_params& parameters) {
  const std::lock_guard lock(mutex_);
  if (setup_refusals_.times > 0) {
    if (setup_refusals_.times != for_ever) --setup_refusals_.times;
    return setup_refusals_.error;
  }
  if (const int error = check_setup(entries, parameters); error != 0) return error;
  parameters.sq_entries = std::min(std::bit_ceil(entries), 32768U);
  const bool sized = (parameters.flags & IORING_SETUP_CQSIZE) != 0;
  const unsigned completions =
      sized ? std::bit_ceil(parameters.cq_entries) : 2 * parameters.sq_entries;
  parameters.cq_entries = std::min(completions, completions_max);
  parameters.features = features_;
  ring_slot slot;
  slot.engine = std::make_unique<scripted_engine>(parameters, script_, random_, stats_);
  slot.single_issuer = (parameters.flags & IORING_SETUP_SINGLE_ISSUER) != 0;
  slot.issuer = std::this_thread::get_id();
  rings_.emplace(next_fd_, std::move(slot));
  return next_fd_++;
}

// Checks the arguments in the order, and with the errors, of io_uring_setup(2).
int scripted_kernel::check_setup(unsigned entries, const io_uring_params& parameters) const {
  const unsigned flags = parameters.flags;
  if ((flags & ~known_flags_) != 0 || entries == 0) return -EINVAL;
  const bool clamp = (flags & IORING_SETUP_CLAMP) != 0;
  if (entries > 32768 && !clamp) return -EINVAL;
  const bool deferred = (flags & IORING_SETUP_DEFER_TASKRUN) != 0;
  if (deferred && (flags & IORING_SETUP_SINGLE_ISSUER) == 0) return -EINVAL;
  const bool cooperative = deferred || (flags & IORING_SETUP_COOP_TASKRUN) != 0;
  if ((flags & IORING_SETUP_TASKRUN_FLAG) != 0 && !cooperative) return -EINVAL;
  if ((flags & IORING_SETUP_CQSIZE) != 0) {
    if (parameters.cq_entries == 0) return -EINVAL;
    if (parameters.cq_entries > completions_max && !clamp) return -EINVAL;
    if (std::bit_ceil(std::min(parameters.cq_entries, completions_max)) < std::bit_ceil(entries)) {
      return -EINVAL;
    }
  }
  return entries > entries_max_ ? -ENOMEM : 0;
}

int scripted_kernel::enter(int fd, unsigned to_submit, unsigned min_complete, unsigned flags,
                           const void* argument, std::size_t argument_bytes) {
  std::unique_lock lock(mutex_);
  ring_slot* const slot = find(fd);
  if (slot == nullptr) return -EBADF;
  constexpr unsigned known = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG | uring::enter_abs_timer;
  if ((flags & ~known) != 0) return -EINVAL;
  if ((flags & uring::enter_abs_timer) != 0 && !absolute_deadlines_) return -EINVAL;
  if (slot->single_issuer && slot->issuer != std::this_thread::get_id()) return -EEXIST;
  std::int64_t deadline_ns = scripted_engine::no_deadline;
  if (const int error = wait_deadline(flags, argument, argument_bytes, deadline_ns); error != 0)
    return error;
  return slot->engine->enter(to_submit, min_complete, (flags & IORING_ENTER_GETEVENTS) != 0,
                             deadline_ns, lock);
}

int scripted_kernel::wait_deadline(unsigned flags, const void* argument, std::size_t bytes,
                                   std::int64_t& deadline_ns) {
  if ((flags & IORING_ENTER_EXT_ARG) == 0) return argument == nullptr ? 0 : -EINVAL;
  if ((features_ & IORING_FEAT_EXT_ARG) == 0 || bytes != sizeof(io_uring_getevents_arg))
    return -EINVAL;
  io_uring_getevents_arg wanted{};
  std::memcpy(&wanted, argument, sizeof wanted);
  if (wanted.ts == 0) return 0;
  const auto* const when =
      reinterpret_cast<const __kernel_timespec*>(static_cast<std::uintptr_t>(wanted.ts));
  if (when->tv_sec < 0 || when->tv_nsec < 0 || when->tv_nsec >= 1'000'000'000) return -EINVAL;
  const std::int64_t start_ns = (flags & uring::enter_abs_timer) != 0 ? shift_ns_ : now_ns();
  deadline_ns = start_ns + when->tv_sec * 1'000'000'000 + when->tv_nsec;
  return 0;
}

int scripted_kernel::control(int fd, unsigned opcode, void* argument, unsigned count) {
  const std::lock_guard lock(mutex_);
  ring_slot* const slot = find(fd);
  if (slot == nullptr) return -EBADF;
  if (control_error_ != 0) return control_error_;
  switch (opcode) {
    case IORING_REGISTER_PROBE:
      return answer_probe(*static_cast<io_uring_probe*>(argument), count);
    case IORING_REGISTER_PBUF_RING:
      return slot->engine->register_buffers(*static_cast<const io_uring_buf_reg*>(argument));
    case IORING_UNREGISTER_PBUF_RING:
      return slot->engine->unregister_buffers(*static_cast<const io_uring_buf_reg*>(argument));
    default:
      return -EINVAL;
  }
}

int scripted_kernel::answer_probe(io_uring_probe& probe, unsigned slots) const {
  if (slots > 256) return -EINVAL;
  const unsigned count = std::min<unsigned>(slots, IORING_OP_LAST);
  probe.last_op = IORING_OP_LAST - 1;
  probe.ops_len = static_cast<__u8>(count);
  for (unsigned opcode = 0; opcode < count; ++opcode) {
    const bool known = is_known_opcode(opcode) && !forgotten_.contains(opcode);
    probe.ops[opcode].op = static_cast<__u8>(opcode);
    probe.ops[opcode].flags = known ? IO_URING_OP_SUPPORTED : 0;
  }
  return 0;
}

void* scripted_kernel::map(int fd, std::size_t bytes, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  ring_slot* const slot = find(fd);
  if (slot == nullptr || maps_left_ == 0) return nullptr;
  if (maps_left_ != for_ever) --maps_left_;
  return slot->engine->queues().map(offset, bytes);
}

void scripted_kernel::unmap(void* address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  for (auto& [fd, slot] : rings_) {
    if (slot.engine->queues().unmap(address, bytes)) return;
  }
}

void scripted_kernel::close(int fd) {
  const std::lock_guard lock(mutex_);
  rings_.erase(fd);
}

std::int64_t scripted_kernel::now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

unsigned scripted_kernel::complete(std::uint64_t user_data, int result, unsigned flags) {
  unsigned count = 0;
  for (auto& [fd, slot] : rings_) count += slot.engine->complete(user_data, result, flags);
  return count;
}

unsigned scripted_kernel::end_multishots(int result) {
  unsigned count = 0;
  for (auto& [fd, slot] : rings_) count += slot.engine->end_all(result, true);
  return count;
}

unsigned scripted_kernel::end_operations(int result) {
  unsigned count = 0;
  for (auto& [fd, slot] : rings_) count += slot.engine->end_all(result, false);
  return count;
}

void scripted_kernel::look() {
  for (auto& [fd, slot] : rings_) slot.engine->look();
}

std::size_t scripted_kernel::in_flight() const {
  std::size_t count = 0;
  for (const auto& [fd, slot] : rings_) count += slot.engine->in_flight();
  return count;
}

scripted_kernel::ring_slot* scripted_kernel::find(int fd) {
  const auto found = rings_.find(fd);
  return found == rings_.end() ? nullptr : &found->second;
}

}  // namespace beck::testing
