// SPDX-License-Identifier: BSL-1.0
//
// The lower bound of timer: one read of the clock, one insertion into a list, and one pass through
// the run queue, which delivers the end of the wait; an idle socket is registered.
#include <vector>

#include "../common/timer_load.hpp"
#include "run_queue.hpp"

namespace {

// A wait in a list, from which it can be removed at any time.
struct wait : raw::entry {
  wait* previous = nullptr;
  wait* following = nullptr;
  std::int64_t deadline = 0;
  bench::timer_counts* counts = nullptr;
};

struct scene {
  bench::meter& meter;
  raw::run_queue queue;
  raw::entry idle{nullptr, [](raw::entry*) { bench::fail("the idle socket is not idle"); }};
  bench::timer_counts counts;
  wait armed;

  explicit scene(bench::meter& m) : meter(m) {
    queue.watch(bench::connected_sockets().near, idle);
    armed.previous = armed.following = &armed;
  }

  void arm(wait& w, std::int64_t deadline) {
    ++counts.started;
    w.deadline = deadline;
    w.run = [](raw::entry* e) { ++static_cast<wait*>(e)->counts->ended; };
    w.counts = &counts;
    w.previous = armed.previous;
    w.following = &armed;
    armed.previous = w.previous->following = &w;
  }

  void end(wait& w) {
    w.previous->following = w.following;
    w.following->previous = w.previous;
    queue.post(w);
  }
};

constexpr std::int64_t far_ns = std::chrono::nanoseconds(bench::timer_far).count();

// A handler that arms and cancels a batch of waits, and posts itself.
struct round : raw::entry {
  scene& s;
  std::vector<wait> waits{bench::timer_batch};

  explicit round(scene& where)
      : entry{nullptr, [](entry* e) { static_cast<round*>(e)->run_once(); }}, s(where) {}

  void run_once() {
    if (s.meter.over(s.counts.started)) return s.queue.stop();
    for (wait& w : waits) {
      s.arm(w, bench::wall_now_ns() + far_ns);
      s.end(w);
    }
    s.queue.post(*this);
  }
};

void create_cancel(bench::meter& m) {
  scene s(m);
  round r(s);
  s.queue.post(r);
  m.start();
  s.queue.run();
  m.finish(s.counts.started);
  s.counts.require_all_ended();
}

// A wait that has expired and arms itself again.
struct chain : raw::entry {
  scene& s;
  std::int64_t deadline = 0;

  explicit chain(scene& where)
      : entry{nullptr, [](entry* e) { static_cast<chain*>(e)->run_once(); }}, s(where) {}

  void run_once() {
    if (s.meter.over(++s.counts.started)) return s.queue.stop();
    bench::require(bench::wall_now_ns() >= deadline, "too early");
    deadline = bench::wall_now_ns();
    s.queue.post(*this);
  }
};

void expired(bench::meter& m) {
  scene s(m);
  chain c(s);
  s.queue.post(c);
  m.start();
  s.queue.run();
  m.finish(s.counts.started);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(
      argc, argv, "timer",
      {{"create_cancel", create_cancel}, {"rearm", create_cancel}, {"expired", expired}});
}
