// SPDX-License-Identifier: BSL-1.0
// The trees of tasks that a context owns until they have finished, newest first: a context that is
// destroyed destroys them in that order, one after the other and never recursively. And the end of
// a program whose exception no handler takes.
#pragma once

#include <cstdint>
#include <exception>
#include <source_location>

#include <beck/run/any_io_executor.hpp>

namespace beck::detail {

/// Not thread-safe; a tree takes itself out with owned_tree::unlink().
class task_trees {
 public:
  bool empty() const noexcept { return newest_ == nullptr; }
  void adopt(owned_tree& tree) noexcept {
    tree.number = ++adopted_;
    tree.older = newest_;
    tree.link = &newest_;
    if (newest_ != nullptr) newest_->link = &tree.older;
    newest_ = &tree;
  }
  /// Takes out the newest, which is to be destroyed; nullptr: there is none.
  owned_tree* take_newest() noexcept {
    owned_tree* const tree = newest_;
    if (tree != nullptr) tree->unlink();
    return tree;
  }
  /// Calls `see(const owned_tree&)` for each, oldest first.
  template <class See>
  void each(See&& see) const noexcept {
    const owned_tree* at = newest_;
    while (at != nullptr && at->older != nullptr) at = at->older;
    while (at != nullptr) {
      see(*at);
      // What points to a tree is the first member of the next newer one, or `newest_`.
      at = at->link == &newest_ ? nullptr : reinterpret_cast<const owned_tree*>(at->link);
    }
  }

 private:
  owned_tree* newest_ = nullptr;
  std::uint64_t adopted_ = 0;
};

// The last word on an exception that nobody takes.

/// Prints what escaped a detached task (and where that was spawned), or a handler of a pool, to
/// stderr and calls std::terminate.
[[noreturn]] void terminate_unhandled(std::exception_ptr error,
                                      const std::source_location* spawned_at = nullptr) noexcept;

}  // namespace beck::detail
