// SPDX-License-Identifier: BSL-1.0
// Stopping a scope: what is waited for is cancelled, scope by scope down to an operation. If that
// belongs to another context a message goes there and comes back, and until it is back the
// coroutine does not go on.
#include <beck/run/scope.hpp>

#include <beck/base/assert.hpp>
#include <beck/base/error.hpp>

namespace beck {
namespace {

/// Without budget nothing finishes inline: the next await comes to where it is refused.
void forbid_inline(runner* where) noexcept {
  if (where != nullptr) where->charge(runner::budget_per_entry);
}

}  // namespace

bool scope::stop(stop_reason why) noexcept {
  forbid_inline(runner::current());  // perhaps a coroutine of this scope is running
  bool first = false;
  scope* innermost = nullptr;
  for (scope* at = this; at != nullptr;) {
    at->lock_.lock();
    at->held_ = std::exchange(innermost, at);
    if (at->stop_requested()) break;
    first = true;
    __atomic_store_n(&at->reason_, static_cast<unsigned char>(why), __ATOMIC_RELAXED);
    void* const leaf = std::exchange(at->leaf_, nullptr);
    at = leaf != nullptr ? at->cancel_(leaf, *at) : nullptr;
  }
  // An inner scope ends only after it has told the one around it: that is held as long.
  while (innermost != nullptr) {
    scope* const around = innermost->held_;
    innermost->lock_.unlock();
    innermost = around;
  }
  return first;
}

/// Unless the stop has not left the leaf alone yet.
void scope::resume_stopped(std::coroutine_handle<> coroutine, runner& where) {
  {
    const state_guard guard(lock_);
    if (away_) {
      pending_ = coroutine;
      return;
    }
  }
  forbid_inline(&where);
  where.resume(coroutine);
}

void scope::resume_next(std::coroutine_handle<> coroutine, runner& where) noexcept {
  stop_waiting();
  if (stop_requested()) forbid_inline(&where);
  const bool queued = where.resume_next(coroutine);
  BECK_ASSERT(queued, "two coroutines want to continue after one entry");
}

int scope::stop_result() noexcept {
  note_interrupted();
  return reason() == stop_reason::deadline ? timeout_result : cancelled_result;
}

int scope::explain(int result) noexcept {
  return result == cancelled_result ? stop_result() : result;
}

// --- what belongs to another context
// -------------------------------------------------------------------

void scope::visit(const any_io_executor& other, void (*there)(void* leaf) noexcept,
                  void* leaf) noexcept {
  BECK_ASSERT(!away_, "a stop visits two executors at once");
  away_ = true;
  message_.run = &act_there;
  message_.owner = this;
  message_.leaf = leaf;
  message_.there = there;
  executor_.on_work_started();
  other.post(&message_);
}

void scope::act_there(queue_entry* entry, runner* where) {
  auto& message = *static_cast<visit_message*>(entry);
  if (where != nullptr) message.there(message.leaf);
  message.run = &come_home;
  const any_io_executor home = message.owner->executor_;
  home.post(entry);  // from here on the scope may be gone
  home.on_work_finished();
}

void scope::come_home(queue_entry* entry, runner* where) {
  scope& self = *static_cast<visit_message*>(entry)->owner;
  std::coroutine_handle<> pending;
  {
    const state_guard guard(self.lock_);
    self.away_ = false;
    pending = std::exchange(self.pending_, nullptr);
  }
  if (where == nullptr || !pending) return;
  forbid_inline(where);
  where->resume(pending);
}

}  // namespace beck
