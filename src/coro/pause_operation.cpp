// SPDX-License-Identifier: BSL-1.0
// The end of a pause: the timer or a stop, whichever comes first, posts the waiter.
#include <beck/detail/pause_operation.hpp>

#include <beck/base/error.hpp>
#include <new>

namespace beck::detail {

void pause_operation::suspend_in(continuation waiting, scope& environment) noexcept {
  static constexpr wait_kind kind{&cancel, "a point in time"};
  waiting_ = waiting;
  scope_ = &environment;
  const any_io_executor& home = environment.executor();
  if (home.table()->now == nullptr) return end(std::make_error_code(std::errc::not_supported));
  environment.wait_at_start(this, kind);
  try {
    if (environment.stop_requested()) {
      end(make_error(environment.stop_result()));
    } else {
      counted_ = true;
      home.on_work_started();
      until_.arm(timer_, home, &expired, this);
    }
  } catch (const std::bad_alloc&) {
    end(std::make_error_code(std::errc::not_enough_memory));
  }
  environment.started();
}

void pause_operation::expired(void* self, stop_walk&) noexcept {
  static_cast<pause_operation*>(self)->end(error_code());
}

scope* pause_operation::cancel(void* leaf, scope& from) noexcept {
  auto& pause = *static_cast<pause_operation*>(leaf);
  if (pause.claim_end()) pause.deliver(make_error(from.stop_result()));
  return nullptr;
}

void pause_operation::deliver(error_code ec) noexcept {
  error_ = ec;
  run = &resume;
  const outstanding_work ending(scope_->executor(), counted_);
  ending.executor().post(this);  // afterwards the operation may be gone
}

void pause_operation::resume(queue_entry* entry, runner* where) {
  if (where == nullptr) return;  // the waiter belongs to its tree, which destroys it
  ++where->counters.delivered;
  auto& self = *static_cast<pause_operation*>(entry);
  self.scope_->resume(self.waiting_, *where);
}

}  // namespace beck::detail
