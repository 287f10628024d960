// SPDX-License-Identifier: BSL-1.0
// sync_wait: the calling thread blocks until its task has ended.
#include <beck/base/assert.hpp>
#include <beck/io/sync_wait.hpp>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include "io/driver/listed_sends.hpp"
#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"

namespace beck::detail {

struct sync_event::state {
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  bool finished = false;
  std::exception_ptr error;
};

sync_event::sync_event() : state_(new state) {
  flush_sends();  // the task may look for them, and is not started yet
}
sync_event::~sync_event() { delete state_; }

void sync_event::end(bool finished, std::exception_ptr error) noexcept {
  io_context* const context = finished ? context_ : nullptr;
  {
    const std::lock_guard lock(state_->mutex);
    state_->over = true;
    state_->finished = finished;
    state_->error = std::move(error);
    state_->changed
        .notify_one();  // under the lock: the waiter may destroy everything right after it
  }
  if (context != nullptr) context->stop();
}

void sync_event::wait() noexcept {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->over; });
}

namespace {

[[noreturn]] void throw_cannot_finish() {
  throw std::logic_error(
      "beck::sync_wait: the task cannot finish: nothing is left that could wake it, or its context "
      "was stopped or destroyed");
}

}  // namespace

void sync_event::rethrow_if_failed() const {
  if (state_->error != nullptr) std::rethrow_exception(state_->error);
  if (!state_->finished) throw_cannot_finish();
}

void sync_end_holder::operator()(std::exception_ptr error) const noexcept {
  end_->error = std::move(error);
  end_->finished = true;
  if (end_->to_stop != nullptr) end_->to_stop->stop();
}

void sync_end_holder::run(io_context& context) const {
  struct waiting {
    sync_end& end;
    waiting(sync_end& e, io_context& c) noexcept : end(e) { end.to_stop = &c; }
    ~waiting() { end.to_stop = nullptr; }
  };
  {
    const waiting here(*end_, context);
    context.restart();
    context.run();
  }
  if (!end_->finished) throw_cannot_finish();
  context.restart();
  if (end_->error != nullptr) std::rethrow_exception(end_->error);
}

void check_may_block_on(const any_io_executor& executor) {
  BECK_ASSERT(!executor.running_in_this_thread(),
              "sync_wait on the thread that runs the executor would wait for itself");
}

void check_may_run(io_context& context) {
  check_may_block_on(context.get_executor());
  if (loop_of(context.get_executor()).is_run()) {
    throw std::logic_error(
        "beck::sync_wait: another thread is running this context; pass its executor");
  }
}

}  // namespace beck::detail
