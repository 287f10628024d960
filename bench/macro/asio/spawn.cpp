// SPDX-License-Identifier: BSL-1.0
//
// Coroutines with Asio: spawning, awaiting one child or two at once, and rescheduling through the
// queue. The cases that run inside one loop have an idle socket that waits for data.
#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>
#include <tuple>

#include "../common/micro.hpp"
#include "spawn_child.hpp"

namespace {

// The number of coroutines spawned before the loop runs again.
constexpr int batch = 100;

asio::awaitable<void> trivial(std::uint64_t& done) {
  ++done;
  co_return;
}

void co_spawn(bench::meter& m) {
  asio::io_context context(1);
  std::uint64_t done = 0;
  std::uint64_t spawned = 0;
  m.start();
  while (!m.over(done)) {
    for (int i = 0; i < batch; ++i) asio::co_spawn(context, trivial(done), asio::detached);
    spawned += batch;
    context.restart();
    context.run();
  }
  m.finish(done);
  bench::require(done == spawned, "a coroutine did not run");
}

struct watched_context {
  asio::io_context context{1};
  asio::local::stream_protocol::socket idle{context, asio::local::stream_protocol(),
                                            bench::connected_sockets().near};
  char byte = 0;

  watched_context() {
    idle.async_read_some(asio::buffer(&byte, 1), [](asio::error_code error, std::size_t) {
      if (!error) bench::fail("the idle socket is not idle");
    });
  }
};

asio::awaitable<void> nested_parent(bench::meter& m, asio::io_context& context,
                                    std::uint64_t& done) {
  while (!m.over(done)) {
    const std::uint64_t next = co_await add_one(done);
    bench::require(next == done + 1, "wrong result");
    done = next;
  }
  context.stop();
}

void nested(bench::meter& m) {
  watched_context w;
  std::uint64_t done = 0;
  asio::co_spawn(w.context, nested_parent(m, w.context, done), asio::detached);
  m.start();
  w.context.run();
  m.finish(done);
}

asio::awaitable<void> both_parent(bench::meter& m, asio::io_context& context, std::uint64_t& done) {
  using namespace asio::experimental::awaitable_operators;
  while (!m.over(done)) {
    const auto [next, after] = co_await (add_one(done) && add_one(done + 1));
    bench::require(next == done + 1 && after == done + 2, "wrong result");
    done = next;
  }
  context.stop();
}

void when_all(bench::meter& m) {
  watched_context w;
  std::uint64_t done = 0;
  asio::co_spawn(w.context, both_parent(m, w.context, done), asio::detached);
  m.start();
  w.context.run();
  m.finish(done);
}

asio::awaitable<void> poster(bench::meter& m, asio::io_context& context, std::uint64_t& done) {
  while (!m.over(done)) {
    co_await asio::post(context, asio::use_awaitable);
    ++done;
  }
  context.stop();
}

void co_post(bench::meter& m) {
  watched_context w;
  std::uint64_t done = 0;
  asio::co_spawn(w.context, poster(m, w.context, done), asio::detached);
  m.start();
  w.context.run();
  m.finish(done);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(
      argc, argv, "spawn",
      {{"co_spawn", co_spawn}, {"nested", nested}, {"when_all", when_all}, {"co_post", co_post}});
}
