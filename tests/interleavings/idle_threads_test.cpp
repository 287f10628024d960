// SPDX-License-Identifier: BSL-1.0
// The idle threads of shared contexts
// (src/io/shared/idle_threads.hpp): three runners with one locked queue, and work and kernel events
// from a fourth thread. Each handler blocks until another runner is in the other one, so the thread
// that takes the first must have seen to the second. No thread may sleep for ever, whether work, an
// event or the stop was missed.
#include "io/shared/idle_threads.hpp"

#include <optional>
#include <vector>

#include "interleavings/atomic.hpp"
#include "interleavings/report_outcome.hpp"

using beck::interleavings::atomic;
using beck::interleavings::bounds;
using beck::interleavings::check;
using beck::interleavings::defect;
using beck::interleavings::expect_found;
using beck::interleavings::expect_sound;
using beck::interleavings::futex_queue;
using beck::interleavings::modelled_atomics;
using beck::interleavings::mutex;
using beck::interleavings::needless_orders;
using beck::interleavings::outcome;
using beck::interleavings::place;
using beck::interleavings::scenario;
using beck::interleavings::wake_counter;
using beck::interleavings::world;

namespace {

struct modelled_baton_parts : modelled_atomics {
  static bool futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                         std::int64_t deadline) {
    return futex->wait(word, expected, deadline != INT64_MAX);
  }
  static void futex_wake(const void*, unsigned count) { futex->wake(count); }
  static void wake(int) { descriptor->write(); }
  static void drain(int, std::uint64_t total) { descriptor->drain(total); }

  /// Of the execution that runs.
  static inline futex_queue* futex = nullptr;
  static inline wake_counter* descriptor = nullptr;
};

using modelled_idle_threads = beck::detail::basic_idle_threads<modelled_baton_parts>;
constexpr std::int64_t no_deadline = INT64_MAX;

// A shared context as far as its idle runners are concerned.
class small_context {
 public:
  // A handler goes on when `together` of them have begun.
  explicit small_context(int together) : together_(together) {
    modelled_baton_parts::futex = &futex_;
    modelled_baton_parts::descriptor = &descriptor_;
    idle_threads_->open(0);
    world::now().name_locations({"state", "permits"});
  }

  void post() {
    lock_.lock();
    ++queued_;
    const auto owed = idle_threads_->claim(1);
    lock_.unlock();
    modelled_idle_threads::deliver(owed);
  }
  void raise_event() { descriptor_.raise_event(); }

  // Runs at most `most` jobs, until the context is stopped or, with a limit, the time is up.
  void run(unsigned most, std::int64_t deadline) {
    bool was_idle = false;
    bool in_time = true;
    lock_.lock();
    while (!stopped_ && most != 0 && in_time) {
      if (queued_ != 0) {
        --queued_;
        lock_.unlock();
        promote_follower(was_idle);
        run_job();
        --most;
        lock_.lock();
        continue;
      }
      const auto role = idle_threads_->begin_wait();
      lock_.unlock();
      in_time = wait(role, deadline);
      was_idle = true;
      lock_.lock();
    }
    const bool work_left = queued_ != 0 && !world::now().planted("leaves work behind");
    const auto owed = work_left ? idle_threads_->claim(1) : modelled_idle_threads::wake_up{};
    lock_.unlock();
    modelled_idle_threads::deliver(owed);
    promote_follower(was_idle);
  }

  // By the last one who leaves.
  void finish() {
    idle_threads_->finish();
    descriptor_.close();
    idle_threads_.reset();
  }

  bool done() const { return left_ == 0 && queued_ == 0; }

 private:
  // False: the time is up. That may be so although the runner has been claimed.
  bool wait(modelled_idle_threads::role role, std::int64_t deadline) {
    if (role == modelled_idle_threads::role::follower) {
      idle_threads_->sleep(deadline);
      return deadline == no_deadline;
    }
    descriptor_.wait();
    idle_threads_->step_down();
    if (const int events = descriptor_.take_events(); events != 0) {
      lock_.lock();
      queued_ += events;  // one of them this runner takes itself
      const bool alone = world::now().planted("claims nobody for further events");
      const auto owed = idle_threads_->claim(alone ? 0 : static_cast<unsigned>(events) - 1);
      lock_.unlock();
      modelled_idle_threads::deliver(owed);
    }
    return true;
  }

  void promote_follower(bool& was_idle) {
    if (was_idle && !world::now().planted("keeps the idle_threads")) {
      modelled_idle_threads::deliver(idle_threads_->promote_follower());
    }
    was_idle = false;
  }

  void run_job() {
    ++begun_;
    world::now().wait_until([this] { return begun_ >= together_; }, "another handler",
                            place::current());
    lock_.lock();
    check(left_ > 0, "a job ran twice");
    if (--left_ == 0) stopped_ = true;
    const auto owed = stopped_ ? idle_threads_->claim(modelled_idle_threads::everybody)
                               : modelled_idle_threads::wake_up{};
    lock_.unlock();
    modelled_idle_threads::deliver(owed);
  }

  futex_queue futex_;
  wake_counter descriptor_;
  std::optional<modelled_idle_threads> idle_threads_{std::in_place};
  mutex lock_;
  int queued_ = 0;  // handlers in the run queue
  int left_ = 2;    // handlers that have not ended; the last one stops
  int begun_ = 0;
  int together_;
  bool stopped_ = false;
};

struct shared_context : scenario {
  shared_context(unsigned runners, int together) : runners_(runners), context(together) {}

  unsigned threads() const override { return runners_ + 1; }
  std::string name_of(unsigned thread) const override {
    return thread <= runners_ ? "runner " + std::to_string(thread) : "other";
  }
  void run(unsigned thread) override {
    if (thread > runners_) return other();
    context.run(100, no_deadline);
    leave();
  }
  // The program destroys a context when it knows that all have left it, by joining them.
  void leave() {
    world::now().release(joined_);
    if (++left_ != runners_) return;
    world::now().acquire(joined_);
    context.finish();
  }
  virtual void other() = 0;
  void check_end() override { check(context.done(), "work is left"); }

  unsigned runners_;
  unsigned left_ = 0;
  beck::interleavings::view joined_;
  small_context context;
};

struct two_posts : shared_context {
  two_posts() : shared_context(3, 2) {}
  void other() override {
    context.post();
    context.post();
  }
};

struct two_events : shared_context {
  two_events() : shared_context(3, 2) {}
  void other() override {
    context.raise_event();
    context.raise_event();
  }
};

// One runner has little time: it leaves when that is up, or after one job.
struct runner_in_a_hurry : shared_context {
  runner_in_a_hurry() : shared_context(2, 1) {}
  void run(unsigned thread) override {
    if (thread != 2) return shared_context::run(thread);
    context.run(1, 1);
    leave();
  }
  void other() override {
    context.post();
    context.post();
  }
};

// With three runners either two preemptions, or one and old values.
constexpr bounds sequential{.old_values_max = 0, .spurious_max = 0};
constexpr bounds one_switch{.preemptions_max = 1, .old_values_max = 1, .spurious_max = 0};

}  // namespace

TEST_CASE("interleavings: a idle_threads of three runners misses no work and no stop") {
  expect_sound<two_posts>("idle_threads, 3 runners, 2 posts, stop", sequential);
}

TEST_CASE("interleavings: a idle_threads of three runners misses no event") {
  expect_sound<two_events>("idle_threads, 3 runners, 2 events, stop", sequential);
  expect_sound<two_events>("idle_threads, 3 runners, 2 events, stop, old values", one_switch);
}

TEST_CASE(
    "interleavings: a runner that leaves in time or after one handler leaves no work unseen") {
  expect_sound<runner_in_a_hurry>("idle_threads, 2 runners of which one leaves");
}

TEST_CASE(
    "interleavings: no memory order of the idle_threads is weaker or stronger than it must be") {
  CHECK(needless_orders<runner_in_a_hurry>("idle_threads.hpp").empty());
}

TEST_CASE("interleavings: planted in the idle_threads: whoever leaves the kernel keeps it") {
  const outcome o = expect_found<two_events>(
      "keeps the idle_threads", {defect::kind::disobey, "keeps the idle_threads"}, one_switch);
  CHECK(o.failure.find("waits for another handler") != std::string::npos);
}

TEST_CASE("interleavings: planted in the idle_threads: nobody is claimed for a second event") {
  const defect alone{defect::kind::disobey, "claims nobody for further events"};
  expect_found<two_events>("no claim for further events", alone, one_switch);
}

TEST_CASE(
    "interleavings: planted in the idle_threads: work is left behind by a runner that was "
    "claimed") {
  expect_found<runner_in_a_hurry>("leaves work behind",
                                  {defect::kind::disobey, "leaves work behind"});
}

TEST_CASE("interleavings: planted in the idle_threads: settling is a load and a store") {
  const outcome o =
      expect_found<two_events>("begin_wait torn", {defect::kind::tear, "begin_wait"}, sequential);
  CHECK(o.failure.starts_with("nobody can go on"));
}
