// SPDX-License-Identifier: BSL-1.0
// Timers: counts of what was cancelled, times that have passed, order, moves.
#include "rows.hpp"

#include <functional>
#include <optional>

namespace semantics::timers {

using namespace std::chrono_literals;
using asio::steady_timer;
using clock = std::chrono::steady_clock;

ROW("timer: a default one has expired") {
  asio::io_context context;
  steady_timer timer(context);
  asio::error_code ec = asio::error::eof;
  timer.async_wait(store(ec));
  const std::size_t n = context.run();
  return line(timer.expiry() == clock::time_point(), n, ec);
}
ROW("timer: cancel returns the number of waits") {
  asio::io_context context;
  steady_timer timer(context, 1h);
  trace words;
  words << timer.cancel();
  timer.async_wait(note(words, "a"));
  timer.async_wait(note(words, "b"));
  words << timer.cancel() << timer.cancel() << context.run();
  return words;
}
ROW("timer: cancel_one ends the oldest wait") {
  asio::io_context context;
  steady_timer timer(context, 1h);
  trace words;
  timer.async_wait(note(words, "a"));
  timer.async_wait(note(words, "b"));
  words << timer.cancel_one();
  words << context.poll() << timer.cancel_one() << timer.cancel_one() << context.run();
  return words;
}
ROW("timer: expires_after and expires_at return the number of waits that end") {
  asio::io_context context;
  steady_timer timer(context, 1h);
  trace words;
  timer.async_wait(note(words, "a"));
  words << timer.expires_after(1h);
  timer.async_wait(note(words, "b"));
  words << timer.expires_at(clock::now() - 1s) << timer.expires_after(1h);
  words << context.run();
  return words;
}
ROW("timer: a wait that follows cancel is not cancelled") {
  asio::io_context context;
  steady_timer timer(context, 1ms);
  trace words;
  timer.cancel();
  timer.async_wait(note(words, "a"));
  context.run();
  return words;
}
ROW("timer: an expiry in the past") {
  asio::io_context context;
  steady_timer timer(context, clock::now() - 1h);
  trace words;
  timer.async_wait(note(words, "a"));
  words << context.run();
  return words;
}
ROW("timer: the handler never runs inside async_wait") {
  asio::io_context context;
  steady_timer timer(context, -1s);
  trace words;
  asio::post(context, [&] {
    timer.async_wait(note(words, "a"));
    words << "end";
  });
  context.run();
  return words;
}
ROW("timer: cancel of a wait whose time has passed, before run") {
  asio::io_context context;
  steady_timer timer(context, -1s);
  trace words;
  timer.async_wait(note(words, "a"));
  words << timer.cancel() << context.run();
  return words;
}
ROW("timer: cancel of a wait that has expired in the same poll") {
  asio::io_context context;
  steady_timer first(context, clock::now() - 2s), second(context, clock::now() - 1s);
  trace words;
  first.async_wait([&](asio::error_code) { words << "first" << second.cancel(); });
  second.async_wait(note(words, "second"));
  context.run();
  return words;
}
ROW("timer: waits of one timer end in their order") {
  asio::io_context context;
  steady_timer timer(context, 1ms);
  trace words;
  for (const char* name : {"a", "b", "c"}) timer.async_wait(note(words, name));
  words << context.run();
  return words;
}
ROW("timer: timers with different expiries") {
  asio::io_context context;
  const auto now = clock::now();
  steady_timer late(context, now + 3ms), early(context, now + 1ms), middle(context, now + 2ms);
  trace words;
  late.async_wait(note(words, "late"));
  early.async_wait(note(words, "early"));
  middle.async_wait(note(words, "middle"));
  context.run();
  return words;
}
ROW("timer: two timers with the same expiry") {
  asio::io_context context;
  const auto when = clock::now() + 1ms;
  steady_timer a(context, when), b(context, when);
  trace words;
  a.async_wait(note(words, "a"));
  b.async_wait(note(words, "b"));
  context.run();
  return words;
}
ROW("timer: a post precedes a wait whose time has passed") {
  asio::io_context context;
  steady_timer timer(context, -1s);
  trace words;
  timer.async_wait(note(words, "timer"));
  asio::post(context, [&] { words << "post"; });
  context.run();
  return words;
}
ROW("timer: a change of the expiry ends the old wait first") {
  asio::io_context context;
  steady_timer timer(context, 1h);
  trace words;
  timer.async_wait(note(words, "old"));
  timer.expires_after(1ms);
  timer.async_wait(note(words, "new"));
  words << context.run();
  return words;
}
ROW("timer: destroyed with a wait") {
  asio::io_context context;
  trace words;
  std::optional<steady_timer> timer(std::in_place, context, 1h);
  timer->async_wait(note(words, "a"));
  timer.reset();
  words << "destroyed" << context.run();
  return words;
}
ROW("timer: moved with a wait") {
  asio::io_context context;
  steady_timer timer(context, 1h);
  trace words;
  timer.async_wait(note(words, "a"));
  steady_timer moved(std::move(timer));
  words << timer.cancel() << moved.cancel() << context.run();
  return words;
}
ROW("timer: assigned to one with a wait") {
  asio::io_context context;
  steady_timer timer(context, 1h), other(context, 2h);
  trace words;
  timer.async_wait(note(words, "a"));
  timer = std::move(other);
  words << context.run() << (timer.expiry() > clock::now() + 90min);
  return words;
}
ROW("timer: a moved-from one is used again") {
  asio::io_context context;
  steady_timer timer(context, 1h);
  steady_timer moved(std::move(timer));
  trace words;
  timer.expires_after(1ms);
  timer.async_wait(note(words, "a"));
  context.run();
  return words;
}
ROW("timer: the farthest time") {
  asio::io_context context;
  steady_timer timer(context, steady_timer::time_point::max());
  trace words;
  timer.async_wait(note(words, "a"));
  words << context.poll() << timer.cancel() << context.run()
        << (timer.expiry() == steady_timer::time_point::max());
  return words;
}
ROW("timer: the longest duration") {
  asio::io_context context;
  steady_timer timer(context);
  trace words;
  timer.expires_after(steady_timer::duration::max());
  timer.async_wait(note(words, "a"));
  words << context.poll() << timer.cancel() << context.run();
  return words;
}
ROW("timer: a blocking wait") {
  asio::io_context context;
  steady_timer timer(context, 2ms);
  asio::error_code ec = asio::error::eof;
  timer.wait(ec);
  timer.wait();
  return line(ec, clock::now() >= timer.expiry());
}
ROW("timer: a blocking wait for a time that has passed") {
  asio::io_context context;
  steady_timer timer(context, -1h);
  asio::error_code ec = asio::error::eof;
  timer.wait(ec);
  return line(ec);
}
ROW("timer: a wait is started again in its handler") {
  asio::io_context context;
  steady_timer timer(context, 1ms);
  int rounds = 0;
  std::function<void(asio::error_code)> again = [&](asio::error_code) {
    if (++rounds == 3) return;
    timer.expires_at(timer.expiry() + 1ms);
    timer.async_wait(again);
  };
  timer.async_wait(again);
  const std::size_t n = context.run();
  return line(n, rounds);
}
ROW("timer: cancel in its own handler") {
  asio::io_context context;
  steady_timer timer(context, 1ms);
  trace words;
  timer.async_wait([&](asio::error_code ec) { words << ec << timer.cancel(); });
  context.run();
  return words;
}
ROW("timer: of the system's clock") {
  asio::io_context context;
  asio::system_timer timer(context, std::chrono::system_clock::now() + 2ms);
  trace words;
  timer.async_wait(note(words, "a"));
  context.run();
  words << (std::chrono::system_clock::now() >= timer.expiry());
  return words;
}
ROW("timer: the context is the executor's") {
  asio::io_context context;
  auto strand = asio::make_strand(context);
  steady_timer timer(strand);
  return line(timer.get_executor() == asio::any_io_executor(strand),
              timer.get_executor() == asio::any_io_executor(context.get_executor()));
}
ROW("timer: without a handler's executor the handler runs on the timer's strand") {
  asio::io_context context;
  auto strand = asio::make_strand(context);
  steady_timer timer(strand, 1ms);
  trace words;
  timer.async_wait([&](asio::error_code) { words << strand.running_in_this_thread(); });
  context.run();
  return words;
}

}  // namespace semantics::timers
