// SPDX-License-Identifier: BSL-1.0
// Turns operations into ring entries, and makes batched sends between two polls. Operations and
// cancels that find no room in the submission queue stay on their list for the next poll (U1).
#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <beck/base/assert.hpp>
#include <beck/io/uring_submit.hpp>

#include "base/sanitizers.hpp"
#include "io/driver/driver_host.hpp"
#include "io/driver/loop_core.hpp"
#include "io/op/perform.hpp"
#include "io/op/transitions.hpp"
#include "io/uring/uring_driver.hpp"

namespace beck::detail {
namespace {

/// The number of listed sends at which all are passed to the kernel. More would delay the first of
/// them for little: with half of them a send costs 2 % more.
constexpr unsigned batched_sends_max = 64;

/// The attempts to get an entry at the end of a context. With the longest back-off between two of
/// them they take more than ten seconds.
constexpr int cancel_tries_max = 1000;

void fill_file(io_uring_sqe& sqe, const file_operation& op) noexcept {
  const std::size_t left = op.length - op.transferred;
  sqe.fd = op.target->fd;
  sqe.off = op.offset + op.transferred;
  sqe.addr = reinterpret_cast<std::uint64_t>(op.address);
  switch (op.call) {
    case file_call::read:
    case file_call::write:
      sqe.opcode = op.call == file_call::read ? IORING_OP_READ : IORING_OP_WRITE;
      sqe.addr += op.transferred;
      sqe.len = static_cast<std::uint32_t>(std::min<std::size_t>(left, uring::transfer_bytes_max));
      return;
    case file_call::read_vector:
    case file_call::write_vector:
      sqe.opcode = op.call == file_call::read_vector ? IORING_OP_READV : IORING_OP_WRITEV;
      sqe.addr = reinterpret_cast<std::uint64_t>(parts_of_file(op));
      sqe.len = static_cast<std::uint32_t>(op.length);
      return;
    case file_call::sync_all:
    case file_call::sync_data:
      sqe.opcode = IORING_OP_FSYNC;
      sqe.off = 0;
      sqe.fsync_flags = op.call == file_call::sync_data ? IORING_FSYNC_DATASYNC : 0;
      return;
    case file_call::open:
      sqe.opcode = IORING_OP_OPENAT;
      sqe.fd = AT_FDCWD;
      sqe.off = 0;
      sqe.len = op.creation_mode;
      sqe.open_flags = static_cast<std::uint32_t>(op.length);
      return;
    case file_call::resize:
    case file_call::open_in:
    case file_call::status:
    case file_call::status_in:
    case file_call::list:
      break;
  }
  BECK_ASSERT(false, "a call on a file without a ring entry reached the ring");
}

void fill_poll(io_uring_sqe& sqe, int fd, unsigned events) noexcept {
  sqe.opcode = IORING_OP_POLL_ADD;
  sqe.fd = fd;
  sqe.poll32_events = events;
}

void fill_receive(io_uring_sqe& sqe, const io_op& op) noexcept {
  sqe.opcode = IORING_OP_RECV;
  sqe.fd = op.target->fd;
  sqe.addr = reinterpret_cast<std::uint64_t>(static_cast<char*>(op.address) + op.transferred);
  sqe.len = static_cast<std::uint32_t>(op.length - op.transferred);
}

void fill_send(io_uring_sqe& sqe, const io_op& op) noexcept {
  sqe.opcode = IORING_OP_SEND;
  sqe.fd = op.target->fd;
  sqe.addr = reinterpret_cast<std::uint64_t>(static_cast<char*>(op.address) + op.transferred);
  sqe.len = static_cast<std::uint32_t>(
      std::min<std::size_t>(op.length - op.transferred, uring::transfer_bytes_max));
  sqe.msg_flags = MSG_NOSIGNAL;
  if ((op.flags & io_op::flag_all) != 0) sqe.msg_flags |= MSG_WAITALL;
}

/// Returns whether the ring makes this call. IORING_OP_FTRUNCATE exists since Linux 6.9; of the
/// calls after open the kernel's own threads would make each, as ours do.
bool has_entry(file_call call) noexcept {
  return call <= file_call::open && call != file_call::resize;
}

}  // namespace

/// Fills an entry for an operation that a direct call could not complete, or that is batched.
inline void uring_driver::fill(io_uring_sqe& sqe, io_op& op) noexcept {
  switch (ring_form_of(op)) {
    case ring_form::receive:
      return fill_receive(sqe, op);
    case ring_form::send:
      return fill_send(sqe, op);
    case ring_form::poll:
      fill_poll(sqe, op.target->fd, awaited_events(op));
      if (!op.target->queue[direction_of(op.kind)].peer_finished) return;
      sqe.poll32_events |= uring::poll_edge;
      sqe.len = IORING_POLL_ADD_MULTI;
      return;
    case ring_form::file: {
      auto& call = static_cast<file_operation&>(op);
      fill_file(sqe, call);
      if (is_registered(call)) use_registered(sqe, call);
      return;
    }
    case ring_form::raw:
      return fill_raw(op, sqe);
    case ring_form::none:
      break;
  }
  BECK_ASSERT(false, "an operation without a ring entry reached the ring");
}

void uring_driver::use_registered(io_uring_sqe& sqe, const file_operation& op) noexcept {
  sqe.opcode = sqe.opcode == IORING_OP_READ ? IORING_OP_READ_FIXED : IORING_OP_WRITE_FIXED;
  sqe.buf_index = static_cast<std::uint16_t>(op.registered - 1);
  ++registered_in_flight_;
}

void uring_driver::submit(io_op& op) noexcept {
  if (op.kind == op_kind::send && core_.batches(op, op.target->queue[direction_out]))
    return list_send(op);
  switch (next_step_of(op)) {
    case next_step::attempt:
      return host_.queue_attempt(op);
    case next_step::attempt_late:
    case next_step::submit_late:
      advance(op, op_event::list);
      fresh_.add(op);
      if (op.target->queue[direction_in].arming.take_return()) unwatch(*op.target);
      return;
    case next_step::submit:
      advance(op, op_event::list);
      return now_.add(op);
    case next_step::await_event:
      advance(op, op_event::park);
      return watch(*op.target);
    case next_step::on_thread:
      return host_.run_blocking(op);
  }
}

io_uring_sqe* uring_driver::entry() noexcept { return ring_.get_entry_or_flush(); }

bool uring_driver::write_operation(io_op& op) noexcept {
  io_uring_sqe* sqe = entry();
  if (sqe == nullptr) return false;
  fill(*sqe, op);
  sqe->user_data = uring::token_of(op);
  annotate_release(&op);
  advance(op, op_event::submit);
  ++op.target->in_kernel;
  ++in_flight_;
  return true;
}

/// Returns whether the buffer of an operation lies in the registered buffer that it names: the
/// number may belong to another context, or to a registration that has ended.
bool uring_driver::is_registered(const file_operation& op) const noexcept {
  if (op.registered == 0 || op.registered > registered_count_) return false;
  if (op.call != file_call::read && op.call != file_call::write) return false;
  const io_vector& whole = registered_[op.registered - 1];
  const auto begin = reinterpret_cast<std::uintptr_t>(whole.data);
  const auto data = reinterpret_cast<std::uintptr_t>(op.address);
  return data >= begin && data - begin <= whole.bytes && op.length <= whole.bytes - (data - begin);
}

/// Returns whether `op` is to be armed on the ring: only receives into one small buffer are, and
/// only while that pays; the other reads on the list are attempted.
bool uring_driver::arms(const io_op& op) const noexcept {
  return op.kind == op_kind::receive && is_socket(*op.target) &&
         op.length - op.transferred <= options_.small_receive_bytes_max &&
         op.target->queue[direction_in].arming.arms();
}

next_step uring_driver::next_step_of(const io_op& op) const noexcept {
  if (is_file(op.kind)) {
    const file_call call = static_cast<const file_operation&>(op).call;
    return has_entry(call) ? next_step::submit : next_step::on_thread;
  }
  return step_on_ring(op, op.target->queue[direction_of(op.kind)], arms(op));
}

// --- batched sends

void uring_driver::list_send(io_op& op) noexcept {
  advance(op, op_event::list);
  now_.add(op);
  note_listing(this);
  ++sends_batched_;
  if (++listed_sends_ == batched_sends_max) submit_sends();
}

/// Passes the listed sends to the kernel. The next poll or make_listed_sends() takes their results.
void uring_driver::submit_sends() noexcept {
  const std::int64_t began = core_.sys->now();
  listed_sends_ = 0;
  write_or_keep(now_);
  enter(0, 0);
  batch_began_ += core_.sys->now() - began;  // only the time of handlers is of interest
}

void uring_driver::make_listed_sends() noexcept {
  note_listing(nullptr);
  if (core_.is_forked_copy()) return;  // the ring is the parent's
  if (listed_sends_ != 0) submit_sends();
  collect();
}

/// Writes the operations of a list, finishes those that were cancelled meanwhile, and keeps those
/// that find no room.
void uring_driver::write_or_keep(lazy_list& list) noexcept {
  if (list.empty()) return;
  lazy_list kept;
  list.take([this, &kept](io_op& op) {
    const bool armed = arms(op);
    if ((op.flags & io_op::flag_cancelled) != 0) {
      host_.finish(op, -ECANCELED);
    } else if (!armed && is_read(op.kind)) {
      host_.queue_late_attempt(op);
    } else if (!write_operation(op)) {
      kept.add(op);
    } else if (armed && options_.lazy) {
      ++lazily_armed_;
      op.target->queue[direction_in].arming.armed_by(static_cast<std::uint8_t>(enter_number_ + 1));
      armed_in_next_ = true;
    }
  });
  list.rotate(kept);
}

/// Writes the poll of a descriptor. A message or a read gets a one-shot poll, which checks the
/// descriptor when it begins: after a short read no attempt has to find out whether that was all. A
/// multishot would also report each datagram that is received without waiting.
bool uring_driver::write_poll(descriptor& d) noexcept {
  io_uring_sqe* sqe = entry();
  if (sqe == nullptr) return false;
  fill_poll(*sqe, d.fd, POLLIN | POLLRDHUP | uring::poll_edge);
  const io_op* const waiting = d.queue[direction_in].current;
  const bool once = waiting != nullptr && (is_message(waiting->kind) || is_read(waiting->kind));
  sqe->len = once ? 0 : IORING_POLL_ADD_MULTI;
  sqe->user_data = uring::token_of(d);
  advance(d, watch_event::watch);
  ++watched_;
  return true;
}

/// Writes an entry that completes at once: completions before it are those of receives whose data
/// was there. Returns false if there is no room for it.
bool uring_driver::write_marker() noexcept {
  io_uring_sqe* sqe = ring_.get_entry();
  if (sqe == nullptr) return false;
  sqe->opcode = IORING_OP_NOP;
  sqe->fd = -1;
  sqe->user_data = uring::marker_token;
  return true;
}

bool uring_driver::write_cancel(std::uint64_t token) noexcept {
  io_uring_sqe* sqe = entry();
  if (sqe == nullptr) return false;
  sqe->opcode = IORING_OP_ASYNC_CANCEL;
  sqe->fd = -1;
  sqe->addr = token;
  sqe->user_data = uring::internal_token;
  return true;
}

/// Writes the entries that are not delayed by one poll: the wake poll, cancels, polls, sends and
/// one-shot polls.
void uring_driver::write_prepared() noexcept {
  if (!wake_watched_) {
    if (io_uring_sqe* sqe = entry(); sqe != nullptr) {
      fill_poll(*sqe, wake_fd_, POLLIN | uring::poll_edge);
      sqe->len = IORING_POLL_ADD_MULTI;
      sqe->user_data = uring::wake_token;
      wake_watched_ = true;
    }
  }
  while (!cancels_.empty()) {
    auto* op = static_cast<io_op*>(cancels_.pop());
    op->flags &= static_cast<std::uint8_t>(~io_op::flag_cancel_queued);
    if (write_cancel(uring::token_of(*op))) continue;
    op->flags |= io_op::flag_cancel_queued;
    entry_queue rest = cancels_;
    cancels_ = entry_queue();
    cancels_.push(op);
    cancels_.append(rest);
    break;
  }
  while (unwatched_ != nullptr) {
    descriptor& d = *unwatched_;
    if (!write_cancel(uring::token_of(d))) break;
    unwatched_ = d.next;
    d.next = nullptr;
    advance(d, watch_event::unasked);
  }
  while (polls_ != nullptr) {
    descriptor& d = *polls_;
    if (!write_poll(d)) break;
    polls_ = d.next;
    d.next = nullptr;
  }
  write_or_keep(now_);
}

void uring_driver::watch(descriptor& d) noexcept {
  if (d.watch != watch_state::none) return;
  advance(d, watch_event::ask);
  d.next = polls_;
  polls_ = &d;
}

void uring_driver::unwatch(descriptor& d) noexcept {
  if (d.watch == watch_state::arming) {  // the poll is not written yet
    unlink(polls_, d);
    advance(d, watch_event::end);
  }
  if (d.watch != watch_state::watched) return;
  advance(d, watch_event::unwatch);
  d.next = unwatched_;
  unwatched_ = &d;
}

void uring_driver::unlink(descriptor*& list, descriptor& d) noexcept {
  descriptor** link = &list;
  while (*link != &d) link = &(*link)->next;
  *link = d.next;
  d.next = nullptr;
}

void uring_driver::cancel_everything() noexcept {
  io_uring_sqe* sqe = entry();
  for (int tries = 0; sqe == nullptr && tries < cancel_tries_max; ++tries) {
    collect();
    back_off();
    sqe = entry();
  }
  if (sqe == nullptr) return;
  sqe->opcode = IORING_OP_ASYNC_CANCEL;
  sqe->fd = -1;
  sqe->cancel_flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL;
  sqe->user_data = uring::internal_token;
  enter(0, 0);
  collect();
}

}  // namespace beck::detail
