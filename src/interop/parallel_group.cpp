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
  if (!home.table()->concurrent) {
    executor_ = home;
    return start();
  }
  try {
    executor_ = make_strand_executor(home);
  } catch (...) {
    give_up();
    throw;
  }
  entry_.group = this;
  entry_.run = [](queue_entry* entry, runner* where) {
    group_run& self = *static_cast<start_entry*>(entry)->group;
    if (where != nullptr) return self.start();
    self.give_up();  // the queue was destroyed
  };
  executor_.post(&entry_);
}

void group_run::give_up() {
  abandon();
  is_lost_ = true;
  pending_ = 1;
  leave();
}

void group_run::request(cancellation_type type) {
  asked_ = asked_ | type;
  if (!is_starting_) emit(type);
}

void group_run::start() {
  const cancellation_slot listens = slot();
  if (listens.is_connected()) listens.connect(hook_);
  std::size_t next = 0;
  try {
    start_members(next);
  } catch (...) {
    if (listens.is_connected()) listens.clear();
    abandon();
    is_lost_ = true;
    is_starting_ = false;
    pending_ -= count_ - (next - 1);  // this one, and those behind it
    emit(cancellation_type::all);
    leave();
    throw;
  }
  is_starting_ = false;
  if (!!asked_) emit(asked_);
  leave();
}

void group_run::take_end(std::size_t index, cancellation_type asks) {
  BECK_ASSERT(ended_ < count_, "a member of a parallel group has ended twice");
  order_[ended_++] = index;
  if (!!asks && !asked_) request(asks);
  leave();
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
