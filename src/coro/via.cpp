// SPDX-License-Identifier: BSL-1.0
// The way of a task to another executor and of its result back: one queue entry, posted twice.
#include <beck/coro/via.hpp>

#include <beck/base/error.hpp>

namespace beck::detail {

void via_step::suspend(continuation coroutine, scope& home, std::coroutine_handle<> frame,
                       task_promise_base& promise, drop_function drop) {
  coroutine_ = coroutine;
  home_ = &home;
  frame_ = frame;
  promise_ = &promise;
  drop_ = drop;
  if (home.stop_requested()) [[unlikely]] {
    refused_ = home.stop_result();
    run = &resume;
    home.executor().post(this);
    return;
  }
  static constexpr tree_kind lives_here{&lose, tree_kind::content::guest};
  static constexpr wait_kind waits_there{&cancel, "a task on another executor"};
  kind = &lives_here;
  scope_.emplace(where_, home.locals());
  home.executor().on_work_started();
  if (!home.wait_at(this, waits_there)) scope_->stop(home.reason());
  run = &begin;
  const any_io_executor target = where_;
  target.post(this);  // afterwards the frame may be gone
}

/// Stops the scope of the task, on the task's executor.
scope* via_step::cancel(void* leaf, scope& from) noexcept {
  auto& self = *static_cast<via_step*>(leaf);
  from.act_on(
      self.where_,
      [](void* there) noexcept {
        auto& arrived = *static_cast<via_step*>(there);
        arrived.scope_->stop(arrived.home_->reason());
      },
      leaf);
  return nullptr;
}

void via_step::throw_refused() const {
  throw_error(make_error(refused_), "a task on another executor");
}

/// Starts the task, on its executor. If that is being destroyed, the coroutine is never resumed.
void via_step::begin(queue_entry* entry, runner* where) {
  auto& self = *static_cast<via_step*>(entry);
  if (where == nullptr) return self.go_home(&forget);
  if (auto* adopt = self.where_.table()->adopt; adopt != nullptr) adopt(self.where_.target(), self);
  self.run = &end;
  self.promise_->start_root(self.frame_, *self.scope_, &self, *where);
}

void via_step::end(queue_entry* entry, runner*) {
  auto& self = *static_cast<via_step*>(entry);
  if (self.link != nullptr) disown(self.where_, self);
  self.go_home(&resume);
}

/// Posts the entry back to the executor of the coroutine, where it runs `then`.
void via_step::go_home(queue_entry::run_function then) {
  run = then;
  const any_io_executor home = home_->executor();
  home.post(this);  // afterwards the frame may be gone
  home.on_work_finished();
}

void via_step::resume(queue_entry* entry, runner* where) {
  if (where == nullptr) return;  // the frame belongs to its tree, which destroys it
  ++where->counters.delivered;
  auto& self = *static_cast<via_step*>(entry);
  scope& home = *self.home_;
  if (self.scope_ && self.scope_->interrupted() && home.stop_requested()) home.note_interrupted();
  home.resume(self.coroutine_, *where);
}

/// Destroys the task, because its executor is being destroyed. The coroutine that awaits it is
/// never resumed.
void via_step::lose(owned_tree* tree) {
  auto& self = *static_cast<via_step*>(tree);
  self.drop_(self);
  self.go_home(&forget);
}

/// Ends the wait of the coroutine without resuming it.
void via_step::forget(queue_entry* entry, runner* where) {
  if (where != nullptr) static_cast<via_step*>(entry)->home_->stop_waiting();
}

}  // namespace beck::detail
