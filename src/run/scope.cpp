// SPDX-License-Identifier: BSL-1.0
// Scopes connect a wait with its cancellation: a stop goes from the outermost scope to the leaf,
// and an inner scope is stopped with the scope around it.
#include <beck/base/assert.hpp>
#include <beck/base/error.hpp>
#include <beck/detail/inner_scope.hpp>
#include <beck/detail/scope.hpp>
#include <new>

#include "base/use_check.hpp"
#include "run/stop_walk.hpp"

// Stopping a scope has two steps. First the scope and all scopes below it are marked as stopped,
// one by one and without recursion. Then the operations that they wait for are cancelled. If such
// an operation belongs to another context, a message goes there and comes back, and the coroutine
// is not resumed before it is back.
namespace beck::detail {
namespace {

/// Spends the whole budget, so that no operation completes inline: the next await suspends, and is
/// refused there because of the stop.
void forbid_inline(runner* where) noexcept {
  if (where != nullptr) where->charge(runner::budget_per_entry);
}

}  // namespace

bool scope::stop(stop_reason why) noexcept {
  stop_walk stops;
  return stops.tell(*this, why);
}

// --- stop_walk -----------------------------------------------------------------------------------

/// Goes down to the first scope below, then to the next ones, and up when there is none left. The
/// scopes on the way down stay locked, linked by `held_`, until all scopes below them are stopped:
/// an inner scope needs the lock of the scope around it to end, and a branch that of its join
/// point, so none of them can end meanwhile.
bool stop_walk::tell(scope& top, stop_reason why) noexcept {
  forbid_inline(runner::current());  // perhaps a coroutine of this scope is running
  bool first = false;
  scope* around = nullptr;
  for (scope* at = &top; at != nullptr;) {
    at->lock_.lock();
    const bool fresh = !at->stop_requested();
    if (at == &top) first = fresh;
    if (scope* const below = fresh ? descend(*at, why) : nullptr) {
      at->held_ = std::exchange(around, at);
      at = below;
      continue;
    }
    for (scope* told = at;; told = std::exchange(around, around->held_), told->leaf_ = nullptr) {
      told->lock_.unlock();
      if (around == nullptr) return first;
      at = around->kind_->next == nullptr ? nullptr : around->kind_->next(around->leaf_, *told);
      if (at != nullptr) break;
    }
  }
  return first;
}

/// Marks `at` as stopped. If it waits for scopes, returns the first of them, or nullptr if there is
/// none. If it waits for something else, adds it to the list of finish() and returns nullptr.
scope* stop_walk::descend(scope& at, stop_reason why) noexcept {
  __atomic_store_n(&at.reason_, static_cast<unsigned char>(why), __ATOMIC_RELAXED);
  if (at.told_.stop_possible()) [[unlikely]]
    told_.add(at.told_);
  if (at.leaf_ == nullptr || at.starting_) return nullptr;
  if (at.kind_->what == wait_kind::leaf::inner_scope || at.kind_->what == wait_kind::leaf::join) {
    scope* const below = at.kind_->cancel(at.leaf_, at);
    if (below == nullptr) at.leaf_ = nullptr;
    return below;
  }
  at.cancelling_ = true;
  at.held_ = nullptr;
  (last_ == nullptr ? first_ : last_->held_) = &at;
  last_ = &at;
  return nullptr;
}

void stop_walk::tell_below(void* leaf, const wait_kind& kind, scope& from) noexcept {
  for (scope* at = kind.cancel(leaf, from); at != nullptr;) {
    tell(*at, from.reason());
    at = kind.next == nullptr ? nullptr : kind.next(leaf, *at);
  }
}

void stop_walk::finish() noexcept {
  last_ = nullptr;
  while (scope* const at = first_) {
    first_ = at->held_;
    at->cancel_leaf();  // afterwards `at` may be gone
  }
  told_.request_all();
}

stop_token scope::token() {
  if (!told_.stop_possible()) {
    stop_source made;
    const state_guard guard(lock_);  // a concurrent stop sees the source, or is seen here
    if (stop_requested()) made.request_stop();
    told_ = static_cast<stop_source&&>(made);
  }
  return told_.get_token();
}

/// Completes the start of the leaf: cancels the leaf if the scope was stopped meanwhile; resumes
/// the coroutine if, on a concurrent executor, the wait is over already.
void scope::make_up_for_start() noexcept {
  state_guard guard(lock_);
  starting_ = false;
  if (leaf_ == nullptr || !stop_requested()) return resume_kept(guard);
  cancelling_ = true;
  guard.unlock();
  cancel_leaf();
}

void scope::cancel_leaf() noexcept {
  held_locks::must_be_none();
  const scope* const inner = kind_->cancel(leaf_, *this);
  BECK_ASSERT(inner == nullptr, "a scope is not cancelled but told");
  state_guard guard(lock_);
  cancelling_ = false;
  leaf_ = nullptr;
  resume_kept(guard);
}

/// Posts the resumption of a coroutine that resume_carefully() has kept, if there is one. If a
/// message is in flight, its return resumes the coroutine instead: the message is a member of this
/// scope, which lives as long as the coroutine waits.
void scope::resume_kept(state_guard& guard) noexcept {
  if (!pending_ || has_message_) return;
  auto* const message = make_message();
  message->run = &come_home;
  const any_io_executor home = executor_;
  guard.unlock();
  home.post(message);  // afterwards the scope may be gone
}

void scope::resume_carefully(continuation coroutine, runner& where) {
  {
    const state_guard guard(lock_);
    if (!cancelling_) leaf_ = nullptr;
    if (starting_ || cancelling_ || has_message_) {
      pending_ = coroutine;
      return;
    }
  }
  if (stop_requested()) forbid_inline(&where);
  where.resume(coroutine);
}

void scope::resume_next(continuation coroutine, runner& where) noexcept {
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

// --- leaves of another context -------------------------------------------------------------------

void scope::act_on(const any_io_executor& other, void (*there)(void* leaf) noexcept,
                   void* leaf) noexcept {
  remote_action* message = nullptr;
  {
    const state_guard guard(lock_);
    BECK_ASSERT(!has_message_, "a stop visits two executors at once");
    message = make_message();
    message->leaf = leaf;
    message->there = there;
  }
  executor_.on_work_started();
  other.post(message);
}

/// Makes the message. Requires that there is none, and the lock.
scope::remote_action* scope::make_message() noexcept {
  has_message_ = true;
  return ::new (static_cast<void*>(&message_)) remote_action(*this);
}

void scope::act_there(void* self) noexcept {
  auto& owner = *static_cast<scope*>(self);
  remote_action& message = owner.message_;
  message.there(message.leaf);
  message.run = &come_home;
  const any_io_executor home = owner.executor_;
  home.post(&message);  // afterwards the scope may be gone
  home.on_work_finished();
}

void scope::come_home(queue_entry* entry, runner* where) {
  scope& self = *static_cast<scope*>(static_cast<remote_action*>(entry)->subject);
  continuation pending;
  {
    const state_guard guard(self.lock_);
    self.has_message_ = false;
    if (!self.cancelling_) pending = std::exchange(self.pending_, nullptr);
  }
  if (where == nullptr || !pending) return;
  if (self.stop_requested()) forbid_inline(where);
  where->resume(pending);
}

// The link between an inner scope and the one around it.

namespace {

constexpr wait_kind waits_for_scope{
    [](void* leaf, scope&) noexcept -> scope* { return static_cast<scope*>(leaf); }, "",
    wait_kind::leaf::inner_scope};

constexpr wait_kind waits_for_shielded{[](void*, scope&) noexcept -> scope* { return nullptr; }, "",
                                       wait_kind::leaf::inner_scope};

}  // namespace

inner_scope::inner_scope(scope& outer) noexcept
    : scope(outer.executor(), outer.locals()), outer_(outer) {
  if (!outer.wait_at(static_cast<scope*>(this), waits_for_scope)) stop(outer.reason());
}

shielding_scope::shielding_scope(scope& outer) noexcept
    : scope(outer.executor(), outer.locals()), outer_(outer) {
  static_cast<void>(outer.wait_at(static_cast<scope*>(this), waits_for_shielded));
}

inner_scope::~inner_scope() {
  outer_.stop_waiting();
  if (interrupted() && outer_.stop_requested()) outer_.note_interrupted();
}

}  // namespace beck::detail
