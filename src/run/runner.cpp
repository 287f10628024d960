// SPDX-License-Identifier: BSL-1.0
// The thread's current runner, and the rare half of resume().
#include <beck/detail/runner.hpp>

namespace beck::detail {

thread_local constinit runner* runner::current_ [[gnu::tls_model("initial-exec")]] = nullptr;

void runner::continue_unwound() {
  if (next_) {
    std::exchange(next_, nullptr).resume();
    return;
  }
  queue_entry* entry = after_;
  after_ = entry->next;
  entry->run(entry, this);
}

}  // namespace beck::detail
