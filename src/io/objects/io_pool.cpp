// SPDX-License-Identifier: BSL-1.0
// The threads of an io_pool, and the two steps that need all of them: finding out that all work has
// ended, and ending.
#include <beck/io/io_pool.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include <beck/base/assert.hpp>

#include "base/fork_count.hpp"
#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"

namespace beck {
using namespace detail;

/// State of an io_pool. Each context has a work guard that keeps it running. join() removes the
/// guard of one context, and the missing guard then goes round: a context without a guard leaves
/// run() when it is out of work, gets its guard back, and the next context loses its own. When the
/// missing guard has gone round once and no context has delivered anything since the round before,
/// there was a moment in between at which no context had work.
class detail::io_pool_state {
 public:
  io_pool_state(std::size_t contexts, const io_context::options& how);
  ~io_pool_state();
  io_pool_state(const io_pool_state&) = delete;
  io_pool_state& operator=(const io_pool_state&) = delete;

  /// In a forked child, which has none of the threads: closes all handles and returns true. Returns
  /// false in the process that made the pool.
  bool after_fork_in_child() noexcept;

  std::size_t size() const noexcept { return workers_.size(); }
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the constructor has filled every worker
  io_context& at(std::size_t index) noexcept { return *workers_[index].context; }
  io_context& next() noexcept { return at(turn_.fetch_add(1, std::memory_order_relaxed) % size()); }
  void stop() noexcept;
  void join();

 private:
  bool is_forked_copy() const noexcept { return forks_ != known_fork_count(); }

  /// A context of the pool and its thread.
  struct worker {
    std::size_t index;
    std::optional<io_context> context;
    io_loop* loop = nullptr;
    std::uint64_t delivered = 0;  // counter of deliveries when the guard was last missing here
    std::thread thread;
  };

  void live(worker& w, const io_context::options& how);
  bool open(worker& w, const io_context::options& how);
  void serve(worker& w);
  bool go_on(worker& w);
  void pass_on(worker& w);
  void stop_all() noexcept;
  void clear_together(io_loop& loop);
  bool meet(bool vote);

  std::deque<worker> workers_;
  std::atomic<std::size_t> turn_{0};
  const unsigned forks_ = fork_count();

  std::mutex mutex_;  // protects all members below
  std::condition_variable changed_;
  std::size_t open_ = 0;
  std::exception_ptr failed_;
  bool stopping_ = false;
  bool joining_ = false;
  std::size_t without_guard_ = 0;  // index of the context without a guard, if joining_
  std::size_t unchanged_ = 0;      // contexts in a row that have delivered nothing for a round
  std::size_t serving_ = 0;
  bool ending_ = false;
  std::size_t met_ = 0;
  std::size_t meetings_ = 0;
  bool votes_ = false;
  bool decided_ = false;
};

// --- the beginning -------------------------------------------------------------------------------

/// Starts the threads, and waits until all contexts are made. If one fails, ends all threads and
/// throws its exception.
io_pool_state::io_pool_state(std::size_t contexts, const io_context::options& how) {
  if (contexts == 0) throw std::invalid_argument("beck::io_pool: at least one context");
  for (std::size_t i = 0; i < contexts; ++i) workers_.emplace_back().index = i;
  serving_ = contexts;
  for (worker& w : workers_) {
    try {
      w.thread = std::thread([this, &w, &how] { live(w, how); });
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failed_ = std::current_exception();
      break;
    }
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return failed_ != nullptr || open_ == size(); });
  if (failed_ == nullptr) return;
  changed_.notify_all();
  lock.unlock();
  for (worker& w : workers_) {
    if (w.thread.joinable()) w.thread.join();
  }
  std::rethrow_exception(failed_);
}

/// Body of a pool's thread. The context is made and destroyed on the thread that runs it.
void io_pool_state::live(worker& w, const io_context::options& how) {
  if (!open(w, how)) {
    w.context.reset();
    return;
  }
  serve(w);
  {
    std::unique_lock lock(mutex_);
    --serving_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return ending_; });
  }
  clear_together(*w.loop);
  w.context.reset();
}

/// Makes the context of `w` and waits for those of the other threads. Returns false if any of them
/// could not be made; then all threads give up.
bool io_pool_state::open(worker& w, const io_context::options& how) {
  std::exception_ptr error;
  try {
    w.context.emplace(how);
    w.loop = &loop_of(w.context->get_executor());
    w.loop->work(1);
    if (w.context->backend_in_use() == backend::sim) {
      throw std::invalid_argument("beck::io_pool: simulated contexts share one thread");
    }
  } catch (...) {
    error = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  if (error != nullptr && failed_ == nullptr) failed_ = error;
  ++open_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return failed_ != nullptr || open_ == size(); });
  return failed_ == nullptr;
}

// --- running -------------------------------------------------------------------------------------

void io_pool_state::serve(worker& w) {
  do {
    try {
      w.loop->run(SIZE_MAX, io_loop::no_deadline, true);
    } catch (...) {
      w.loop->unhandled(std::current_exception());
    }
  } while (go_on(w));
}

/// Returns whether the thread shall call run() again, after run() has run out of work or was
/// stopped.
bool io_pool_state::go_on(worker& w) {
  const std::lock_guard lock(mutex_);
  if (!stopping_ && joining_ && without_guard_ == w.index) pass_on(w);
  if (stopping_) return false;
  w.loop->restart();
  return true;
}

/// Gives `w` its guard back and takes away the guard of the next context. Stops all contexts if
/// none of them has delivered anything for a round. The caller holds the lock.
void io_pool_state::pass_on(worker& w) {
  const std::uint64_t delivered = w.loop->run_state().counters.delivered;
  unchanged_ = std::exchange(w.delivered, delivered) == delivered ? unchanged_ + 1 : 0;
  if (unchanged_ >= size()) return stop_all();
  w.loop->work(1);
  without_guard_ = (w.index + 1) % size();
  workers_[without_guard_].loop->work(-1);
}

void io_pool_state::stop_all() noexcept {
  stopping_ = true;
  for (worker& w : workers_) w.loop->stop();
}

void io_pool_state::stop() noexcept {
  if (is_forked_copy()) return;
  const std::lock_guard lock(mutex_);
  stop_all();
}

void io_pool_state::join() {
  for (const worker& w : workers_) {
    BECK_ASSERT(!w.loop->on_runner(), "an io_pool was joined by a thread of its own");
  }
  BECK_ASSERT(!is_forked_copy(),
              "an io_pool was joined in a child of fork; it belongs to the parent");
  std::unique_lock lock(mutex_);
  if (!joining_ && !stopping_) {
    joining_ = true;
    workers_.front().loop->work(-1);
  }
  changed_.wait(lock, [this] { return serving_ == 0; });
}

// --- the end -------------------------------------------------------------------------------------

io_pool_state::~io_pool_state() {
  {
    const std::lock_guard lock(mutex_);
    stop_all();
    ending_ = true;
    changed_.notify_all();
  }
  for (worker& w : workers_) w.thread.join();
}

bool io_pool_state::after_fork_in_child() noexcept {
  if (!is_forked_copy()) return false;
  for (worker& w : workers_) w.loop->close_all_handles();
  return true;
}

/// Destroys the handlers that `loop` has queued. Their destructors may hand work to other contexts,
/// so all threads repeat this together until no context had any.
void io_pool_state::clear_together(io_loop& loop) {
  while (meet(loop.clear())) {}
}

/// Waits until all threads have called this; returns whether any `vote` was true.
bool io_pool_state::meet(bool vote) {
  std::unique_lock lock(mutex_);
  votes_ = votes_ || vote;
  if (++met_ == size()) {
    decided_ = std::exchange(votes_, false);
    met_ = 0;
    ++meetings_;
    changed_.notify_all();
    return decided_;
  }
  changed_.wait(lock, [this, meeting = meetings_] { return meetings_ != meeting; });
  return decided_;
}

// --- the public face -----------------------------------------------------------------------------

io_pool::io_pool() : io_pool(std::max<std::size_t>(1, std::thread::hardware_concurrency())) {}
io_pool::io_pool(std::size_t contexts, const io_context::options& how)
    : state_(new io_pool_state(contexts, how)) {}
io_pool::~io_pool() {
  if (!state_->after_fork_in_child()) delete state_;
}

std::size_t io_pool::size() const noexcept { return state_->size(); }
io_context& io_pool::at(std::size_t index) noexcept {
  BECK_ASSERT(index < size(), "an io_pool has no context with this index");
  return state_->at(index);
}
io_context& io_pool::next() noexcept { return state_->next(); }
void io_pool::stop() noexcept { state_->stop(); }
void io_pool::join() { state_->join(); }

void io_pool::on_unhandled(void (*handler)(std::exception_ptr, void*), void* data) noexcept {
  for (std::size_t i = 0; i < size(); ++i) at(i).on_unhandled(handler, data);
}

}  // namespace beck
