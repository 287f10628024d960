// SPDX-License-Identifier: BSL-1.0
// How a handler's result gets back into the coroutine: inside the initiation by not suspending, on the
// coroutine's own runner through the slot that continues after the handler has returned, else by a post.
#include <beck/run/deferred.hpp>

#include <beck/base/assert.hpp>

namespace beck {

scope& ambient_scope() noexcept {
  runner* const current = runner::current();
  BECK_ASSERT(current != nullptr && current->ambient != nullptr,
              "a coroutine without a scope was awaited outside of every context's run()");
  return *current->ambient;
}

void awaiting_slot::filled() {
  filled_ = true;
  const any_io_executor home = scope_->executor();
  if (!initiating_) home.post(this);  // from here on the frame may be gone
  home.on_work_finished();
}

void awaiting_slot::resume_entry(queue_entry* entry, runner* where) {
  if (where == nullptr) return;  // the frame belongs to its root, which destroys it
  ++where->counters.delivered;
  where->resume(static_cast<awaiting_slot*>(entry)->coroutine_);
}

}  // namespace beck
