// SPDX-License-Identifier: BSL-1.0
// Signal sets on their loop. A signal handler puts the signal into the set's inbox and a
// notification into the loop's mailbox, which wakes the loop as any mail does. The rest is done
// here, by the runner.
#include <cerrno>

#include "io/loop/io_loop.hpp"
#include "io/loop/signal_state.hpp"
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
      loop->finish_signal_wait(*first, 0);
    }
  }
}

void io_loop::start_signal_wait(signal_wait& op) noexcept {
  signal_state& set = *op.set;
  ++core().outstanding;
  if (core().closing) return queue_completion(op, -ECANCELED);
  if (set.inbox == nullptr) return queue_completion(op, -EBADF);
  if (set.first == nullptr) {
    if (set.inbox->take(op.info)) return queue_completion(op, 0);
    set.next = signal_sets_;
    set.previous = nullptr;
    if (set.next != nullptr) set.next->previous = &set;
    signal_sets_ = &set;
  }
  advance(op, op_event::park);
  op.sibling_next = nullptr;
  op.sibling_previous = set.last;
  (set.last != nullptr ? set.last->sibling_next : set.first) = &op;
  set.last = &op;
}

void io_loop::finish_signal_wait(signal_wait& op, int result) noexcept {
  signal_state& set = *op.set;
  (op.sibling_previous != nullptr ? op.sibling_previous->sibling_next : set.first) =
      op.sibling_next;
  (op.sibling_next != nullptr ? op.sibling_next->sibling_previous : set.last) = op.sibling_previous;
  if (set.first == nullptr) {
    (set.previous != nullptr ? set.previous->next : signal_sets_) = set.next;
    if (set.next != nullptr) set.next->previous = set.previous;
  }
  queue_completion(op, result);
}

void io_loop::cancel_signal_waits(signal_state& set) noexcept {
  while (set.first != nullptr) finish_signal_wait(*set.first, -ECANCELED);
}

void io_loop::cancel_all_signal_waits() noexcept {
  while (signal_sets_ != nullptr) cancel_signal_waits(*signal_sets_);
}

}  // namespace beck::detail
