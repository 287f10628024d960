// SPDX-License-Identifier: BSL-1.0
// The line in the log about lost tasks: they are suspended and wait for nothing that the context
// knows of. g++ 12 makes such coroutines silently (docs/coroutines.md); this is where a program
// learns of it.
#include <array>
#include <cstddef>
#include <cstdint>

#include <beck/detail/text_sink.hpp>

#include "io/dump/dump_writer.hpp"
#include "io/dump/task_walk.hpp"
#include "io/loop/io_loop.hpp"

namespace beck::detail {
namespace {

struct lost_tasks {
  std::uint64_t count = 0;
  task_view first = {nullptr, false, {}, nullptr};
};

/// Finds the lost tasks of a loop. Requires that nothing is queued there, and so in no strand of
/// it: an entry may resume a task whose scope knows of no wait. `idle`: whether no operation is
/// under way; otherwise a task that was stopped may wait for the end of one.
lost_tasks find_lost_tasks(const io_loop& loop, bool idle) noexcept {
  lost_tasks lost;
  loop.trees().each([&](const owned_tree& tree) noexcept {
    walk_tree(tree, [&](const task_view& task, const task_path&) noexcept {
      if (!task.started) return;
      const wait_view wait = wait_of(task);
      if (wait.kind != nullptr || (wait.stopped && !idle)) return;
      if (lost.count++ == 0) lost.first = task;
    });
  });
  return lost;
}

/// A line; the end of a longer one is cut.
class log_line {
 public:
  void operator()(text_view piece) noexcept {
    for (const char c : piece) {
      if (size_ + 1 < text_.size()) text_[size_++] = c;
    }
  }
  const char* c_str() const noexcept { return text_.data(); }

 private:
  std::array<char, 800> text_{};
  std::size_t size_ = 0;
};

}  // namespace

void io_loop::report_lost_tasks(bool ends) noexcept {
  if (trees_.empty() || lost_tasks_reported_ || core().is_forked_copy()) return;
  if (!core().queue.empty() || mail_.has_mail()) return;
  const lost_tasks lost = find_lost_tasks(*this, !ends);
  if (lost.count == 0) return;
  lost_tasks_reported_ = true;
  log_line line;
  {
    dump_writer out{text_sink(line)};
    out.put(ends ? "io_context destroyed" : "run() has ended", " with ", lost.count);
    out.put(lost.count == 1 ? " task that waits" : " tasks that wait",
            " for nothing that the context knows of",
            lost.count == 1 ? ": spawned at " : ", one of them: spawned at ");
    out.put_place(lost.first.spawned_at);
    if (next_placed(lost.first.promise) != nullptr) {  // a foreign awaiter has no place
      out.put(", suspended at ");
      out.put_place(innermost_place(lost.first));
    }
    out.put("; it awaits something of another library, or g++ 12 has lost it at",
            " `if (co_await x)`: docs/coroutines.md");
  }
  log(line.c_str());
}

}  // namespace beck::detail
