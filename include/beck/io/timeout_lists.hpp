// SPDX-License-Identifier: BSL-1.0
// Time limits by the thousand with one timer, such as those of a server's connections: a limit is
// set, moved and removed in constant time, without a call of the context.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/detail/intrusive_list.hpp>
#include <cstddef>
#include <cstdint>

namespace beck {

class any_io_executor;

/// A limit of a timeout_lists: a member, or the base, of the object that has it. Its destructor
/// removes it. Not movable.
class timeout_entry {
 public:
  /// Returns whether its time runs.
  bool is_waiting() const noexcept { return hook_.is_linked(); }

 private:
  friend class timeout_lists;
  detail::list_hook hook_;
  std::int64_t due_ = 0;
};

/// Lists of limits. The entries of a list have equally long times, so the first one of each is the
/// next one that is due. Thread: that of the executor, which must not be of a shared context or a
/// pool.
class timeout_lists {
 public:
  /// Called for an entry whose time is over, and which is in no list any more. `list`: the one that
  /// it was in. May start and remove entries, destroy the timeout_lists, and throw out of run(). If
  /// it runs its own context again, no other entry is called meanwhile.
  using function = void (*)(timeout_entry& entry, std::size_t list, void* data);

  /// Makes `count` lists, of which the n-th has the time `times[n]`; a time of zero or less is the
  /// least that there is. Throws std::bad_alloc, and io_error (invalid_argument) unless the context
  /// of `executor` is an io_context.
  timeout_lists(const any_io_executor& executor, const duration* times, std::size_t count,
                function on_timeout, void* data);
  timeout_lists(const timeout_lists&) = delete;
  timeout_lists& operator=(const timeout_lists&) = delete;
  /// Removes all entries.
  ~timeout_lists();

  /// Starts the time of `entry`, in `list`; ends another one of it. Time runs from the start of the
  /// turn (see now()). Without memory for the timer the next call of start() sets it.
  void start(timeout_entry& entry, std::size_t list) noexcept;
  /// Removes an entry, which may wait in no list.
  static void remove(timeout_entry& entry) noexcept { entry.hook_.unlink(); }
  /// Returns the entry of `list` that is due first; nullptr if the list is empty.
  timeout_entry* front(std::size_t list) noexcept;

 private:
  struct state;
  class state_hold;
  using entry_list = detail::intrusive_list<timeout_entry, &timeout_entry::hook_>;
  struct list_of_equals {
    std::int64_t time = 0;
    entry_list entries;
  };

  static void drop(state& of) noexcept;
  static void arm(state& of) noexcept;
  static void ring(state& of);

  state* state_;  // also of the timer's wait, which may end later
};

}  // namespace beck
