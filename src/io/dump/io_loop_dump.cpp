// SPDX-License-Identifier: BSL-1.0
// Dumps that any thread, or a signal, requests: the thread that runs the loop prints them, or the
// caller if no thread runs it. And the line in the log about lost tasks: they are suspended and
// wait for nothing that the context knows of. g++ 12 makes such coroutines silently
// (docs/coroutines.md); this is where a program learns of it.
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <beck/detail/text_sink.hpp>
#include <beck/io/dump_on_signal.hpp>

#include "io/dump/dump_writer.hpp"
#include "io/dump/task_dump.hpp"
#include "io/dump/task_walk.hpp"
#include "io/loop/io_loop.hpp"
#include "io/loop/signal_state.hpp"

namespace beck::detail {
namespace {

/// The command to print, and the place where the requesting thread waits.
class dump_order : public loop_command {
 public:
  dump_order(io_loop& loop, text_sink out, std::size_t groups_max) noexcept
      : loop_command(&print, this), loop_(loop), out_(out), groups_max_(groups_max) {}

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
  }

 private:
  static void print(void* order) noexcept {
    auto& self = *static_cast<dump_order*>(order);
    self.loop_.dump(self.out_, self.groups_max_);
    const std::lock_guard lock(self.mutex_);
    self.done_ = true;
    self.changed_.notify_one();  // under the lock: the command may be destroyed right after it
  }

  io_loop& loop_;
  text_sink out_;
  std::size_t groups_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
};

}  // namespace

void io_loop::dump(text_sink out, std::size_t groups_max) noexcept {
  if (core().closing) return;
  if (engine_.has_threads_inside()) {
    out.write("tasks of a context for several threads are listed while none runs it\n");
    return;
  }
  task_dump tasks(*this);
  tasks.collect();
  tasks.print(out, groups_max);
}

void io_loop::dump_from_anywhere(text_sink out, std::size_t groups_max) {
  if (as_runner([&](io_loop& self) { self.dump(out, groups_max); })) return;
  if (in_doubt()) {
    out.write("tasks are not listed in a child of fork if another thread ran them at the time\n");
    return;
  }
  dump_order order(*this, out, groups_max);
  send_command(&order);
  carry_out_commands();
  order.wait();
}

// --- lost tasks ---------------------------------------------------------------------------------

namespace {

struct lost_tasks {
  std::uint64_t count = 0;
  task_view first = {nullptr, nullptr, false, {}, nullptr};
};

/// Finds the lost tasks of a loop. Requires that nothing is queued there, and so in no strand of
/// it: an entry may resume a task whose scope knows of no wait. `idle`: whether no operation is
/// under way; otherwise a task that was stopped may wait for the end of one.
lost_tasks find_lost_tasks(const io_loop& loop, bool idle) noexcept {
  lost_tasks lost;
  loop.trees().each([&](const owned_tree& tree) noexcept {
    walk_tree(tree, [&](const task_view& task, const task_path&) noexcept {
      if (!task.started || task.around != nullptr) return;
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
  void operator()(std::string_view piece) noexcept {
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

// --- a signal set that prints instead of completing waits, so no work is outstanding ------------
namespace beck {
using namespace detail;

dump_on_signal::dump_on_signal(io_context& context, int number, int fd) : signals_(context) {
  signals_.state_->dumps_to = fd;  // before a signal can arrive
  signals_.add(number);
}

void signal_state::dump() noexcept {
  signal_info info;
  bool any = false;
  while (inbox->take(info)) any = true;
  if (any) loop->dump(text_sink(dumps_to), io_context::dump_groups);
}

}  // namespace beck
