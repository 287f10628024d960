// SPDX-License-Identifier: BSL-1.0
// run(): a server as a whole program, with one thread for each context, and an end on signals. Each
// context has one coroutine, its life: objects, listening, serving, the end of the objects. All
// lives wait for each other at each step, and the last one stops the contexts, with all other work
// there.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/http/server.hpp>
#include <beck/io/io_pool.hpp>
#include <beck/io/service_manager.hpp>
#include <beck/io/signal_set.hpp>
#include <beck/run/stop_token.hpp>

#include "http/server/server_state.hpp"
#include "http/server/worker.hpp"

namespace beck::http {
namespace detail {
namespace {

constexpr duration stop_max(5'000'000'000);     // for T::stop() of all objects of a context
constexpr duration forsake_max(1'000'000'000);  // for handlers that were cut

}  // namespace

/// The state of one run(). Thread: that of run(), except for lives.
class serving_program {
 public:
  serving_program(server& what, const run_options& how, std::size_t contexts);
  /// Runs until the end. Throws the exception that has ended it.
  void run();

 private:
  /// A context, and the event that lets its life take the next step.
  struct place {
    explicit place(std::size_t number) noexcept : index(number) {}
    std::size_t index;
    io_context* context = nullptr;
    const worker* serves = nullptr;
    auto_reset_event turn{concurrent};
  };
  /// Destroys the objects of a context. It belongs to the context's oldest task, so it is destroyed
  /// last.
  class objects_of {
   public:
    objects_of(serving_program& of, std::size_t index) noexcept : of_(&of), index_(index) {}
    objects_of(const objects_of&) = delete;
    objects_of& operator=(const objects_of&) = delete;
    ~objects_of() {
      while (made_ != 0) of_->objects_[--made_]->destroy(index_);
    }
    task<> start(io_context& on);
    task<> stop();

   private:
    serving_program* of_;
    std::size_t index_;
    std::size_t made_ = 0;
    std::size_t started_ = 0;
  };

  static task<> live(serving_program& self, place& here);
  task<> begin(place& here, objects_of& own, worker& serves);
  task<> serve(std::shared_ptr<worker> serves);
  task<> stop(objects_of& own);
  task<> meet(place& here);
  task<> obey_signals();
  void listening();
  void announce_end() noexcept;
  void fail(std::exception_ptr error) noexcept;
  void stop_contexts() noexcept;

  std::shared_ptr<server_state> server_;
  run_options how_;
  std::vector<context_objects*> objects_;
  std::deque<place> places_;
  std::atomic<std::size_t> missing_;  // lives that have not finished the present step
  stop_source starting_, ending_;     // they stop T::start() and T::stop()
  std::mutex mutex_;
  std::exception_ptr failed_;  // under the lock until all contexts have stopped
  std::atomic<bool> may_serve_{true};
  bool is_announced_ = false;  // READY=1 was said, and not STOPPING=1; on the first context
  io_context first_;
  std::optional<io_pool> others_;
  signal_set signals_;
};

serving_program::serving_program(server& what, const run_options& how, std::size_t contexts)
    : server_(what.state_->state),
      how_(how),
      missing_(contexts),
      signals_(first_, SIGINT, SIGTERM) {
  places_.emplace_back(0).context = &first_;
  if (contexts > 1) {
    server_->share_ports(true);
    io_pool& pool = others_.emplace(contexts - 1);
    for (std::size_t i = 1; i < contexts; ++i) places_.emplace_back(i).context = &pool.at(i - 1);
  }
  for (const per_context_reference& each : how.objects) {
    if (each.objects_ == nullptr) continue;
    objects_.push_back(each.objects_);
    each.objects_->prepare(contexts);
    for (const place& one : places_) each.objects_->know(one.index, *one.context);
  }
}

void serving_program::run() {
  co_spawn(first_, obey_signals(), detached);
  for (place& one : places_) {
    co_spawn(*one.context, live(*this, one), [this](std::exception_ptr error) {
      if (!error) return;  // no memory for a life: the others would wait for it
      fail(std::move(error));
      stop_contexts();
    });
  }
  try {
    first_.run();
  } catch (...) {  // an exception of other work on the context
    fail(std::current_exception());
  }
  stop_contexts();
  if (others_) others_->join();
  for (const place& one : places_)
    if (one.serves != nullptr) server_->remove(*one.serves);  // a worker that has not ended
  if (failed_) std::rethrow_exception(failed_);
}

/// The life of a context. It never ends by itself: its objects are destroyed with the context.
task<> serving_program::live(serving_program& self, place& here) {
  objects_of own(self, here.index);
  const auto serves = std::make_shared<worker>(self.server_, here.context->get_executor());
  here.serves = serves.get();
  co_await self.begin(here, own, *serves);
  co_await self.meet(here);
  if (here.index == 0) self.listening();
  co_await self.meet(here);
  if (self.may_serve_.load(std::memory_order_relaxed)) co_await self.serve(serves);
  co_await self.meet(here);
  if (here.index == 0) self.announce_end();  // the program itself may have stopped the server
  co_await self.stop(own);
  // Acquire and release: the last one sees the failures of the others.
  if (self.missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) self.stop_contexts();
  beck::ignore(co_await here.turn.wait());
}

/// Makes and starts the objects of a context, and opens its listeners.
task<> serving_program::begin(place& here, objects_of& own, worker& serves) {
  try {
    auto started = co_await with_stop(starting_.get_token(), own.start(*here.context));
    if (!started.error() && !starting_.stop_requested()) serves.open();
    serves.forsake_after(forsake_max);
  } catch (...) {  // a failure that the end itself has caused does not count
    if (!server_->is_stopping()) fail(std::current_exception());
  }
}

task<> serving_program::serve(std::shared_ptr<worker> serves) {
  try {
    serve_operation serving(serves);
    auto ended = co_await std::move(serving);
    if (ended.error() == error::timeout)
      static_cast<void>(
          std::fprintf(stderr,
                       "http: dropped %zu connections; their handlers ignore that they are "
                       "stopped\n",
                       serves->connections()));
    serves->check();
  } catch (...) {
    fail(std::current_exception());
  }
}

/// Stops those objects of a context that were started.
task<> serving_program::stop(objects_of& own) {
  try {
    auto stopped = co_await timeout(with_stop(ending_.get_token(), own.stop()), stop_max);
    if (stopped.error() == error::timeout)
      static_cast<void>(std::fputs("http: stop() of an object took longer than 5 s\n", stderr));
  } catch (const std::exception& failed) {
    static_cast<void>(std::fprintf(stderr, "http: stop() of an object: %s\n", failed.what()));
  } catch (...) {
    static_cast<void>(std::fputs("http: stop() of an object: an unknown exception\n", stderr));
  }
}

task<> serving_program::objects_of::start(io_context& on) {
  while (made_ != of_->objects_.size()) {
    of_->objects_[made_]->make(index_, on);
    ++made_;
    co_await of_->objects_[started_]->start(index_);
    ++started_;
  }
}

task<> serving_program::objects_of::stop() {
  while (started_ != 0) co_await of_->objects_[--started_]->stop(index_);
}

/// Waits until the lives of all contexts have reached this step.
task<> serving_program::meet(place& here) {
  // Acquire and release: the work of each life before this is visible to all lives after it.
  if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    missing_.store(places_.size(), std::memory_order_relaxed);  // published by the events
    for (place& one : places_) one.turn.set();
  }
  beck::ignore(co_await here.turn.wait());
}

/// Called when each context listens or has failed.
void serving_program::listening() {
  try {
    const bool may_serve = !starting_.stop_requested();
    if (may_serve && how_.on_listening != nullptr) how_.on_listening(how_.listening_data);
    if (may_serve) notify_service_manager("READY=1");
    is_announced_ = may_serve;
    // Relaxed: the next meeting orders it.
    may_serve_.store(may_serve, std::memory_order_relaxed);
  } catch (...) {
    fail(std::current_exception());
    may_serve_.store(false, std::memory_order_relaxed);
  }
}

void serving_program::announce_end() noexcept {
  if (std::exchange(is_announced_, false)) notify_service_manager("STOPPING=1");
}

/// Begins the end at the first signal, shortens it at the second, ends at once at the third.
task<> serving_program::obey_signals() {
  auto arrived = co_await signals_.async_wait();
  if (arrived.error()) co_return;
  server_->announce_stop();
  starting_.request_stop();
  announce_end();
  arrived = co_await timeout(signals_.async_wait(), how_.notice_timeout);
  if (arrived.error() == error::timeout) {
    server_->stop(how_.drain_timeout);
    arrived = co_await signals_.async_wait();
  }
  server_->stop(duration::zero());
  ending_.request_stop();
  beck::ignore(co_await timeout(signals_.async_wait(), forsake_max));
  stop_contexts();
}

/// Keeps the first exception. Steps that have not begun are skipped.
void serving_program::fail(std::exception_ptr error) noexcept {
  {
    const std::lock_guard locked(mutex_);
    if (!failed_) failed_ = std::move(error);
  }
  starting_.request_stop();
  server_->stop(duration::zero());
}

void serving_program::stop_contexts() noexcept {
  if (others_) others_->stop();
  first_.stop();
}

}  // namespace detail

int functions::run(server& what, const run_options& how) {
  const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
  try {
    detail::serving_program whole(what, how, how.contexts != 0 ? how.contexts : processors);
    whole.run();
    return 0;
  } catch (const std::exception& failed) {
    static_cast<void>(std::fprintf(stderr, "cannot serve: %s\n", failed.what()));
    return 1;
  }
}

}  // namespace beck::http
