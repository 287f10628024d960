// SPDX-License-Identifier: BSL-1.0
// Walks over the tasks of a tree without recursion: the root, and the branches below each join
// point. Also the places where a task awaits, and its wait.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <utility>

#include <beck/detail/operation.hpp>

#include "coro/dump_access.hpp"

namespace beck::detail {

/// The path from a root down to a task.
struct task_path {
  /// Most join points around a task.
  static constexpr unsigned levels_max = 64;

  std::uint64_t root = 0;  // 0: it has no number yet
  unsigned level = 0;
  std::array<unsigned, levels_max> number;
};

inline bool same_place(const std::source_location& a, const std::source_location& b) noexcept {
  return a.line() == b.line() && std::strcmp(a.file_name(), b.file_name()) == 0;
}

/// Returns the next inner frame that has a known place of its co_await; task_group::run never
/// records one.
inline const task_promise_base* next_placed(const task_promise_base* frame) noexcept {
  while (frame != nullptr && dump_access::place(*frame).line() == 0) {
    frame = dump_access::child(*frame);
  }
  return frame;
}

/// Calls `see(place, frames)` for each place, from the outermost frame inwards. Consecutive frames
/// at the same place (a recursion) are passed as one.
template <class See>
void each_place(const task_promise_base* outermost, See&& see) noexcept {
  const task_promise_base* at = next_placed(outermost);
  while (at != nullptr) {
    const std::source_location& place = dump_access::place(*at);
    std::uint64_t frames = 0;
    do {
      ++frames;
      at = next_placed(dump_access::child(*at));
    } while (at != nullptr && same_place(place, dump_access::place(*at)));
    see(place, frames);
  }
}

/// Returns the innermost known place at which the task awaits; the place of its spawn if none is
/// known.
inline std::source_location innermost_place(const task_view& task) noexcept {
  std::source_location found = task.spawned_at;
  each_place(task.promise,
             [&](const std::source_location& place, std::uint64_t) noexcept { found = place; });
  return found;
}

inline wait_view wait_of(const task_view& task) noexcept {
  if (!task.started) return {nullptr, nullptr, 0, false};
  return dump_access::wait(task);
}

inline const io_op* operation_of(const wait_view& wait) noexcept {
  if (wait.kind == nullptr || wait.kind->what != wait_kind::leaf::operation) return nullptr;
  return static_cast<const operation*>(wait.leaf);
}

inline join_point* join_of(const wait_view& wait) noexcept {
  if (wait.kind == nullptr || wait.kind->what != wait_kind::leaf::join) return nullptr;
  return static_cast<join_point*>(wait.leaf);
}

/// Calls `see(const task_view&, const task_path&)` for the task of the tree and all below it, in
/// the order in which they were spawned. Returns the number of join points whose branches were left
/// out, because they lie below too many others.
template <class See>
std::uint64_t walk_tree(const owned_tree& tree, See&& see) noexcept {
  struct level {
    decltype(dump_access::branches(std::declval<join_point&>()).begin()) next, end;
    const char* joined_by;
    std::source_location place;
  };
  std::array<level, task_path::levels_max> levels;
  std::uint64_t cut = 0;
  task_path where;
  where.root = tree.number;

  task_view task = dump_access::view(tree);
  for (;;) {
    see(task, where);
    const wait_view wait = wait_of(task);
    if (join_point* const join = join_of(wait); join != nullptr) {
      if (where.level < task_path::levels_max) {
        auto& branches = dump_access::branches(*join);
        levels[where.level++] = {branches.begin(), branches.end(), wait.kind->name,
                                 innermost_place(task)};
      } else {
        ++cut;
      }
    }
    while (where.level != 0 && levels[where.level - 1].next == levels[where.level - 1].end) {
      --where.level;
    }
    if (where.level == 0) return cut;
    level& here = levels[where.level - 1];
    const branch& next = *here.next;
    ++here.next;
    where.number[where.level - 1] = dump_access::number(next);
    task = dump_access::view(next, here.joined_by, here.place);
  }
}

}  // namespace beck::detail
