// SPDX-License-Identifier: BSL-1.0
// io_context: the counts that its functions return, stop and restart, the order of handlers,
// exceptions, threads; strands and pools.
#include "rows.hpp"

#include <atomic>
#include <future>
#include <thread>

namespace semantics::contexts {

using namespace std::chrono_literals;

ROW("context: run without work") {
  asio::io_context context;
  const std::size_t first = context.run();
  const bool stopped = context.stopped();
  return line(first, stopped, context.run());
}
ROW("context: run, run_one, poll and poll_one count handlers") {
  asio::io_context context;
  trace words;
  for (int i = 0; i < 7; ++i) asio::post(context, [] {});
  words << context.run_one() << context.poll_one() << context.run_one_for(1s) << context.run_for(1s)
        << context.poll();
  return words;
}
ROW("context: poll and poll_one without work") {
  asio::io_context context;
  trace words;
  words << context.poll() << context.stopped() << context.poll_one() << context.run_one();
  return words;
}
ROW("context: poll with work that is not ready") {
  asio::io_context context;
  asio::steady_timer timer(context, 1h);
  timer.async_wait([](asio::error_code) {});
  trace words;
  words << context.poll() << context.stopped() << context.poll_one() << context.stopped();
  return words;
}
ROW("context: a post after the end needs restart") {
  asio::io_context context;
  trace words;
  words << context.run();
  asio::post(context, [&] { words << "handler"; });
  words << context.run() << context.stopped();
  context.restart();
  words << context.stopped() << context.run();
  return words;
}
ROW("context: stop before run") {
  asio::io_context context;
  asio::post(context, [] {});
  context.stop();
  const std::size_t none = context.run();
  context.restart();
  return line(none, context.run());
}
ROW("context: stop in a handler leaves the others") {
  asio::io_context context;
  trace words;
  asio::post(context, [&] { context.stop(), words << "stop"; });
  asio::post(context, [&] { words << "later"; });
  words << context.run() << context.stopped();
  context.restart();
  words << context.run();
  return words;
}
ROW("context: stop ends a run that waits") {
  asio::io_context context;
  auto guard = asio::make_work_guard(context);
  std::thread other([&] { context.stop(); });
  const std::size_t n = context.run();
  other.join();
  return line(n, context.stopped());
}
ROW("context: run_for with a guard ends, and is not stopped") {
  asio::io_context context;
  auto guard = asio::make_work_guard(context);
  trace words;
  words << context.run_for(2ms) << context.stopped() << context.run_one_for(1ms);
  return words;
}
ROW("context: run_until a time that has passed") {
  asio::io_context context;
  asio::post(context, [] {});
  trace words;
  words << context.run_until(std::chrono::steady_clock::now() - 1s) << context.poll();
  return words;
}
ROW("context: order of posts") {
  asio::io_context context;
  trace words;
  for (int i = 0; i < 5; ++i) asio::post(context, [&words, i] { words << i; });
  context.run();
  return words;
}
ROW("context: order of post, dispatch and defer in a handler") {
  asio::io_context context;
  trace words;
  asio::post(context, [&] {
    asio::post(context, [&] { words << "post"; });
    asio::defer(context, [&] { words << "defer"; });
    asio::dispatch(context, [&] { words << "dispatch"; });
    asio::post(context, [&] { words << "post2"; });
    words << "end";
  });
  asio::post(context, [&] { words << "next"; });
  words << context.run();
  return words;
}
ROW("context: dispatch outside of run waits for it") {
  asio::io_context context;
  trace words;
  asio::dispatch(context, [&] { words << "dispatched"; });
  words << "before";
  words << context.run();
  return words;
}
ROW("context: run counts a dispatched function inside a handler") {
  asio::io_context context;
  asio::post(context, [&] { asio::dispatch(context, [] {}); });
  return line(context.run());
}
ROW("context: a guard keeps run waiting, reset ends it") {
  asio::io_context context;
  auto guard = asio::make_work_guard(context);
  const bool owns = guard.owns_work();
  asio::post(context, [&] { guard.reset(); });
  const std::size_t n = context.run();
  guard.reset();
  return line(owns, n, guard.owns_work());
}
ROW("context: a guard that is copied and moved") {
  asio::io_context context;
  auto guard = asio::make_work_guard(context);
  auto copy = guard;
  auto moved = std::move(guard);
  return line(guard.owns_work(), copy.owns_work(), moved.owns_work(),
              moved.get_executor() == context.get_executor());
}
ROW("context: an exception leaves run, which may go on") {
  asio::io_context context;
  trace words;
  asio::post(context, [] { throw std::runtime_error("first"); });
  asio::post(context, [&] { words << "second"; });
  words << thrown_by([&] { context.run(); }) << context.stopped() << context.run();
  return words;
}
ROW("context: an exception of the last handler") {
  asio::io_context context;
  asio::post(context, [] { throw 1; });
  trace words;
  words << thrown_by([&] { context.run(); }) << context.stopped() << context.run()
        << context.stopped();
  return words;
}
ROW("context: poll inside a handler") {
  asio::io_context context;
  trace words;
  asio::post(context, [&] {
    asio::post(context, [&] { words << "inner"; });
    words << context.poll();
  });
  words << context.run();
  return words;
}
ROW("context: run_one inside a handler") {
  asio::io_context context;
  trace words;
  asio::post(context, [&] {
    asio::post(context, [&] { words << "inner"; });
    words << context.run_one() << "after";
  });
  words << context.run();
  return words;
}
ROW("context: running_in_this_thread") {
  asio::io_context context, other;
  trace words;
  words << context.get_executor().running_in_this_thread();
  asio::post(context, [&] {
    words << context.get_executor().running_in_this_thread()
          << other.get_executor().running_in_this_thread();
  });
  context.run();
  return words;
}
ROW("context: a context that runs inside of another's handler") {
  asio::io_context context, other;
  trace words;
  asio::post(context, [&] {
    asio::post(other, [&] { words << context.get_executor().running_in_this_thread(); });
    words << other.run();
  });
  context.run();
  return words;
}
ROW("context: executors compare") {
  asio::io_context context, other;
  return line(context.get_executor() == context.get_executor(),
              context.get_executor() == other.get_executor(),
              &context.get_executor().context() == &context);
}
ROW("context: a concurrency hint") {
  asio::io_context context(1);
  asio::post(context, [] {});
  return line(context.run());
}
ROW("context: run counts a wait, a read and a composed read") {
  asio::io_context context;
  local_pair pair(context);
  char data[4];
  pair.far.write_some(asio::buffer("ab", 2));
  pair.near.async_read_some(asio::buffer(data), [](asio::error_code, std::size_t) {});
  const std::size_t read = context.run();
  context.restart();
  asio::steady_timer timer(context, 0s);
  timer.async_wait([](asio::error_code) {});
  const std::size_t waited = context.run();
  context.restart();
  pair.far.write_some(asio::buffer("abcd", 4));
  asio::async_read(pair.near, asio::buffer(data), [](asio::error_code, std::size_t) {});
  return line(read, waited, context.run());
}
ROW("context: run counts the steps of a composed read") {
  asio::io_context context;
  local_pair pair(context);
  char data[4];
  pair.far.write_some(asio::buffer("ab", 2));
  asio::async_read(pair.near, asio::buffer(data), [](asio::error_code, std::size_t) {});
  std::size_t n = context.poll();
  pair.far.write_some(asio::buffer("cd", 2));
  return line(n + context.run());
}
ROW("threads: two run one context, each handler runs once") {
  asio::io_context context;
  std::atomic<int> count = 0;
  for (int i = 0; i < 1000; ++i) asio::post(context, [&] { ++count; });
  std::size_t a = 0, b = 0;
  std::thread other([&] { a = context.run(); });
  b = context.run();
  other.join();
  return line(a + b, count.load());
}
/// Runs a context on two threads. Returns whether a handler that waits for the next one meets it.
std::string meets_next(asio::io_context& context) {
  std::promise<void> arrived;
  bool met = false;
  asio::post(context,
             [&] { met = arrived.get_future().wait_for(2s) == std::future_status::ready; });
  asio::post(context, [&] { arrived.set_value(); });
  std::thread other([&] { context.run(); });
  context.run();
  other.join();
  return line(met);
}
ROW("threads: a handler that waits for another one on a second thread") {
  asio::io_context context;
  return meets_next(context);
}
ROW("threads: a handler that waits for another one, io_context(2)") {
  asio::io_context context(2);
  return meets_next(context);
}
ROW("threads: a strand never runs two handlers at once") {
  asio::thread_pool pool(4);
  auto strand = asio::make_strand(pool);
  std::atomic<int> inside = 0;
  int most = 0, last = -1;
  bool in_order = true;
  for (int i = 0; i < 300; ++i) {
    asio::post(strand, [&, i] {
      most = std::max(most, ++inside);
      in_order = in_order && last == i - 1;
      last = i;
      --inside;
    });
  }
  pool.join();
  return line(most, in_order, last);
}
ROW("pool: join runs what was posted") {
  asio::thread_pool pool(2);
  std::atomic<int> count = 0;
  for (int i = 0; i < 10; ++i) asio::post(pool, [&] { ++count; });
  pool.join();
  return line(count.load());
}
ROW("pool: post behind join") {
  asio::thread_pool pool(1);
  pool.join();
  bool ran = false;
  asio::post(pool, [&] { ran = true; });
  pool.join();
  return line(ran);
}
ROW("pool: dispatch on a thread of it, and outside") {
  asio::thread_pool pool(1);
  trace words;
  asio::post(pool, [&] {
    asio::dispatch(pool, [&] { words << "dispatch"; });
    words << "end" << pool.get_executor().running_in_this_thread();
  });
  pool.join();
  words << pool.get_executor().running_in_this_thread();
  return words;
}
ROW("pool: stop leaves what was posted") {
  asio::thread_pool pool(1);
  std::atomic<int> count = 0;
  asio::post(pool, [&] {
    pool.stop();
    ++count;
  });
  for (int i = 0; i < 3; ++i) asio::post(pool, [&] { ++count; });
  pool.join();
  return line(count.load() <= 4, count.load() >= 0);
}
ROW("strand: dispatch inside and outside") {
  asio::io_context context;
  auto strand = asio::make_strand(context);
  trace words;
  asio::post(strand, [&] {
    asio::dispatch(strand, [&] { words << "inside"; });
    asio::post(strand, [&] { words << "posted"; });
    words << "end";
  });
  asio::post(context, [&] {
    asio::dispatch(strand, [&] { words << "outside"; });
    words << "handler";
  });
  context.run();
  return words;
}
ROW("strand: dispatch in a handler of the context when the strand is idle") {
  asio::io_context context;
  auto strand = asio::make_strand(context);
  trace words;
  asio::post(context, [&] {
    asio::dispatch(strand, [&] { words << "strand"; });
    words << "end";
  });
  context.run();
  return words;
}
ROW("strand: running_in_this_thread") {
  asio::io_context context;
  auto strand = asio::make_strand(context), other = asio::make_strand(context);
  trace words;
  asio::post(strand,
             [&] { words << strand.running_in_this_thread() << other.running_in_this_thread(); });
  context.run();
  words << strand.running_in_this_thread();
  return words;
}
ROW("strand: comparison and the inner executor") {
  asio::io_context context;
  auto strand = asio::make_strand(context), other = asio::make_strand(context);
  auto copy = strand;
  return line(strand == copy, strand == other,
              strand.get_inner_executor() == context.get_executor());
}
ROW("strand: an exception leaves run, the rest is run") {
  asio::io_context context;
  auto strand = asio::make_strand(context);
  trace words;
  asio::post(strand, [] { throw std::runtime_error("first"); });
  asio::post(strand, [&] { words << "second"; });
  words << thrown_by([&] { context.run(); });
  context.run();
  return words;
}
ROW("strand: how run counts three handlers") {
  asio::io_context context;
  auto strand = asio::make_strand(context);
  for (int i = 0; i < 3; ++i) asio::post(strand, [] {});
  return line(context.run());
}
ROW("system_executor: dispatch outside of its threads") {
  trace words;
  asio::dispatch(asio::system_executor(), [&] { words << "dispatched"; });
  asio::dispatch([&] { words << "without an executor"; });
  words << "end";
  return words;
}
ROW("system_executor: post runs on another thread") {
  auto there = asio::post(asio::use_future([] { return std::this_thread::get_id(); }));
  return line(there.get() == std::this_thread::get_id());
}
ROW("system_executor: post inside of a handler runs on the context's thread") {
  asio::io_context context;
  std::future<std::thread::id> there;
  asio::post(context, [&] {
    there = asio::post(asio::use_future([] { return std::this_thread::get_id(); }));
  });
  context.run();
  return line(there.get() == std::this_thread::get_id());
}

}  // namespace semantics::contexts
