// SPDX-License-Identifier: BSL-1.0
// Construction and destruction of a loop. The destructor works on any thread and with operations in
// flight: it cancels all operations, reaps until the kernel holds none of them, then destroys the
// queued entries and the trees of tasks, newest first, from worklists and never recursively. In a
// child of fork (U16) the operations in the kernel are the parent's: the child may close and
// destroy its copies, which changes neither the parent's ring nor its epoll registrations.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include <beck/base/assert.hpp>

#include "io/driver/driver.hpp"
#include "io/loop/io_loop.hpp"
#include "io/shared/virtual_threads.hpp"
#include "run/task_trees.hpp"

namespace beck::detail {
namespace {
constexpr duration reap_time(30'000'000'000);
}

io_loop::io_loop(io_context& context, const io_context::options& how)
    : engine_(*this, mail_, how),
      own_table_(core().is_shared ? io_context::shared_loop_table : io_context::loop_table),
      context_(context),
      timers_(*this, core(), executor()),
      signals_(*this, core(), executor()),
      busy_poll_(how.busy_poll.nanoseconds()),
      ambient_(executor()) {
  core().run_state.ambient = &ambient_;
  batch_mark_.loop = this;
  batch_mark_.run = [](queue_entry* entry, runner*) {
    static_cast<loop_entry*>(entry)->loop->batch_over_ = true;
  };
  wake_entry_.loop = this;
  wake_entry_.run = [](queue_entry* entry, runner*) {
    static_cast<loop_entry*>(entry)->loop->end_.woken();
  };
  no_descriptor().executor = executor();
  engine_.open_backend(how);
  if (drv().wake_handle() < 0) busy_poll_ = busy_poll(0);  // virtual time passes only in waits
  mail_.open(drv().wake_handle());
  if (engine_.shared() != nullptr) engine_.shared()->open(drv().wake_handle(), drv().threads());
}

io_loop::~io_loop() {
  if (virtual_threads* const threads = drv().threads(); threads != nullptr) threads->recall();
  // In a child of fork no thread runs the loop: threads are not inherited.
  const bool taken = core().is_forked_copy() || slot_.take(runner_slot::holder::runner);
  const bool entered = engine_.has_threads_inside() || turns_.waiting() != 0;
  BECK_ASSERT(taken && (core().is_forked_copy() || !entered),
              "an io_context was destroyed while a thread runs it");
  const runner::binding bound(core().run_state);
  report_lost_tasks(true);
  const bool emptied = empty_out();
  engine_.attempts().close_leases();
  if (!emptied) {
    log("io_context destroyed: the kernel did not give an operation back within 30 s; its memory "
        "is leaked");
    // Frames and buffers that the kernel may still write to must stay.
    engine_.leak_backend();
    return;
  }
  destroy_queued();  // entries posted by threads that returned a lease
  expect_no_objects();
  engine_.attempts().release_leases();
  engine_.jobs().end_threads();
  if (!core().left_to_parent) {  // otherwise the writers are the parent's threads
    end_.wait_for_stragglers();
    take_mail();
    mail_.drain_owed_wakeups(engine_.shared() != nullptr ? engine_.shared()->owed() : 0);
  }
}

io_loop::object_counts io_loop::count_objects() noexcept {
  return {core().descriptors.in_use(), objects_here_ - (timers_.has_kept_state() ? 1 : 0) +
                                           objects_elsewhere_.load(std::memory_order_relaxed)};
}

/// Ends the program with a message if objects of the context still exist: they would use the
/// context after it was freed.
void io_loop::expect_no_objects() noexcept {
  if (core().is_forked_copy()) return;  // they may belong to threads that exist in the parent only
  const object_counts left = count_objects();
  if (left.is_zero()) [[likely]]
    return;
  std::fprintf(stderr,
               "beck: an io_context was destroyed before its objects: %lld over descriptors (such "
               "as sockets and files) and %lld others (timers, signal sets) are left; "
               "an object has to be destroyed before its context, or be owned by a handler or a "
               "task of it\n",
               static_cast<long long>(left.descriptors), static_cast<long long>(left.others));
  std::abort();
}

bool io_loop::clear() noexcept {
  if (in_doubt()) return false;
  const bool taken = core().is_forked_copy() || slot_.take(runner_slot::holder::runner);
  BECK_ASSERT(taken, "an io_context was destroyed while a thread runs it");
  const runner::binding bound(core().run_state);
  const bool something =
      !core().closing || !core().queue.empty() || !mail_.empty() || !trees_.empty();
  if (something) {
    report_lost_tasks(true);
    static_cast<void>(empty_out());
  }
  slot_.leave();
  return something;
}

bool io_loop::end_with_program() noexcept {
  if (!core().is_forked_copy()) {
    if (engine_.has_threads_inside() || !slot_.take(runner_slot::holder::runner)) return false;
    slot_.leave();
  }
  clear();
  return count_objects().is_zero();
}

bool io_loop::end_before_objects() noexcept {
  clear();
  if (core().is_forked_copy() || count_objects().is_zero()) return true;
  log("io_context destroyed before its objects: its memory and descriptors stay until the program "
      "ends");
  return false;
}

bool io_loop::empty_out() noexcept {
  core().closing = true;
  core().run_state.destroys = true;
  engine_.after_fork_in_child();
  cancel_everything();
  if (!reap()) return false;
  do {
    destroy_queued();
    destroy_trees();
  } while (!core().queue.empty() || !mail_.empty());
  return true;
}

void io_loop::cancel_everything() noexcept {
  take_mail();
  engine_.attempts().accepts().resume();
  timers_.cancel_all();
  signals_.cancel_all();
  engine_.jobs().cancel_all();
  descriptors().detach_all();
  if (drv().in_flight() != 0) drv().cancel_everything();
}

bool io_loop::reap() noexcept {
  if (core().left_to_parent) return true;
  const std::int64_t give_up = (duration(core().sys->now()) + reap_time).nanoseconds();
  while (drv().in_flight() != 0) {
    drv().poll(poll_mode::wait, give_up);
    if (core().sys->now() >= give_up) break;
  }
  const bool performed = engine_.jobs().reap(give_up);
  if (drv().in_flight() != 0 || !performed) return false;
  drv().poll(poll_mode::drain, 0);  // ends the operations that were listed: they are cancelled
  return true;
}

void io_loop::destroy_queued() noexcept {
  do {
    take_mail();
    while (!core().queue.empty()) {
      queue_entry* entry = core().queue.pop();
      entry->run(entry, nullptr);
    }
  } while (!mail_.empty());
}

void io_loop::destroy_trees() noexcept {
  while (owned_tree* const tree = trees_.take_newest()) {
    tree->kind->destroy(tree);
    destroy_queued();
  }
}

void io_loop::unhandled(std::exception_ptr error, const std::source_location* spawned_at) {
  if (unhandled_handler != nullptr) {
    unhandled_handler(std::move(error), unhandled_data);
    return;
  }
  terminate_unhandled(std::move(error), spawned_at);
}

// A loop in a child of fork (U16): the operations in the kernel belong to the parent. The child may
// exec, and may close and destroy its copies, which changes neither the parent's ring nor its epoll
// registrations. If another thread was inside the loop at the fork, the child's copy may be in the
// middle of any change: then the child closes the open descriptors and touches nothing else.

void io_loop::expect_own_process() const noexcept {
  BECK_ASSERT(!core().is_forked_copy() || drv().wake_handle() < 0,
              "an io_context was run in a child of fork; it belongs to the parent");
}

bool io_loop::is_in_doubt() const noexcept {
  if (on_runner() || drv().wake_handle() < 0) return false;
  return !slot_.looks_free() || (engine_.shared() != nullptr && engine_.shared()->others_inside());
}

void io_loop::close_in_doubt(descriptor& d) noexcept {
  if (const int fd = std::exchange(d.fd, -1); fd >= 0) core().sys->close(fd);
  d.slot = slot_state::closed;  // assigned without advance(): its state may be half changed
}

void io_loop::close_all_handles() noexcept {
  core().descriptors.each([this](descriptor& d) { close_in_doubt(d); });
  drv().close_handles();
}

}  // namespace beck::detail
