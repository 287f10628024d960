// SPDX-License-Identifier: BSL-1.0
// Arming a scope on the timers of the context that runs its coroutine.
#include <beck/io/deadline_scope.hpp>

#include <new>
#include <stdexcept>

#include "io/io_loop.hpp"

namespace beck {
namespace {

io_loop& loop_of_this_thread() {
  const runner* const current = runner::current();
  if (current == nullptr || current->ambient == nullptr ||
      current->ambient->executor().table() != &io_loop::executor_table_of_loops()) {
    throw std::logic_error(
        "beck: a time limit was set by a coroutine that no io_context runs; there is no clock to "
        "wait for");
  }
  return *static_cast<io_loop*>(current->ambient->executor().target());
}

}  // namespace

deadline_scope::~deadline_scope() {
  if (is_armed()) loop_->timers().remove(*this);
}

void deadline_scope::stop_at(time_point when) { arm(loop_of_this_thread(), when); }

void deadline_scope::stop_after(duration after) {
  io_loop& loop = loop_of_this_thread();
  arm(loop, time_point(duration(loop.sys().now())) + after);
}

void deadline_scope::arm(io_loop& loop, time_point when) {
  if (stop_requested() || when == time_point::max()) return;
  loop_ = &loop;
  deadline = when.nanoseconds();
  expired = &expire;
  if (!loop.timers().add(*this)) throw std::bad_alloc();
}

void deadline_scope::expire(timer_entry& entry, io_loop&, bool shutting_down) noexcept {
  auto& self = static_cast<deadline_scope&>(entry);
  // The entries of the executor run on this thread only, and none runs now.
  if (!shutting_down) self.stop(self.why_);
}

}  // namespace beck
