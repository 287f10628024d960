// SPDX-License-Identifier: BSL-1.0
// The runner's delivery of entries, a coroutine's reschedule through another executor and back, and
// the mark of a call that starts an operation.
#include <beck/base/error.hpp>
#include <beck/detail/initiating_call.hpp>
#include <beck/detail/runner.hpp>
#include <beck/detail/schedule_operation.hpp>

// The thread's current runner, and the cold half of resume().
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

// A reschedule is one entry: queued once on the executor that it goes through and, if that is not
// the coroutine's own executor, once more on the latter.

namespace {

constexpr wait_kind waits_elsewhere{[](void*, scope&) noexcept -> scope* { return nullptr; },
                                    "its turn on another executor"};

}  // namespace

/// Refuses the operation in a stopped scope; it completes after the entries that are queued on the
/// coroutine's own executor.
void schedule_operation::refuse() noexcept { refused_ = home_->stop_result(); }

void schedule_operation::throw_refused() const { throw_error(make_error(refused_), "post"); }

void schedule_operation::take_detour() {
  run = &go_home;
  home_->executor().on_work_started();
  static_cast<void>(home_->wait_at(this, waits_elsewhere));  // for dumps: a stop has no effect
  through_.post(this);
}

void schedule_operation::resume(queue_entry* entry, runner* where) {
  if (where == nullptr) return;  // the frame belongs to its tree, which destroys it
  ++where->counters.delivered;
  auto* self = static_cast<schedule_operation*>(entry);
  self->home_->resume(self->coroutine_, *where);
}

void schedule_operation::go_home(queue_entry* entry, runner* where) {
  auto* self = static_cast<schedule_operation*>(entry);
  const outstanding_work home(self->home_->executor(), true);
  if (where == nullptr) return;
  self->run = &resume;
  home.executor().post(self);  // afterwards the frame may be gone
}

// The innermost initiating function of each thread.

thread_local constinit initiating_call* initiating_call::innermost_
    [[gnu::tls_model("initial-exec")]] = nullptr;

}  // namespace beck::detail
