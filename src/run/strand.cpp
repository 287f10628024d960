// SPDX-License-Identifier: BSL-1.0
// The state that all copies of a strand share: its queue, the inner executor, and the entry that is
// queued on the inner executor while the strand has handlers to run.
#include <beck/run/strand.hpp>

#include <atomic>

#include "run/strand_queue.hpp"
#include "run/task_trees.hpp"

namespace beck::detail {
namespace {

/// The shared state of a strand. References: one for each executor that names it, and one while it
/// is scheduled on the inner executor.
class strand_state final : public queue_entry {
 public:
  static constexpr unsigned handlers_max = 64;

  explicit strand_state(any_io_executor&& inner) noexcept
      : queue_entry{nullptr, &run_some}, inner_(static_cast<any_io_executor&&>(inner)) {}

  static strand_state& from(void* self) noexcept { return *static_cast<strand_state*>(self); }
  static const strand_state& from(const void* self) noexcept {
    return *static_cast<const strand_state*>(self);
  }

  void post(queue_entry* entry) {
    if (running_here()) {
      queue_.push_in_charge(entry);
    } else if (queue_.push(entry)) {
      retain();
      inner_.post(this);
    }
  }
  bool running_here() const noexcept {
    const runner* const where = runner::current();
    return where != nullptr && where->is_inside(this);
  }
  /// Enters the strand on the calling thread, without queueing on the inner executor. Returns false
  /// if the strand is not idle, or if the caller is not inside the inner executor.
  bool enter() noexcept {
    if (runner::current() == nullptr || !inner_.running_in_this_thread() || !queue_.begin())
      return false;
    retain();
    return true;
  }
  /// Leaves the strand; if it has entries left, posts it after the entries of the inner executor.
  void go_on() {
    if (queue_.rest()) {
      release();
    } else {
      inner_.post(this);
    }
  }
  const any_io_executor& inner() const noexcept { return inner_; }

  void retain() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {  // acq_rel: the last one sees every earlier use
    if (count_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    this->~strand_state();
    free_block(this);
  }

 private:
  static void run_some(queue_entry* entry, runner* where) {
    auto& self = *static_cast<strand_state*>(entry);
    if (where == nullptr) return self.destroy_queued();
    try {
      self.run_handlers(*where);
    } catch (...) {
      self.go_on();
      throw;
    }
    self.go_on();
  }

  void run_handlers(runner& where) {
    const runner::executor_frame inside(where, this);
    for (unsigned n = 0; n < handlers_max; ++n) {
      queue_entry* const oldest = queue_.pop();
      if (oldest == nullptr) return;
      oldest->run(oldest, &where);
      if (!where.may_go_on()) return;
    }
  }

  /// Destroys the queued handlers without running them, because the queue of the inner executor is
  /// being destroyed. Also destroys handlers that they post meanwhile.
  void destroy_queued() noexcept {
    do {
      while (queue_entry* const oldest = queue_.pop()) oldest->run(oldest, nullptr);
    } while (!queue_.rest());
    release();
  }

  strand_queue queue_;
  any_io_executor inner_;
  std::atomic<long> count_{1};
};

const any_io_executor& below(const void* self) noexcept { return strand_state::from(self).inner(); }

const executor_table& clock_below(const void* self) noexcept { return *below(self).table(); }

constexpr executor_table strand_table{
    [](void* self, queue_entry* entry) { strand_state::from(self).post(entry); },
    [](const void* self) noexcept { return strand_state::from(self).running_here(); },
    [](void* self, long change) noexcept {
      below(self).table()->work(below(self).target(), change);
    },
    [](const void* self) noexcept { return below(self).context_or_null(); },
    nullptr,
    [](void* self) noexcept { strand_state::from(self).retain(); },
    [](void* self) noexcept { strand_state::from(self).release(); },
    [](void* self, owned_tree& tree) noexcept {
      if (auto* adopt = below(self).table()->adopt) adopt(below(self).target(), tree);
    },
    [](void* self, std::exception_ptr error, const std::source_location* at) {
      auto* unhandled = below(self).table()->unhandled;
      if (unhandled == nullptr) terminate_unhandled(std::move(error), at);
      unhandled(below(self).target(), std::move(error), at);
    },
    [](void* self, owned_tree& tree) noexcept { disown(below(self), tree); },
    false,
    [](void* self) noexcept { return clock_below(self).now(below(self).target()); },
    [](void* self, timer_entry& entry) noexcept {
      return clock_below(self).arm(below(self).target(), entry);
    },
    [](void* self, timer_entry& entry) noexcept {
      clock_below(self).disarm(below(self).target(), entry);
    },
    false,
    [](void* self) noexcept { return strand_state::from(self).enter(); },
    [](void* self) noexcept { strand_state::from(self).go_on(); },
};

/// Returns `table` without a clock, for inner executors that have none.
constexpr executor_table without_clock(executor_table table) noexcept {
  table.now = nullptr;
  table.arm = nullptr;
  table.disarm = nullptr;
  return table;
}
const executor_table strand_table_without_clock = without_clock(strand_table);

/// Returns `table` for inner executors whose timers expire concurrently with their entries.
constexpr executor_table over_several_threads(executor_table table) noexcept {
  table.expires_beside = true;
  return table;
}
const executor_table strand_table_over_several_threads = over_several_threads(strand_table);

const executor_table& table_for(const any_io_executor& inner) noexcept {
  if (inner.table()->now == nullptr) return strand_table_without_clock;
  return inner.table()->expires_beside ? strand_table_over_several_threads : strand_table;
}

}  // namespace

any_io_executor make_strand_executor(any_io_executor inner) {
  const executor_table& table = table_for(inner);
  void* const block = allocate_block(sizeof(strand_state));
  return any_io_executor(&table, ::new (block) strand_state(static_cast<any_io_executor&&>(inner)));
}

}  // namespace beck::detail
