// SPDX-License-Identifier: BSL-1.0
// A splice needs two ready streams, and its EAGAIN does not tell which of them is not ready. So
// this calls poll(2), and the operation waits for the stream that is not ready, as any other wait
// does.
#include <beck/transfer/splice.hpp>

#include <atomic>
#include <cerrno>

#include "io/driver/listed_sends.hpp"
#include "io/loop/io_loop.hpp"

namespace beck::detail {
namespace {

/// Returns 0 if the stream can be used, else the error. `life` is the generation of the slot when
/// the operation began: a closed slot may belong to another object now.
int usable(const descriptor& d, std::uint32_t life) noexcept {
  if (d.generation != life) return cancelled_result;
  if (d.fd < 0 || is_closing(d)) return -EBADF;
  return d.expired ? timeout_result : 0;
}

}  // namespace

/// Moves bytes and returns the result; or returns -EAGAIN, with the next wait in `target` and
/// `kind`.
int splice_operation::move() noexcept {
  system& sys = from_->loop->sys();
  runner& where = *runner::current();
  if (to_->loop != from_->loop) return -EINVAL;
  if (const int refused = usable(*from_, from_life_); refused != 0) return refused;
  if (const int refused = usable(*to_, to_life_); refused != 0) return refused;
  bool were_ready = false;
  while (total_ != bytes_) {
    const std::ptrdiff_t moved =
        sys.splice(from_->fd, to_->fd, bytes_ - total_, known_ == ends::own_reader);
    if (moved == -EAGAIN && were_ready) return -EINVAL;  // an urgent mark: only a read passes it
    if (moved == -EAGAIN) {
      were_ready = !choose_side();
      if (were_ready) continue;
      return -EAGAIN;
    }
    if (moved <= 0) return moved < 0 ? static_cast<int>(moved) : eof_result;
    were_ready = false;
    total_ += static_cast<std::size_t>(moved);
    where.charge(static_cast<unsigned>(static_cast<std::size_t>(moved) / runner::bytes_per_weight));
    if (!all_) break;
    if (total_ != bytes_ && !where.spend(runner::call_weight)) {  // let other entries run first
      wait_for(from_, op_kind::wait_read);
      return -EAGAIN;
    }
  }
  return 0;
}

/// Makes the next wait one of kind `wait` for `stream`. A cancellation on another thread reads both
/// without a lock, to find the loop (loop_of()).
void splice_operation::wait_for(descriptor* stream, op_kind wait) noexcept {
  std::atomic_ref(target).store(stream, std::memory_order_relaxed);
  std::atomic_ref(kind).store(wait, std::memory_order_relaxed);
}

/// Sets `target` and `kind` to a wait for the stream that is not ready. Returns false, and changes
/// nothing, if both are ready.
bool splice_operation::choose_side() noexcept {
  io_loop& loop = *from_->loop;
  const bool readable = loop.sys().poll(from_->fd, poll_in, INT64_MIN) != 0;
  if (readable && loop.sys().poll(to_->fd, poll_out, INT64_MIN) != 0) return false;
  readable ? wait_for(to_, op_kind::wait_write) : wait_for(from_, op_kind::wait_read);
  if (readable || !loop.runs_alone()) return true;
  direction& q = from_->queue[direction_in];
  if (q.current == nullptr) note_not_ready(q);  // poll(2) has just reported it
  return true;
}

/// Makes the first attempt: as move(). Returns -EAGAIN without an attempt if the caller may not
/// touch the loop or has spent its budget.
int splice_operation::try_now() noexcept {
  from_life_ = from_->generation;
  to_life_ = to_->generation;
  io_loop& loop = *from_->loop;
  flush_sends();  // on the stream that takes the bytes
  if (!loop.on_runner() || !runner::current()->spend(runner::call_weight)) return -EAGAIN;
  return move();
}

bool splice_operation::await_ready() noexcept {
  result = try_now();
  tried_ = result == -EAGAIN;
  if (tried_) return false;
  ++runner::current()->counters.inline_completions;
  return true;
}

void splice_operation::begin() noexcept {
  const bool here = from_->loop->on_runner();
  const int now = tried_ ? -EAGAIN : try_now();
  if (now != -EAGAIN) return complete_later(*this, now);
  outer_ = complete;
  complete = &step;
  if (here) return start_operation(*this);
  state = op_state::finished;  // as between two steps: a cancellation only sets the flag
  flags = 0;
  complete_later(*this, 0);
}

bool splice_operation::begin_immediate() noexcept {
  result = try_now();
  if (result != -EAGAIN) return true;
  tried_ = true;
  begin();
  return false;
}

void splice_operation::step(queue_entry* entry, runner* where) {
  auto* self = static_cast<splice_operation*>(static_cast<io_op*>(entry));
  if (where == nullptr) {
    self->outer_(entry, nullptr);
    return;
  }
  if (self->result >= 0) {
    bool waits = false;
    const auto go_on = [self, &waits](io_loop&) {
      const bool cancelled = (self->flags & io_op::flag_cancelled) != 0;
      self->result = cancelled ? cancelled_result_of(*self) : self->move();
      waits = self->result == -EAGAIN;
      if (!waits) return;
      const library_use going_on;
      start_operation(*self);
    };
    // On a shared loop this holds the lock, which a cancellation takes too: the operation may
    // change the stream that it waits for.
    io_loop& loop = *self->from_->loop;
    loop.runs_alone() ? go_on(loop) : static_cast<void>(loop.as_runner(go_on));
    if (waits) return;
  }
  self->complete = self->outer_;
  self->complete(entry, where);
}

}  // namespace beck::detail
