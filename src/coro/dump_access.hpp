// SPDX-License-Identifier: BSL-1.0
// What io_context::dump() may look at: tasks, from their roots down to what they wait for. Nothing
// is kept for it but the place of each await; all else is what running tasks needs anyway.
#pragma once

#include <cstdint>
#include <source_location>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/via.hpp>
#include <beck/detail/join.hpp>
#include <beck/detail/schedule_operation.hpp>

namespace beck::detail {

/// A task: a root, or a branch of a join point.
struct task_view {
  const task_promise_base* promise;  ///< of its outermost frame; nullptr: that was not made yet
  bool started;
  std::source_location spawned_at;
  const char* joined_by;  ///< "when_all", ...; nullptr: a root
};

/// What a scope waits for.
struct wait_view {
  const wait_kind* kind;  ///< nullptr: for nothing that it knows of
  void* leaf;
  std::int64_t since;  ///< 0: not known
  bool stopped;
};

/// Thread: the runner of the context of which all this is; nothing of it runs meanwhile.
struct dump_access {
  static task_view view(const owned_tree& tree) noexcept {
    if (!tree.kind->visits) return view(static_cast<const task_root&>(tree));
    const auto& guest = static_cast<const via_step&>(tree);
    return {guest.promise_, true, guest.spawned_at_, nullptr};
  }
  static task_view view(const task_root& root) noexcept {
    return {root.promise_, root.promise_ != nullptr, root.spawned_at_, nullptr};
  }
  /// Of a branch; `place` is where its join point is awaited.
  static task_view view(const branch& b, const char* joined_by,
                        const std::source_location& place) noexcept {
    const bool own_place = b.spawned_at_.line() != 0;
    return {b.promise_, b.promise_->phase_ != task_promise_base::phase::fresh,
            own_place ? b.spawned_at_ : place, joined_by};
  }

  /// The root whose start is queued by `entry`, or nullptr.
  static const task_root* starts(const queue_entry& entry) noexcept {
    return entry.run == &task_root::begin ? static_cast<const task_root*>(&entry) : nullptr;
  }
  /// Lets a scope that goes through this queue say so; a hop does not, it would be too dear.
  static void note_scheduled(queue_entry& entry) noexcept {
    static constexpr wait_kind waits_for_turn{
        [](void*, scope&) noexcept -> scope* { return nullptr; }, "its turn in the queue"};
    if (entry.run != &schedule_operation::resume) return;
    scope& home = *static_cast<schedule_operation&>(entry).home_;
    if (home.leaf_ == nullptr && home.wait_at(&entry, waits_for_turn)) home.since_ = 0;
  }

  static const task_promise_base* child(const task_promise_base& frame) noexcept {
    return frame.child_ != nullptr ? frame.child_->promise_ : nullptr;
  }
  static const task_promise_base& innermost(const task_promise_base& outermost) noexcept {
    const task_promise_base* at = &outermost;
    while (const task_promise_base* const next = child(*at)) at = next;
    return *at;
  }
  static const std::source_location& place(const task_promise_base& frame) noexcept {
    return frame.awaits_at_;
  }

  static wait_view wait(const task_promise_base& innermost) noexcept {
    const scope* at = innermost.scope_;
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
