// SPDX-License-Identifier: BSL-1.0
// Alarms on the clocks of executors, and the scopes that they stop.
#include <beck/run/deadline_scope.hpp>

#include <new>
#include <stdexcept>

namespace beck {
namespace {

const executor_table& clock_of(const any_io_executor& executor) {
  if (executor.table()->now == nullptr) {
    throw std::logic_error(
        "beck: a time limit was set where no exclusive io_context runs; this executor has no clock "
        "to wait "
        "for");
  }
  return *executor.table();
}

}  // namespace

void alarm::arm(const any_io_executor& executor, time_point when, void (*ring)(void* data) noexcept,
                void* data) {
  const executor_table& clock = clock_of(executor);
  if (when == time_point::max()) return;
  executor_ = &executor;
  ring_ = ring;
  data_ = data;
  deadline = when.nanoseconds();
  expired = &ring_now;
  if (!clock.arm(executor.target(), *this)) throw std::bad_alloc();
}

void alarm::arm(const any_io_executor& executor, duration after, void (*ring)(void* data) noexcept,
                void* data) {
  const std::int64_t now = clock_of(executor).now(executor.target());
  arm(executor, time_point(duration(now)) + after, ring, data);
}

void alarm::disarm() noexcept {
  if (is_armed()) executor_->table()->disarm(executor_->target(), *this);
}

void alarm::ring_now(timer_entry& entry, io_loop&, bool shutting_down) noexcept {
  auto& self = static_cast<alarm&>(entry);
  if (!shutting_down) self.ring_(self.data_);
}

void deadline_scope::ring(void* self) noexcept {
  auto& ended = *static_cast<deadline_scope*>(self);
  ended.stop(ended.why_);
}

}  // namespace beck
