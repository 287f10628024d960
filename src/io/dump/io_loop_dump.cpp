// SPDX-License-Identifier: BSL-1.0
// Dumps that any thread, or a signal, requests: the thread that runs the loop prints them, or the
// caller if no thread runs it.
#include <condition_variable>
#include <mutex>

#include <beck/io/dump_on_signal.hpp>

#include "io/dump/task_dump.hpp"
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
  if (has_threads_inside()) {
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
