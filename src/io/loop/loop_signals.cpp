// SPDX-License-Identifier: BSL-1.0
// Signal sets on their loop: they receive signals, and their waits start and end.
#include "io/loop/loop_signals.hpp"

#include <cerrno>

#include "io/loop/io_loop.hpp"
#include "io/op/transitions.hpp"

namespace beck::detail {

void signal_state::signalled(const signal_info& info) noexcept {
  inbox->put(info);
  if (!notified.exchange(true, std::memory_order_acq_rel)) loop->send_command(&notification);
}

void signal_state::look(void* self) noexcept {
  auto& set = *static_cast<signal_state*>(self);
  // Before the inbox is read, so that a signal put in later sends another notification.
  set.notified.exchange(false, std::memory_order_acq_rel);
  if (set.dumps_to >= 0) [[unlikely]]
    return set.dump();
  set.deliver();
}

void signal_state::deliver() noexcept {
  signal_info info;
  while (first != nullptr && inbox->take(info)) {
    while (first != nullptr) {
      first->info = info;
      loop->signals().finish(*first, 0);
    }
  }
}

loop_signals::loop_signals(io_loop& loop, loop_core& core, const any_io_executor& executor)
    : core_(core), vacant_(std::make_unique<signal_state>(loop, executor)) {}

void loop_signals::start(signal_wait& op) noexcept {
  signal_state& set = *op.set;
  ++core_.outstanding;
  if (core_.closing) return finish_wait(core_, op, -ECANCELED);
  if (set.inbox == nullptr) return finish_wait(core_, op, -EBADF);
  if (set.first == nullptr) {
    if (set.inbox->take(op.info)) return finish_wait(core_, op, 0);
    set.next = sets_;
    set.previous = nullptr;
    if (set.next != nullptr) set.next->previous = &set;
    sets_ = &set;
  }
  advance(op, op_event::park);
  op.sibling_next = nullptr;
  op.sibling_previous = set.last;
  (set.last != nullptr ? set.last->sibling_next : set.first) = &op;
  set.last = &op;
}

void loop_signals::finish(signal_wait& op, int result) noexcept {
  signal_state& set = *op.set;
  (op.sibling_previous != nullptr ? op.sibling_previous->sibling_next : set.first) =
      op.sibling_next;
  (op.sibling_next != nullptr ? op.sibling_next->sibling_previous : set.last) = op.sibling_previous;
  if (set.first == nullptr) {
    (set.previous != nullptr ? set.previous->next : sets_) = set.next;
    if (set.next != nullptr) set.next->previous = set.previous;
  }
  finish_wait(core_, op, result);
}

void loop_signals::cancel_waits(signal_state& set) noexcept {
  while (set.first != nullptr) finish(*set.first, -ECANCELED);
}

void loop_signals::cancel_all() noexcept {
  while (sets_ != nullptr) cancel_waits(*sets_);
}

}  // namespace beck::detail
