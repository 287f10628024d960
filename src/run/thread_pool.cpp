// SPDX-License-Identifier: BSL-1.0
// The threads of a pool share one queue. At most one woken thread is on its way to the queue at a
// time; if it takes an entry and leaves others, it wakes the next thread.
#include <beck/run/thread_pool.hpp>

#include <algorithm>

#include <beck/base/assert.hpp>

#include "run/pool_state.hpp"
#include "run/task_trees.hpp"

namespace beck {
using namespace detail;

// --- threads -------------------------------------------------------------------------------------

void pool_state::add_threads(std::size_t count, const any_io_executor& executor) {
  threads_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    threads_.emplace_back([this, executor] {
      worker me(executor);
      serve(me);
    });
  }
}

void pool_state::attach(const any_io_executor& executor) {
  worker me(executor);
  {
    const std::lock_guard lock(mutex_);
    ++attached_;
  }
  serve(me);
  const std::lock_guard lock(mutex_);
  if (--attached_ == 0) detached_.notify_all();
}

void pool_state::serve(worker& me) {
  const runner::binding bound(me.run);
  const runner::executor_frame inside(me.run, this);
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (!queue_.empty()) {
      run_one(me, lock);
    } else if (joining_ && out_of_work()) {
      finish();
    } else {
      sleep(me, lock);
    }
  }
  stats_.delivered += std::exchange(me.run.counters.delivered, 0);
}

/// Runs the oldest entry, without the lock. Requires that there is one.
void pool_state::run_one(worker& me, std::unique_lock<std::mutex>& lock) {
  queue_entry* const entry = queue_.pop();
  if (!queue_.empty()) wake_one();
  ++busy_;
  lock.unlock();
  try {
    me.run.run(entry);
  } catch (...) {
    unhandled(std::current_exception());
  }
  lock.lock();
  --busy_;
}

void pool_state::sleep(worker& me, std::unique_lock<std::mutex>& lock) {
  stats_.delivered += std::exchange(me.run.counters.delivered, 0);
  ++stats_.sleeps;
  me.below = std::exchange(sleepers_, &me);
  me.asleep = true;
  me.woken.wait(lock, [&me] { return !me.asleep; });
  --waking_;
}

void pool_state::wake_one() noexcept {
  if (sleepers_ != nullptr && waking_ == 0) wake(*sleepers_);
}

/// Wakes `next`, which must be the first sleeper. Requires the lock, which keeps the sleeper and
/// the pool alive until it has been notified.
void pool_state::wake(worker& next) noexcept {
  sleepers_ = next.below;
  next.asleep = false;
  ++waking_;
  ++stats_.wakeups;
  next.woken.notify_one();
}

bool pool_state::out_of_work() const noexcept {
  return queue_.empty() && busy_ == 0 && work_.load(std::memory_order_relaxed) == 0;
}

/// Stops the pool: all threads leave serve() after their current entry. Requires the lock.
void pool_state::finish() noexcept {
  stopped_ = true;
  while (sleepers_ != nullptr) wake(*sleepers_);
}

void pool_state::stop() noexcept {
  if (is_forked_copy()) return;
  const std::lock_guard lock(mutex_);
  finish();
}

void pool_state::join() {
  BECK_ASSERT(!running_here(), "a thread_pool was joined by a thread of its own");
  BECK_ASSERT(!is_forked_copy(),
              "a thread_pool was joined in a child of fork; it belongs to the parent");
  {
    const std::lock_guard lock(mutex_);
    joining_ = true;
    if (out_of_work()) finish();
  }
  for (std::thread& t : threads_) t.join();
  threads_.clear();
  std::unique_lock lock(mutex_);
  detached_.wait(lock, [this] { return attached_ == 0; });
}

// --- entries, work and trees ---------------------------------------------------------------------

void pool_state::post(queue_entry* entry) {
  const std::lock_guard lock(mutex_);
  queue_.push(entry);
  wake_one();
}

void pool_state::work(long change) noexcept {
  long seen = work_.load(std::memory_order_relaxed);
  while (seen + change > 0) {
    // acq_rel: the thread that takes the count to 0 sees the effects of all that changed it before.
    if (work_.compare_exchange_weak(seen, seen + change, std::memory_order_acq_rel,
                                    std::memory_order_relaxed)) {
      return;
    }
  }
  const std::lock_guard lock(mutex_);
  work_.fetch_add(change, std::memory_order_acq_rel);
  if (joining_ && out_of_work()) finish();
}

void pool_state::adopt(owned_tree& tree) noexcept {
  const std::lock_guard lock(trees_mutex_);
  trees_.adopt(tree);
}

void pool_state::disown(owned_tree& tree) noexcept {
  const std::lock_guard lock(trees_mutex_);
  tree.unlink();
}

void pool_state::unhandled(std::exception_ptr error, const std::source_location* spawned_at) {
  if (unhandled_handler == nullptr) terminate_unhandled(std::move(error), spawned_at);
  unhandled_handler(std::move(error), unhandled_data);
}

thread_pool::counters pool_state::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

// --- the end -------------------------------------------------------------------------------------

pool_state::~pool_state() {
  worker last(owner_.get_executor());
  const runner::binding bound(last.run);
  last.run.destroys = true;
  destroy_queued();
  const auto take_newest = [this] {
    const std::lock_guard lock(trees_mutex_);
    return trees_.take_newest();
  };
  while (owned_tree* const tree = take_newest()) {
    tree->kind->destroy(tree);
    destroy_queued();
  }
}

void pool_state::destroy_queued() noexcept {
  for (;;) {
    queue_entry* entry = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (queue_.empty()) return;
      entry = queue_.pop();
    }
    entry->run(entry, nullptr);
  }
}

// --- thread_pool ---------------------------------------------------------------------------------

namespace {
pool_state& pool_from(void* self) noexcept { return *static_cast<pool_state*>(self); }
const pool_state& pool_from(const void* self) noexcept {
  return *static_cast<const pool_state*>(self);
}
std::size_t default_threads() noexcept {
  return 2 * std::max<std::size_t>(1, std::thread::hardware_concurrency());
}
}  // namespace

const executor_table thread_pool::pool_table{
    [](void* self, queue_entry* entry) { pool_from(self).post(entry); },
    [](const void* self) noexcept { return pool_from(self).running_here(); },
    [](void* self, long change) noexcept { pool_from(self).work(change); },
    [](const void* self) noexcept -> execution_context* { return &pool_from(self).owner(); },
    nullptr,
    nullptr,
    nullptr,
    [](void* self, owned_tree& tree) noexcept { pool_from(self).adopt(tree); },
    [](void* self, std::exception_ptr error, const std::source_location* at) {
      pool_from(self).unhandled(std::move(error), at);
    },
    [](void* self, owned_tree& tree) noexcept { pool_from(self).disown(tree); },
    true,
};

thread_pool::thread_pool() : thread_pool(default_threads()) {}

thread_pool::thread_pool(std::size_t threads) : state_(new pool_state(*this)) {
  try {
    state_->add_threads(threads, get_executor());
  } catch (...) {
    stop();
    join();
    delete state_;
    throw;
  }
}

thread_pool::~thread_pool() {
  // In a child of fork: a thread of the parent may have held the lock or been changing the state at
  // the fork, so the state is left as it is.
  if (state_->is_forked_copy()) return;
  stop();
  join();
  shutdown();
  delete state_;
}

void thread_pool::stop() noexcept { state_->stop(); }
void thread_pool::join() { state_->join(); }
void thread_pool::attach() { state_->attach(get_executor()); }
thread_pool::counters thread_pool::stats() const { return state_->stats(); }

void thread_pool::on_unhandled(void (*handler)(std::exception_ptr, void*), void* data) noexcept {
  state_->unhandled_handler = handler;
  state_->unhandled_data = data;
}

system_context& detail::system_pool() {
  static thread_pool pool;
  return pool;
}

}  // namespace beck
