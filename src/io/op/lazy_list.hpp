// SPDX-License-Identifier: BSL-1.0
// Operations that wait one poll before they are attempted or submitted. A listed operation that is
// cancelled stays until its list is taken; then the flag ends it.
#pragma once

#include <beck/detail/operation.hpp>

namespace beck::detail {

class lazy_list {
 public:
  bool empty() const noexcept { return list_.empty(); }
  void add(io_op& op) noexcept { list_.push(&op); }
  /// Calls `action(io_op&)` for each and empties the list; the action may add to other lists.
  template <class Action>
  void take(Action&& action) {
    entry_queue taken = list_;
    list_ = entry_queue();
    while (!taken.empty()) action(*static_cast<io_op*>(taken.pop()));
  }
  /// Removes `op`. Returns false if it is not in this list. Visits every entry.
  bool remove(io_op& op) noexcept {
    bool found = false;
    entry_queue kept;
    while (!list_.empty()) {
      queue_entry* entry = list_.pop();
      if (entry == &op) {
        found = true;
      } else {
        kept.push(entry);
      }
    }
    list_ = kept;
    return found;
  }
  /// Appends all operations of `next`, which is empty afterwards.
  void rotate(lazy_list& next) noexcept { list_.append(next.list_); }

 private:
  entry_queue list_;
};

}  // namespace beck::detail
