// SPDX-License-Identifier: BSL-1.0
// The life of a root: it is queued, adopted by its context, run, and ended after its coroutine has
// unwound. Also the lookup of the values that its tasks inherit.
#include <beck/coro/co_spawn.hpp>

#include <beck/base/error.hpp>
#include <beck/coro/local_key.hpp>

#include "run/task_trees.hpp"

namespace beck::detail {

void report_unhandled(const any_io_executor& executor, std::exception_ptr error,
                      const std::source_location& spawned_at) {
  if (executor.table()->unhandled == nullptr) terminate_unhandled(std::move(error), &spawned_at);
  executor.table()->unhandled(executor.target(), std::move(error), &spawned_at);
}

void throw_not_started() { throw_error(error::operation_aborted, "co_spawn"); }

void task_root::start() {
  run = &begin;
  link = nullptr;
  scope_.executor().post(this);
}

void task_root::begin(queue_entry* entry, runner* where) {
  auto& self = *static_cast<task_root*>(entry);
  if (where == nullptr) {
    self.what().discard(self);
    return;
  }
  ++where->counters.delivered;
  try {
    self.what().make(self);
  } catch (...) {
    self.what().done(self, *where, std::current_exception());
    return;
  }
  const any_io_executor& executor = self.scope_.executor();
  if (auto* adopt = executor.table()->adopt; adopt != nullptr) adopt(executor.target(), self);
  self.run = &end;
  self.promise_->start_root(self.frame_, self.scope_, &self, *where);
}

void task_root::end(queue_entry* entry, runner* where) {
  auto& self = *static_cast<task_root*>(entry);
  disown(self.scope_.executor(), self);
  self.what().done(self, *where, self.promise_->take_exception());
}

void task_root::destroy_tree(owned_tree* tree) {
  auto& self = *static_cast<task_root*>(tree);
  self.what().discard(self);
}

// The lookup of a coroutine-local value.

const void* local_value::find(const local_value* at, const void* key) noexcept {
  while (at != nullptr && at->key_ != key) at = at->outer_;
  return at != nullptr ? at->value_ : nullptr;
}

}  // namespace beck::detail
