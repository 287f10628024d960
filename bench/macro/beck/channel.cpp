// SPDX-License-Identifier: BSL-1.0
//
// Channels and a mutex with beck: a send and a receive that are ready, the same receive with a time
// limit, values from one coroutine to another and back, and an uncontended lock. An idle socket
// waits for data.
#include <beck/coro/channel.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/mutex.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/net/local.hpp>
#include <chrono>

#include "../common/micro.hpp"
#include "counters.hpp"

namespace {

using channel = beck::channel<std::uint64_t>;

struct scene {
  bench::meter& meter;
  beck::io_context context;
  beck::local::stream_protocol::socket idle{context, beck::local::stream_protocol(),
                                            bench::connected_sockets().near};
  char byte = 0;
  std::uint64_t done = 0;

  explicit scene(bench::meter& m) : meter(m), context(beck_peer::context_options(m.options())) {
    idle.async_read_some(beck::buffer(&byte, 1), [](beck::error_code error, std::size_t) {
      if (!error) bench::fail("the idle socket is not idle");
    });
  }

  void run() {
    const beck_peer::counters counters(context);
    meter.start();
    context.run();
    meter.finish(done);
    counters.report(done, [&](const char* name, double value) { meter.note(name, value); });
  }
};

beck::task<> send_and_receive(scene& s, channel& c) {
  while (!s.meter.over(s.done)) {
    const auto sent = co_await c.async_send(s.done);
    bench::require(!sent.error(), "a send failed");
    const auto [error, value] = co_await c.async_receive();
    bench::require(!error && value == s.done, "a wrong value");
    ++s.done;
  }
  s.context.stop();
}

void send_receive(bench::meter& m) {
  scene s(m);
  channel c(16);
  beck::co_spawn(s.context, send_and_receive(s, c), beck::detached);
  s.run();
}

beck::task<> send_and_receive_in_time(scene& s, channel& c) {
  while (!s.meter.over(s.done)) {
    const auto sent = co_await c.async_send(s.done);
    bench::require(!sent.error(), "a send failed");
    auto in_time = beck::timeout(c.async_receive(), std::chrono::seconds(1));
    const auto [error, value] = co_await std::move(in_time);
    bench::require(!error && value == s.done, "a wrong value");
    ++s.done;
  }
  s.context.stop();
}

void receive_timeout(bench::meter& m) {
  scene s(m);
  channel c(16);
  beck::co_spawn(s.context, send_and_receive_in_time(s, c), beck::detached);
  s.run();
}

beck::task<> ask(scene& s, channel& there, channel& back) {
  while (!s.meter.over(s.done)) {
    const auto sent = co_await there.async_send(s.done);
    bench::require(!sent.error(), "a send failed");
    const auto [error, value] = co_await back.async_receive();
    bench::require(!error && value == s.done + 1, "a wrong answer");
    ++s.done;
  }
  s.context.stop();
}

beck::task<> answer(channel& there, channel& back) {
  while (true) {
    const auto [error, value] = co_await there.async_receive();
    bench::require(!error, "a receive failed");
    const auto sent = co_await back.async_send(value + 1);
    bench::require(!sent.error(), "a send failed");
  }
}

void ping(bench::meter& m) {
  scene s(m);
  channel there(0);
  channel back(0);
  beck::co_spawn(s.context, answer(there, back), beck::detached);
  beck::co_spawn(s.context, ask(s, there, back), beck::detached);
  s.run();
}

beck::task<> lock_and_unlock(scene& s, beck::mutex& mutex) {
  while (!s.meter.over(s.done)) {
    const auto locked = co_await mutex.lock();
    bench::require(!locked.error(), "a lock failed");
    ++s.done;
    mutex.unlock();
  }
  s.context.stop();
}

void mutex(bench::meter& m) {
  scene s(m);
  beck::mutex mutex;
  beck::co_spawn(s.context, lock_and_unlock(s, mutex), beck::detached);
  s.run();
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "channel",
                          {{"send_receive", send_receive},
                           {"receive_timeout", receive_timeout},
                           {"ping", ping},
                           {"mutex", mutex}});
}
