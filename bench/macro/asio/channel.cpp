// SPDX-License-Identifier: BSL-1.0
//
// Channels with Asio: a send and a receive that are ready, the same receive with a time limit, and
// values from one coroutine to another and back. Asio has no mutex for coroutines, so the mutex is
// a channel of capacity 1, as its users write it. An idle socket waits for data.
#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/channel.hpp>
#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <chrono>
#include <variant>

#include "../common/micro.hpp"

namespace {

using channel = asio::experimental::channel<void(asio::error_code, std::uint64_t)>;

struct scene {
  bench::meter& meter;
  asio::io_context context{1};
  asio::local::stream_protocol::socket idle{context, asio::local::stream_protocol(),
                                            bench::connected_sockets().near};
  char byte = 0;
  std::uint64_t done = 0;

  explicit scene(bench::meter& m) : meter(m) {
    idle.async_read_some(asio::buffer(&byte, 1), [](asio::error_code error, std::size_t) {
      if (!error) bench::fail("the idle socket is not idle");
    });
  }

  void run() {
    meter.start();
    context.run();
    meter.finish(done);
  }
};

asio::awaitable<void> send_and_receive(scene& s, channel& c) {
  while (!s.meter.over(s.done)) {
    co_await c.async_send(asio::error_code(), s.done, asio::use_awaitable);
    const std::uint64_t value = co_await c.async_receive(asio::use_awaitable);
    bench::require(value == s.done, "a wrong value");
    ++s.done;
  }
  s.context.stop();
}

void send_receive(bench::meter& m) {
  scene s(m);
  channel c(s.context, 16);
  asio::co_spawn(s.context, send_and_receive(s, c), asio::detached);
  s.run();
}

asio::awaitable<void> send_and_receive_in_time(scene& s, channel& c) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer(s.context);
  while (!s.meter.over(s.done)) {
    co_await c.async_send(asio::error_code(), s.done, asio::use_awaitable);
    timer.expires_after(std::chrono::seconds(1));
    const auto first =
        co_await (c.async_receive(asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
    bench::require(first.index() == 0 && std::get<0>(first) == s.done, "a wrong value");
    ++s.done;
  }
  s.context.stop();
}

void receive_timeout(bench::meter& m) {
  scene s(m);
  channel c(s.context, 16);
  asio::co_spawn(s.context, send_and_receive_in_time(s, c), asio::detached);
  s.run();
}

asio::awaitable<void> ask(scene& s, channel& there, channel& back) {
  while (!s.meter.over(s.done)) {
    co_await there.async_send(asio::error_code(), s.done, asio::use_awaitable);
    const std::uint64_t value = co_await back.async_receive(asio::use_awaitable);
    bench::require(value == s.done + 1, "a wrong answer");
    ++s.done;
  }
  s.context.stop();
}

asio::awaitable<void> answer(channel& there, channel& back) {
  while (true) {
    const std::uint64_t value = co_await there.async_receive(asio::use_awaitable);
    co_await back.async_send(asio::error_code(), value + 1, asio::use_awaitable);
  }
}

void ping(bench::meter& m) {
  scene s(m);
  channel there(s.context);
  channel back(s.context);
  asio::co_spawn(s.context, answer(there, back), asio::detached);
  asio::co_spawn(s.context, ask(s, there, back), asio::detached);
  s.run();
}

asio::awaitable<void> lock_and_unlock(scene& s, channel& mutex) {
  while (!s.meter.over(s.done)) {
    co_await mutex.async_send(asio::error_code(), 0, asio::use_awaitable);
    ++s.done;
    mutex.try_receive([](asio::error_code, std::uint64_t) {});
  }
  s.context.stop();
}

void mutex(bench::meter& m) {
  scene s(m);
  channel mutex(s.context, 1);
  asio::co_spawn(s.context, lock_and_unlock(s, mutex), asio::detached);
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
