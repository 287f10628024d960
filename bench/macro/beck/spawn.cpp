// SPDX-License-Identifier: BSL-1.0
//
// Coroutines with beck: spawning, awaiting one child or two at once, and rescheduling through the
// queue. The cases that run inside one loop have an idle socket that waits for data.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/net/local.hpp>
#include <beck/run/post.hpp>

#include "../common/micro.hpp"
#include "counters.hpp"
#include "spawn_child.hpp"

namespace {

// The number of coroutines spawned before the loop runs again.
constexpr int batch = 100;

beck::task<> trivial(std::uint64_t& done) {
  ++done;
  co_return;
}

void report(bench::meter& m, const beck_peer::counters& counters, std::uint64_t done) {
  counters.report(done, [&](const char* name, double value) { m.note(name, value); });
}

void co_spawn(bench::meter& m) {
  beck::io_context context(beck_peer::context_options(m.options()));
  std::uint64_t done = 0;
  std::uint64_t spawned = 0;
  const beck_peer::counters counters(context);
  m.start();
  while (!m.over(done)) {
    for (int i = 0; i < batch; ++i) beck::co_spawn(context, trivial(done), beck::detached);
    spawned += batch;
    context.restart();
    context.run();
  }
  m.finish(done);
  report(m, counters, done);
  bench::require(done == spawned, "a coroutine did not run");
}

struct watched_context {
  beck::io_context context;
  beck::local::stream_protocol::socket idle{context, beck::local::stream_protocol(),
                                            bench::connected_sockets().near};
  char byte = 0;

  explicit watched_context(const bench::meter& m)
      : context(beck_peer::context_options(m.options())) {
    idle.async_read_some(beck::buffer(&byte, 1), [](beck::error_code error, std::size_t) {
      if (!error) bench::fail("the idle socket is not idle");
    });
  }
};

// Runs one coroutine in a context with an idle socket, until the meter ends the run.
void run_one(bench::meter& m,
             beck::task<> (*body)(bench::meter&, beck::io_context&, std::uint64_t&)) {
  watched_context w(m);
  std::uint64_t done = 0;
  beck::co_spawn(w.context, body(m, w.context, done), beck::detached);
  const beck_peer::counters counters(w.context);
  m.start();
  w.context.run();
  m.finish(done);
  report(m, counters, done);
}

beck::task<> nested_parent(bench::meter& m, beck::io_context& context, std::uint64_t& done) {
  while (!m.over(done)) {
    const std::uint64_t next = co_await add_one(done);
    bench::require(next == done + 1, "wrong result");
    done = next;
  }
  context.stop();
}

void nested(bench::meter& m) { run_one(m, nested_parent); }

beck::task<> both_parent(bench::meter& m, beck::io_context& context, std::uint64_t& done) {
  while (!m.over(done)) {
    auto both = beck::when_all(add_one(done), add_one(done + 1));
    const auto [next, after] = co_await std::move(both);
    bench::require(next == done + 1 && after == done + 2, "wrong result");
    done = next;
  }
  context.stop();
}

void when_all(bench::meter& m) { run_one(m, both_parent); }

beck::task<> poster(bench::meter& m, beck::io_context& context, std::uint64_t& done) {
  while (!m.over(done)) {
    co_await beck::post(context);
    ++done;
  }
  context.stop();
}

void co_post(bench::meter& m) { run_one(m, poster); }

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(
      argc, argv, "spawn",
      {{"co_spawn", co_spawn}, {"nested", nested}, {"when_all", when_all}, {"co_post", co_post}});
}
