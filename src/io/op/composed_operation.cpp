// SPDX-License-Identifier: BSL-1.0
// The loop of composed transfers: it calls the condition, transfers some bytes, and repeats.
#include <beck/detail/composed_operation.hpp>

#include <cerrno>

#include "base/test_build.hpp"
#include "io/loop/io_loop.hpp"

namespace beck::detail {

/// Returns whether the condition is met, or the last step failed. Otherwise prepares the next step.
bool composed_transfer::finished() noexcept {
  if (failed_) {
    static_cast<void>(prepare_(*this));  // conditions may count errors
    return true;
  }
  transferred = 0;
  return !prepare_(*this);
}

bool composed_transfer::await_ready() noexcept {
  runner* const where = runner::current();
  if (where == nullptr || !where->spend(runner::memory_weight))
    return false;  // begin() finds out whether anything is left to move
  for (;;) {
    if (finished()) {
      if (!failed_) result = 0;
      return true;
    }
    if (!operation::await_ready()) {
      prepared_ = true;
      return false;
    }
    total_ += transferred;
    failed_ = result < 0;
  }
}

void composed_transfer::begin() noexcept {
  outer_ = complete;
  if (!prepared_ && finished()) {
    complete_later(*this, failed_ ? result : 0);
    return;
  }
  complete = &step;
  flags |= flag_steps;
  start_operation(*this);
}

bool composed_transfer::begin_immediate() noexcept {
  outer_ = complete;
  complete = &step;
  flags |= flag_steps;
  while (!finished()) {
    if (!start_operation_immediate(*this)) return false;
    total_ += transferred;
    failed_ = result < 0;
  }
  if (!failed_) result = 0;
  return true;
}

void composed_transfer::step(queue_entry* entry, runner* where) {
  auto* self = static_cast<composed_transfer*>(static_cast<io_op*>(entry));
  if (where == nullptr) {
    self->outer_(entry, nullptr);
    return;
  }
  io_loop& loop = io_loop::of(*where);
  for (;;) {
    self->total_ += self->transferred;
    self->failed_ = self->result < 0;
    if (self->finished()) break;
    if (!loop.engine().step_again(*self)) return;
  }
  if (!self->failed_) self->result = 0;
  if (planted(planted_bug::lost_bytes) && self->result == -ECANCELED) self->total_ = 0;
  loop.engine().end_steps(*self);
  self->complete = self->outer_;
  self->complete(entry, where);
}

}  // namespace beck::detail
