// SPDX-License-Identifier: BSL-1.0
// The way of a stop: one compare-and-swap decides who asked first, one message takes it to the
// scope's executor, and if what is waited for belongs to another context the same message goes on
// there and comes back. Until it is back nothing continues past the scope.
#include <beck/run/scope.hpp>

#include <cerrno>

#include <beck/base/assert.hpp>
#include <beck/base/error.hpp>

namespace beck {

bool scope::request_stop(stop_reason why) noexcept {
  const any_io_executor home = executor_;  // the scope may be gone once the message is on its way
  if (home.running_in_this_thread()) return stop_here(why);
  unsigned expected = 0;
  if (!__atomic_compare_exchange_n(&state_, &expected, static_cast<unsigned>(why) | posted, false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    return false;
  }
  message_.run = &arrive;
  message_.owner = this;
  home.post(&message_);
  return true;
}

bool scope::stop_here(stop_reason why) noexcept {
  unsigned expected = 0;
  if (!__atomic_compare_exchange_n(&state_, &expected, static_cast<unsigned>(why) | handled, false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    return false;
  }
  cancel_leaf();
  return true;
}

void scope::cancel_leaf() noexcept {
  void* const leaf = std::exchange(leaf_, nullptr);
  if (leaf != nullptr) cancel_(leaf, *this);
}

void scope::arrive(queue_entry* entry, runner* where) {
  scope& self = *static_cast<stop_message*>(entry)->owner;
  // release: pairs with the load in message_out().
  __atomic_fetch_or(&self.state_, handled, __ATOMIC_RELEASE);
  if (where == nullptr) return;  // the executor's queue dies; what waits is destroyed by its owner
  self.cancel_leaf();
  self.continue_pending(*where);
}

void scope::visit(const any_io_executor& other, void (*there)(void* leaf) noexcept,
                  void* leaf) noexcept {
  BECK_ASSERT(!away_, "a stop message visits two executors at once");
  away_ = true;
  message_.run = &act_there;
  message_.owner = this;
  message_.leaf = leaf;
  message_.there = there;
  executor_.on_work_started();
  other.post(&message_);
}

void scope::act_there(queue_entry* entry, runner* where) {
  auto& message = *static_cast<stop_message*>(entry);
  if (where != nullptr) message.there(message.leaf);
  message.run = &come_home;
  const any_io_executor home = message.owner->executor_;
  home.post(entry);  // from here on the scope may be gone
  home.on_work_finished();
}

void scope::come_home(queue_entry* entry, runner* where) {
  scope& self = *static_cast<stop_message*>(entry)->owner;
  self.away_ = false;
  if (where != nullptr) self.continue_pending(*where);
}

/// What wanted to go on while the message was on its way. The scope may be gone afterwards.
void scope::continue_pending(runner& where) {
  if (away_) return;
  if (pending_) {
    where.resume(std::exchange(pending_, nullptr));
  } else if (then_ != nullptr) {
    queue_entry* const then = std::exchange(then_, nullptr);
    then->run(then, &where);
  }
}

void scope::resume_stopped(std::coroutine_handle<> coroutine, runner& where) {
  if (!may_continue(coroutine)) return;
  // Without budget nothing below finishes inline: the next await comes to where it is refused.
  where.charge(runner::budget_per_entry);
  where.resume(coroutine);
}

int scope::stop_result() noexcept {
  interrupted_ = true;
  return reason() == stop_reason::deadline ? timeout_result : -ECANCELED;
}

int scope::explain(int result) noexcept {
  return result == -ECANCELED ? stop_result() : result;
}

}  // namespace beck
