// SPDX-License-Identifier: BSL-1.0
//
// timer with beck: waits that are cancelled, waits that are armed anew, and waits that have expired
// when they start, with an idle socket that waits for data.
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <beck/run/post.hpp>
#include <chrono>
#include <vector>

#include "../common/timer_load.hpp"
#include "counters.hpp"

namespace {

using beck::steady_timer;

struct scene {
  bench::meter& meter;
  beck::io_context context;
  beck::local::stream_protocol::socket idle;
  char byte = 0;
  bench::timer_counts counts;
  bench::timer_draws draws;
  std::vector<steady_timer> timers;

  explicit scene(bench::meter& m)
      : meter(m),
        context(beck_peer::context_options(m.options())),
        idle(context, beck::local::stream_protocol(), bench::connected_sockets().near) {
    idle.async_read_some(beck::buffer(&byte, 1), [this](beck::error_code error, std::size_t) {
      if (!error || idle.is_open()) bench::fail("the idle socket is not idle");
    });
  }

  void wait(steady_timer& timer) {
    ++counts.started;
    timer.async_wait([this](beck::error_code) { ++counts.ended; });
  }

  // Runs and measures the posted handlers; then, unmeasured, ends the waits that are left.
  void run() {
    beck_peer::counters counted(context);
    const std::uint64_t before = counts.started;
    meter.start();
    context.run();
    const std::uint64_t operations = counts.started - before;
    meter.finish(operations);
    counted.report(operations, [&](const char* name, double value) { meter.note(name, value); });
    timers.clear();
    idle.close();
    context.restart();
    context.run();
    counts.require_all_ended();
  }
};

template <class Batch>
struct round {
  scene* s;
  std::uint64_t before;
  Batch batch;

  void operator()() {
    if (s->meter.over(s->counts.started - before)) return s->context.stop();
    for (std::size_t i = 0; i < bench::timer_batch; ++i) batch(i);
    beck::post(s->context, *this);
  }
};

template <class Batch>
void run_batches(scene& s, std::size_t pending, Batch batch) {
  s.timers.reserve(pending);
  for (std::size_t i = 0; i < pending; ++i) {
    s.timers.emplace_back(s.context, s.draws.after());
    s.wait(s.timers.back());
  }
  s.context.poll();
  beck::post(s.context, round<Batch>{&s, s.counts.started, batch});
  s.run();
}

void create_cancel(bench::meter& m) {
  scene s(m);
  run_batches(s, 0, [&s](std::size_t) {
    steady_timer timer(s.context, bench::timer_far);
    s.wait(timer);
    timer.cancel();
  });
}

void rearm(bench::meter& m) {
  scene s(m);
  run_batches(s, 1, [&s](std::size_t) {
    s.timers.front().expires_after(bench::timer_far);
    s.wait(s.timers.front());
  });
}

void million(bench::meter& m) {
  scene s(m);
  run_batches(s, bench::timer_million, [&s](std::size_t i) {
    s.timers[i].expires_after(s.draws.after());
    s.wait(s.timers[i]);
  });
}

void million_any(bench::meter& m) {
  scene s(m);
  run_batches(s, bench::timer_million, [&s](std::size_t) {
    steady_timer& timer = s.timers[s.draws.index()];
    timer.expires_after(s.draws.after());
    s.wait(timer);
  });
}

struct chain {
  scene* s;

  void operator()(beck::error_code error) const {
    bench::require(!error, "an expired wait was cancelled");
    ++s->counts.ended;
    start();
  }
  void start() const {
    if (s->meter.over(s->counts.started)) return s->context.stop();
    ++s->counts.started;
    s->timers.front().expires_after(std::chrono::nanoseconds(0));
    s->timers.front().async_wait(*this);
  }
};

void expired(bench::meter& m) {
  scene s(m);
  s.timers.emplace_back(s.context);
  beck::post(s.context, [&s] { chain{&s}.start(); });
  s.run();
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "timer",
                          {{"create_cancel", create_cancel},
                           {"rearm", rearm},
                           {"expired", expired},
                           {"million", million},
                           {"million_any", million_any}});
}
