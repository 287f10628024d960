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
  stop_chain told;
  for (scope* at = this; at != nullptr;) {
    at->lock_.lock();
    at->held_ = std::exchange(innermost, at);
    if (at->stop_requested()) break;
    first = true;
    __atomic_store_n(&at->reason_, static_cast<unsigned char>(why), __ATOMIC_RELAXED);
    if (at->told_.stop_possible()) [[unlikely]]
      told.add(at->told_);
    void* const leaf = at->starting_ ? nullptr : std::exchange(at->leaf_, nullptr);
    at = leaf != nullptr ? at->kind_->cancel(leaf, *at) : nullptr;
  }
  // An inner scope ends only after it has told the one around it: that is held as long.
  while (innermost != nullptr) {
    scope* const around = innermost->held_;
    innermost->lock_.unlock();
    innermost = around;
  }
  told.request_all();
  return first;
}

stop_token scope::token() {
  if (!told_.stop_possible()) {
    stop_source made;
    const state_guard guard(lock_);  // a stop that comes meanwhile sees this, or is seen
    if (stop_requested()) made.request_stop();
    told_ = static_cast<stop_source&&>(made);
  }
  return told_.get_token();
}

/// Where entries run side by side the wait may be over by now, and the coroutine kept back.
void scope::make_up_for_start() noexcept {
  const state_guard guard(lock_);
  starting_ = false;
  void* const leaf = stop_requested() ? std::exchange(leaf_, nullptr) : nullptr;
  if (leaf != nullptr) {
    const scope* const inner = kind_->cancel(leaf, *this);
    BECK_ASSERT(inner == nullptr, "a scope is not started");
  }
  if (!pending_ || message_) return;
  message_.emplace(*this, &act_there);
  message_->run = &come_home;
  executor_.post(&*message_);  // it takes the lock, so this stays until the guard has gone
}

void scope::resume_carefully(std::coroutine_handle<> coroutine, runner& where) {
  {
    const state_guard guard(lock_);
    leaf_ = nullptr;
    if (starting_ || message_) {
      pending_ = coroutine;
      return;
    }
  }
  if (stop_requested()) forbid_inline(&where);
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
  BECK_ASSERT(!message_, "a stop visits two executors at once");
  message_.emplace(*this, &act_there);
  message_->leaf = leaf;
  message_->there = there;
  executor_.on_work_started();
  other.post(&*message_);
}

void scope::act_there(void* subject) noexcept {
  auto& message = *static_cast<visit_message*>(subject);
  message.there(message.leaf);
  message.run = &come_home;
  const any_io_executor home = message.owner->executor_;
  home.post(&message);  // from here on the scope may be gone
  home.on_work_finished();
}

void scope::come_home(queue_entry* entry, runner* where) {
  scope& self = *static_cast<visit_message*>(entry)->owner;
  std::coroutine_handle<> pending;
  {
    const state_guard guard(self.lock_);
    self.message_.reset();
    pending = std::exchange(self.pending_, nullptr);
  }
  if (where == nullptr || !pending) return;
  if (self.stop_requested()) forbid_inline(where);
  where->resume(pending);
}

}  // namespace beck
