// SPDX-License-Identifier: BSL-1.0
// Several contexts on threads of their own: handing round, draining, ending. On the simulator there
// are no threads.
#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_pool.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>
#include <memory>
#include <ostream>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/connections.hpp"
#include "support/context_options.hpp"

using beck::buffer;
using beck::io_context;
using beck::io_pool;
using beck::post;
using beck::task;
using beck::ip::tcp;
using beck::test::kernel;

using stream = beck::local::stream_protocol::socket;

namespace {

task<> echo(tcp::socket socket) {
  char data[256];
  for (;;) {
    auto [ec, n] = co_await socket.async_read_some(buffer(data));
    if (ec) co_return;
    auto [wec, m] = co_await beck::async_write(socket, buffer(data, n));
    if (wec) co_return;
  }
}

// Sends `count` messages and reads each back; gives how many were right.
task<int> talk(tcp::socket socket, tcp::endpoint to, int count) {
  int right = 0;
  auto connected = co_await socket.async_connect(to);
  if (!connected) co_return -1;
  for (int i = 0; i < count; ++i) {
    const int sent = i * 7919;
    int back = 0;
    auto [wec, m] = co_await beck::async_write(socket, buffer(&sent, sizeof sent));
    if (wec) co_return -2;
    auto [ec, n] = co_await beck::async_read(socket, buffer(&back, sizeof back));
    if (ec) co_return -3;
    if (back == sent) ++right;
  }
  co_return right;
}

}  // namespace

CONFORMANCE_ON(kernel, "the contexts of a pool run on threads of their own, one for each") {
  io_pool pool(3, context_options());
  CHECK(pool.size() == 3);
  std::thread::id ran_on[3];
  for (std::size_t i = 0; i < 3; ++i) {
    post(pool.at(i), [&, i] { ran_on[i] = std::this_thread::get_id(); });
    post(pool.at(i), [&, i] { CHECK(pool.at(i).get_executor().running_in_this_thread()); });
  }
  pool.join();
  std::set<std::thread::id> different(ran_on, ran_on + 3);
  CHECK(different.size() == 3);
  CHECK(different.count(std::this_thread::get_id()) == 0);
  CHECK(different.count(std::thread::id()) == 0);
}

CONFORMANCE_ON(kernel, "a pool hands its contexts round") {
  io_pool pool(2, context_options());
  io_context& first = pool.next();
  io_context& second = pool.next();
  CHECK(&first != &second);
  CHECK(&pool.next() == &first);
  CHECK(pool.get_executor() == second.get_executor());
  CHECK(&first == &pool.at(0));
}

CONFORMANCE_ON(kernel, "join waits for work that wanders from context to context") {
  io_pool pool(3, context_options());
  std::atomic<int> left{3000};
  struct wanderer {
    io_pool& pool;
    std::atomic<int>& left;
    void operator()() const {
      if (--left > 0) post(pool, wanderer(*this));
    }
  };
  post(pool, wanderer{pool, left});
  pool.join();
  CHECK(left == 0);
}

CONFORMANCE_ON(kernel, "join waits for a context that waits for another one's answer") {
  io_pool pool(2, context_options());
  int answers = 0;
  beck::co_spawn(
      pool.at(0),
      [&]() -> task<> {
        for (int i = 0; i < 50; ++i) {
          beck::steady_timer timer(pool.at(0), beck::duration(20'000));
          beck::ignore(co_await timer.async_wait());
          co_await post(pool.at(1));
          ++answers;
        }
      },
      beck::detached);
  pool.join();
  CHECK(answers == 50);
}

CONFORMANCE_ON(kernel, "join of a pool without work returns, again and again") {
  for (int i = 0; i < 50; ++i) {
    io_pool pool(2, context_options());
    pool.join();
    pool.join();
  }
  io_pool stopped(2, context_options());
  stopped.stop();
  stopped.join();
}

CONFORMANCE_ON(kernel, "a work guard on one context keeps a pool from ending") {
  io_pool pool(2, context_options());
  auto guard = beck::make_work_guard(pool.at(1));
  std::atomic<bool> late{false};
  std::thread other([&, guard = std::move(guard)]() mutable {
    post(pool.at(0), [&, guard = std::move(guard)]() mutable {
      post(pool.at(1), [&] { late = true; });
      guard.reset();
    });
  });
  pool.join();
  CHECK(late);
  other.join();
}

CONFORMANCE_ON(kernel, "an echo server on two contexts whose sockets are handed round") {
  io_pool pool(2, context_options());
  tcp::acceptor acceptor(pool.at(0), beck::test::loopback_v4());
  const tcp::endpoint address = acceptor.local_endpoint();
  constexpr int clients = 8;
  std::atomic<int> sessions[2] = {0, 0};
  beck::co_spawn(
      pool.at(0),
      [&]() -> task<> {
        for (int i = 0; i < clients; ++i) {
          io_context& home = pool.at(static_cast<std::size_t>(i) % 2);
          tcp::socket accepted(home);
          auto result = co_await acceptor.async_accept(accepted);
          if (!result) co_return;
          ++sessions[i % 2];
          beck::co_spawn(home, echo(std::move(accepted)), beck::detached);
        }
      },
      beck::detached);
  std::atomic<int> right{0};
  for (int i = 0; i < clients; ++i) {
    io_context& home = pool.next();
    beck::co_spawn(home, talk(tcp::socket(home), address, 50),
                   [&](std::exception_ptr, int r) { right += r; });
  }
  pool.join();
  CHECK(right == clients * 50);
  CHECK(sessions[0] == clients / 2);
  CHECK(sessions[1] == clients / 2);
}

CONFORMANCE_ON(kernel, "an echo server whose two contexts listen on one port") {
  io_pool pool(2, context_options());
  tcp::endpoint address = beck::test::loopback_v4();
  std::vector<tcp::acceptor> acceptors;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    tcp::acceptor& one = acceptors.emplace_back(pool.at(i));
    one.open(tcp::v4());
    one.set_option(tcp::acceptor::reuse_port(true));
    one.bind(address);
    one.listen();
    address = one.local_endpoint();
  }
  constexpr int clients = 8;
  std::atomic<int> served{0};
  std::atomic<int> right{0};
  for (tcp::acceptor& one : acceptors) {
    beck::co_spawn(
        one.get_executor(),
        [&]() -> task<> {
          for (;;) {
            auto accepted = co_await one.async_accept();
            if (!accepted) co_return;
            ++served;
            beck::co_spawn(one.get_executor(), echo(std::move(accepted).value()), beck::detached);
          }
        },
        beck::detached);
  }
  std::atomic<int> talking{clients};
  for (int i = 0; i < clients; ++i) {
    io_context& home = pool.next();
    beck::co_spawn(home, talk(tcp::socket(home), address, 20), [&](std::exception_ptr, int r) {
      right += r;
      if (--talking != 0) return;
      for (tcp::acceptor& one : acceptors) post(one.get_executor(), [&one] { one.close(); });
    });
  }
  pool.join();
  CHECK(right == clients * 20);
  CHECK(served == clients);
}

CONFORMANCE_ON(kernel, "a pool that ends destroys handlers that hold objects of other contexts") {
  auto life = std::make_shared<int>(0);
  {
    io_pool pool(3, context_options());
    for (std::size_t i = 0; i < 30; ++i) {
      io_context& here = pool.at(i % 3);
      io_context& there = pool.at((i + 1) % 3);
      auto a = std::make_shared<stream>(there);
      auto b = std::make_shared<stream>(there);
      connect_pair(*a, *b);
      beck::co_spawn(
          there,
          [life, a, b]() -> task<> {
            char byte = 0;
            static_cast<void>(co_await a->async_read_some(buffer(&byte, 1)));
          },
          beck::detached);
      auto timer = std::make_shared<beck::steady_timer>(here, beck::duration(3'600'000'000'000));
      timer->async_wait([life, a, b, timer](beck::error_code) { FAIL("an hour has passed"); });
    }
    if (life.use_count() < 0) pool.join();
  }
  CHECK(life.use_count() == 1);
}

CONFORMANCE_ON(kernel,
               "an exception of a pool's handler goes to its taker, and the context goes on") {
  io_pool pool(2, context_options());
  std::atomic<int> taken{0};
  pool.on_unhandled(
      [](std::exception_ptr, void* count) { ++*static_cast<std::atomic<int>*>(count); }, &taken);
  int ran = 0;
  post(pool.at(0), [] { throw std::runtime_error("a handler"); });
  post(pool.at(0), [&] { ++ran; });
  pool.join();
  CHECK(taken == 1);
  CHECK(ran == 1);
}

CONFORMANCE("a pool without contexts, or of simulated ones, is refused") {
  CHECK_THROWS_AS(io_pool(0, context_options()), std::invalid_argument);
  if (where == beck::backend::sim) {
    CHECK_THROWS_AS(io_pool(2, context_options()), std::invalid_argument);
  }
}
