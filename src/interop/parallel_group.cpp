// SPDX-License-Identifier: BSL-1.0
// The part of a parallel group that does not depend on its operations: how many are under way, in
// which order they end, and which requests to cancel reach them.
#include <stdexcept>

#include <beck/base/assert.hpp>
#include <beck/interop/parallel_group.hpp>
#include <beck/run/strand.hpp>

namespace beck::detail {

void refuse_empty_group() {
  throw std::invalid_argument("beck::make_parallel_group: the range is empty");
}

void group_run::open(const any_io_executor& home, std::size_t* order, std::size_t count) {
  order_ = order;
  count_ = count;
  pending_ = count + 1;
  hook_.group = this;
  entry_.group = this;
  entry_.run = [](queue_entry* entry, runner* where) {
    group_run& self = *static_cast<start_entry*>(entry)->group;
    if (where == nullptr) self.give_up();  // the queue was destroyed
    self.begin_ends();
  };
  try {
    executor_ = home.table()->concurrent ? make_strand_executor(home) : home;
  } catch (...) {
    give_up();
    pending_ = 1;
    leave();
    throw;
  }
  start();
}

void group_run::start() {
  const executor_entry inside(executor_.table(), executor_.target());
  if (const cancellation_slot listens = slot(); listens.is_connected()) listens.connect(hook_);
  std::size_t next = 0;
  try {
    start_members(next);
  } catch (...) {
    give_up();
    asked_ = cancellation_type::all;
    pending_ -= count_ - next;  // those behind the one that has thrown
    end_start(static_cast<bool>(inside));
    throw;
  }
  end_start(static_cast<bool>(inside));
}

/// Afterwards the group may be gone.
void group_run::end_start(bool inside) {
  if (inside) return begin_ends();
  const any_io_executor executor = executor_;
  executor.post(&entry_);
}

void group_run::begin_ends() {
  has_started_ = true;
  while (!held_back_.empty()) executor_.post(held_back_.pop());
  request_and_leave(asked_);
}

/// Drops the handler. The group lives on until its members have ended.
void group_run::give_up() {
  if (const cancellation_slot listens = slot(); listens.is_connected()) listens.clear();
  abandon();
  is_lost_ = true;
}

bool group_run::holds_back(queue_entry* member) noexcept {
  if (has_started_) return false;
  held_back_.push(member);
  return true;
}

void group_run::queue_loss(queue_entry* member) const noexcept {
  const any_io_executor executor = executor_;
  try {
    executor.post(member);
    // NOLINTNEXTLINE(bugprone-empty-catch): without memory the entry is gone, and the loss taken
  } catch (...) {}
}

void group_run::request(cancellation_type type) {
  asked_ = asked_ | type;
  if (has_started_) emit(type);
}

/// Gives up one unit of `pending_`, also if a listener throws.
void group_run::request_and_leave(cancellation_type type) {
  try {
    if (!!type) request(type);
  } catch (...) {
    leave();
    throw;
  }
  leave();
}

void group_run::take_end(std::size_t index, cancellation_type asks) {
  BECK_ASSERT(ended_ < count_, "a member of a parallel group has ended twice");
  order_[ended_++] = index;
  request_and_leave((asks | asked_) != asked_ ? asks : cancellation_type::none);
}

void group_run::take_loss() {
  is_lost_ = true;
  leave();
}

void group_run::leave() {
  if (--pending_ != 0) return;
  if (const cancellation_slot listens = slot(); listens.is_connected()) listens.clear();
  finish(is_lost_);
}

}  // namespace beck::detail
