// SPDX-License-Identifier: BSL-1.0
// The access of io_context::dump() to tasks, from their roots down to the operations that they wait
// for. Only the place of each await is stored for dumps; all other data is needed to run tasks.
#pragma once

#include <cstdint>
#include <source_location>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/via.hpp>
#include <beck/detail/join.hpp>
#include <beck/detail/schedule_operation.hpp>
#include <beck/detail/sender_wait.hpp>

namespace beck::detail {

/// A task: a root, or a branch of a join point. Or the wait of a sender, which has no frame.
struct task_view {
  const task_promise_base* promise;  ///< of its outermost frame; nullptr: not made yet, or no task
  const scope* around;               ///< of a sender's wait; nullptr for tasks
  bool started;
  std::source_location spawned_at;
  const char* joined_by;  ///< "when_all", ...; nullptr for a root
};

/// The wait of a scope.
struct wait_view {
  const wait_kind* kind;  ///< nullptr: the scope knows of no wait
  void* leaf;
  std::int64_t since;  ///< when the wait began; 0: not known
  bool stopped;
};

/// Reads tasks, scopes and join points. Thread: the one that runs their context, between two
/// entries.
struct dump_access {
  /// Returns the view of a tree that a context owns: a root, or a task of another executor.
  static task_view view(const owned_tree& tree) noexcept {
    switch (tree.kind->what) {
      case tree_kind::content::guest: {
        const auto& guest = static_cast<const via_step&>(tree);
        return {guest.promise_, nullptr, true, guest.spawned_at_, nullptr};
      }
      case tree_kind::content::sender:
        return {
            nullptr, &sender_wait::from(const_cast<owned_tree*>(&tree)).scope_, true, {}, nullptr};
      case tree_kind::content::root:
        break;
    }
    return view(static_cast<const task_root&>(tree));
  }
  static task_view view(const task_root& root) noexcept {
    return {root.promise_, nullptr, root.promise_ != nullptr, root.spawned_at_, nullptr};
  }
  /// Returns the view of a branch; `place` is the place where its join point is awaited.
  static task_view view(const branch& b, const char* joined_by,
                        const std::source_location& place) noexcept {
    const bool own_place = b.spawned_at_.line() != 0;
    return {b.promise_, nullptr, b.promise_->phase_ != task_promise_base::phase::fresh,
            own_place ? b.spawned_at_ : place, joined_by};
  }

  /// Returns the root whose start is queued by `entry`, or nullptr.
  static const task_root* starts(const queue_entry& entry) noexcept {
    return entry.run == &task_root::begin ? static_cast<const task_root*>(&entry) : nullptr;
  }
  /// If `entry` reschedules a coroutine, notes in its scope that it waits for its turn. The
  /// rescheduling itself does not note that: it would cost too much.
  static void note_scheduled(queue_entry& entry) noexcept {
    static constexpr wait_kind waits_for_turn{
        [](void*, scope&) noexcept -> scope* { return nullptr; }, "its turn in the queue"};
    if (entry.run != &schedule_operation::resume) return;
    scope& home = *static_cast<schedule_operation&>(entry).home_;
    if (home.leaf_ == nullptr && home.wait_at(&entry, waits_for_turn)) home.since_ = 0;
  }

  /// Returns the promise of the task that `frame` awaits, or nullptr.
  static const task_promise_base* child(const task_promise_base& frame) noexcept {
    return frame.child_ != nullptr ? frame.child_->promise_ : nullptr;
  }
  static const task_promise_base& innermost(const task_promise_base& outermost) noexcept {
    const task_promise_base* at = &outermost;
    while (const task_promise_base* const next = child(*at)) at = next;
    return *at;
  }
  /// Returns the place of the latest co_await of `frame`.
  static const std::source_location& place(const task_promise_base& frame) noexcept {
    return frame.awaits_at_;
  }

  /// Returns the wait of the innermost of the scopes of a task or a sender's wait.
  static wait_view wait(const task_view& task) noexcept {
    const scope* at = task.promise != nullptr ? innermost(*task.promise).scope_ : task.around;
    while (at->leaf_ != nullptr && at->kind_->what == wait_kind::leaf::inner_scope) {
      at = static_cast<const scope*>(at->leaf_);
    }
    if (at->leaf_ == nullptr) return {nullptr, nullptr, 0, at->stop_requested()};
    return {at->kind_, at->leaf_, at->since_, at->stop_requested()};
  }

  static auto& branches(join_point& join) noexcept { return join.branches_; }
  static unsigned number(const branch& b) noexcept { return b.number_; }
};

}  // namespace beck::detail
