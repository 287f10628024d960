// SPDX-License-Identifier: BSL-1.0
//
// The lower bound of coroutines: a frame from operator new, one pass through an intrusive list, and
// a resume.
#include "../common/micro.hpp"
#include "coroutine.hpp"

namespace {

// The number of coroutines spawned before the loop runs again.
constexpr int batch = 100;

struct watched_queue {
  raw::run_queue queue;
  raw::entry idle{nullptr, [](raw::entry*) { bench::fail("the idle socket is not idle"); }};

  watched_queue() { queue.watch(bench::connected_sockets().near, idle); }
};

raw::detached trivial(std::uint64_t& done) {
  ++done;
  co_return;
}

void co_spawn(bench::meter& m) {
  raw::run_queue queue;
  std::uint64_t done = 0;
  std::uint64_t spawned = 0;
  m.start();
  while (!m.over(done)) {
    for (int i = 0; i < batch; ++i) queue.post(*trivial(done).start);
    spawned += batch;
    queue.run();
  }
  m.finish(done);
  bench::require(done == spawned, "a coroutine did not run");
}

raw::detached nested_parent(bench::meter& m, raw::run_queue& queue, std::uint64_t& done) {
  while (!m.over(done)) {
    const std::uint64_t next = co_await raw::add_one(done);
    bench::require(next == done + 1, "wrong result");
    done = next;
  }
  queue.stop();
}

void nested(bench::meter& m) {
  watched_queue w;
  std::uint64_t done = 0;
  w.queue.post(*nested_parent(m, w.queue, done).start);
  m.start();
  w.queue.run();
  m.finish(done);
}

raw::detached poster(bench::meter& m, raw::run_queue& queue, std::uint64_t& done) {
  while (!m.over(done)) {
    co_await raw::hop(queue);
    ++done;
  }
  queue.stop();
}

void co_post(bench::meter& m) {
  watched_queue w;
  std::uint64_t done = 0;
  w.queue.post(*poster(m, w.queue, done).start);
  m.start();
  w.queue.run();
  m.finish(done);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "spawn",
                          {{"co_spawn", co_spawn}, {"nested", nested}, {"co_post", co_post}});
}
