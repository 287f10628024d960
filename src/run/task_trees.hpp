// SPDX-License-Identifier: BSL-1.0
// The trees of tasks that a context owns until they have finished, newest first: the destructor of
// a context destroys them in that order, one after the other and never recursively. Also the end of
// a program with an exception that no handler takes.
#pragma once

#include <cstdint>
#include <exception>
#include <source_location>

#include <beck/run/any_io_executor.hpp>

namespace beck::detail {

/// A list of trees, newest first. A tree removes itself with owned_tree::unlink(). Not thread-safe.
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
  /// Removes the newest tree and returns it, so that the caller destroys it; nullptr if there is
  /// none.
  owned_tree* take_newest() noexcept {
    owned_tree* const tree = newest_;
    if (tree != nullptr) tree->unlink();
    return tree;
  }
  /// Calls `see(const owned_tree&)` for each tree, oldest first.
  template <class See>
  void each(See&& see) const noexcept {
    const owned_tree* at = newest_;
    while (at != nullptr && at->older != nullptr) at = at->older;
    while (at != nullptr) {
      see(*at);
      // A tree's `link` is the address of `newest_` or of `older`, the first member of the next
      // newer tree.
      at = at->link == &newest_ ? nullptr : reinterpret_cast<const owned_tree*>(at->link);
    }
  }

 private:
  owned_tree* newest_ = nullptr;
  std::uint64_t adopted_ = 0;
};

/// Prints to stderr the exception that escaped from a detached task (and the place where that was
/// spawned) or from a handler of a pool, and calls std::terminate.
[[noreturn]] void terminate_unhandled(std::exception_ptr error,
                                      const std::source_location* spawned_at = nullptr) noexcept;

}  // namespace beck::detail
