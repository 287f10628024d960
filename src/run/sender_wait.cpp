// SPDX-License-Identifier: BSL-1.0
// The way of a sender's wait to its executor, its place among the context's trees, and its end by a
// stop from another thread.
#include <beck/detail/sender_wait.hpp>

#include <beck/base/assert.hpp>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

namespace beck::detail {

namespace {

constexpr char no_executor[] =
    "a sender was started outside of every executor, and neither it nor its receiver names one";

}  // namespace

/// Inside resume(), so that tasks for which the stack is too deep are continued there: the caller
/// need not be a coroutine.
void sender_wait::begin() noexcept {
  runner* const where = is_here() ? runner::current() : nullptr;
  if (where == nullptr || !where->descend()) return begin_elsewhere();
  where->resume(*this);  // afterwards the state may be gone
  where->ascend();
}

void sender_wait::begin_elsewhere() noexcept {
  BECK_ASSERT(home_, no_executor);
  entry.run = &started;
  const any_io_executor home = home_;
  home.post(&entry);  // afterwards the state may be gone
}

void sender_wait::started(queue_entry* queued, runner* where) {
  sender_wait& self = from(queued);
  if (where != nullptr) return where->resume(self);
  self.lost_ = true;
  self.resume(self);
}

scope& sender_wait::open() noexcept {
  static constexpr tree_kind owned{&lose, tree_kind::content::sender};
  any_io_executor home = static_cast<any_io_executor&&>(home_);
  home_.~any_io_executor();
  ::new (static_cast<void*>(&scope_)) scope(static_cast<any_io_executor&&>(home));
  phase_ = phase::open;
  const any_io_executor& executor = scope_.executor();
  if (auto* const adopt = executor.table()->adopt; adopt != nullptr) {
    ::new (static_cast<void*>(&tree)) owned_tree{nullptr, nullptr, &owned, 0};
    owned_ = true;
    adopt(executor.target(), tree);
  }
  return scope_;
}

void sender_wait::lose(owned_tree* lost) {
  sender_wait& self = from(lost);
  self.owned_ = false;
  self.lost_ = true;
  self.resume(self);
}

bool sender_wait::leave_context() noexcept {
  if (std::exchange(owned_, false)) disown(scope_.executor(), tree);
  return scope_.interrupted();
}

void sender_wait::finish_later() noexcept {
  if (is_open()) leave_context();
  over_ = true;
  ::new (static_cast<void*>(&entry)) queue_entry{nullptr, &finished};
  const any_io_executor home = is_open() ? scope_.executor() : home_;
  home.post(&entry);  // afterwards the state may be gone
}

void sender_wait::finished(queue_entry* queued, runner* where) {
  sender_wait& self = from(queued);
  if (where == nullptr) self.lost_ = true;
  self.resume(self);
}

void sender_wait::request_stop(stop_request& message) noexcept {
  const any_io_executor& home = scope_.executor();
  if (home.running_in_this_thread() && !home.table()->concurrent) {
    scope_.stop();
    return;
  }
  if (!message.join()) return;
  message.wait_ = this;
  message.run = &carry_stop;
  home.post(&message);
}

void sender_wait::carry_stop(queue_entry* queued, runner* where) {
  auto& message = *static_cast<stop_request*>(queued);
  sender_wait& self = *message.wait_;
  if (where != nullptr) self.scope_.stop();
  if (!message.leave()) return;
  self.over_ = true;
  self.resume(self);
}

error_code code_of_current_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return std::make_error_code(std::errc::not_enough_memory);
  } catch (...) {
    const error_code known = caught_code();
    if (!known) std::terminate();
    return known;
  }
}

}  // namespace beck::detail
