// SPDX-License-Identifier: BSL-1.0
// Strands under eight threads: never two at once, in order, nothing lost, one scheduling at a time.
#include <doctest/doctest.h>
#include <array>
#include <atomic>
#include <beck/io/io_context.hpp>
#include <beck/run/strand.hpp>
#include <beck/run/thread_pool.hpp>
#include <deque>
#include <thread>
#include <vector>

#include "support/scale.hpp"

using beck::make_strand;
using beck::post;
using beck::thread_pool;

namespace {

constexpr int threads = 8;

struct guarded {
  // Plain on purpose: only the strand protects them.
  bool inside = false;
  int met = 0;
  long ran = 0;
  std::array<int, threads> last{};
  int out_of_order = 0;

  void enter(int poster, int number) {
    if (std::exchange(inside, true)) ++met;
    ++ran;
    int& before = last[static_cast<std::size_t>(poster)];
    if (number != before + 1) ++out_of_order;
    before = number;
    inside = false;
  }
};

template <class Executor>
void post_from_all_sides(const Executor& executor, guarded& state, int each) {
  auto strand = make_strand(executor);
  std::vector<std::thread> posters;
  for (int p = 0; p < threads; ++p) {
    posters.emplace_back([&, p, strand] {
      for (int i = 1; i <= each; ++i) post(strand, [&state, p, i] { state.enter(p, i); });
    });
  }
  for (std::thread& t : posters) t.join();
}

}  // namespace

TEST_CASE("a strand on a pool of eight threads never runs two at once, and keeps each order") {
  const int each = beck::test::scaled(20'000);
  guarded state;
  {
    thread_pool pool(threads);
    post_from_all_sides(pool.get_executor(), state, each);
    pool.join();
  }
  CHECK(state.ran == long{threads} * each);
  CHECK(state.met == 0);
  CHECK(state.out_of_order == 0);
}

TEST_CASE("a strand on a context gets posts from eight threads in order") {
  const int each = beck::test::scaled(20'000);
  guarded state;
  beck::io_context ctx;
  auto guard = beck::make_work_guard(ctx);
  std::thread io([&] { ctx.run(); });
  post_from_all_sides(ctx.get_executor(), state, each);
  guard.reset();
  io.join();
  CHECK(state.ran == long{threads} * each);
  CHECK(state.met == 0);
  CHECK(state.out_of_order == 0);
}

TEST_CASE("strands on a strand on a pool keep apart what is theirs, and together what is above") {
  const int each = beck::test::scaled(5'000);
  guarded whole;
  thread_pool pool(threads);
  auto outer = make_strand(pool);
  {
    std::deque<guarded> parts(2);
    std::vector<std::thread> posters;
    for (int p = 0; p < 2; ++p) {
      auto inner = make_strand(outer);
      posters.emplace_back([&, p, inner] {
        for (int i = 1; i <= each; ++i) {
          post(inner, [&, p, i] {
            whole.enter(p, i);
            parts[static_cast<std::size_t>(p)].enter(p, i);
          });
        }
      });
    }
    for (std::thread& t : posters) t.join();
    pool.join();
    for (const guarded& part : parts) {
      CHECK(part.ran == each);
      CHECK(part.met + part.out_of_order == 0);
    }
  }
  CHECK(whole.ran == 2L * each);
  CHECK(whole.met + whole.out_of_order == 0);
}

TEST_CASE("what a handler posts comes after what was posted before it, from whatever thread") {
  // One poster hands over to a handler, which posts: the strand must see the first post first.
  thread_pool pool(2);
  auto strand = make_strand(pool);
  std::atomic<int> turn{0};
  int out_of_order = 0;
  int expected = 0;
  const int rounds = beck::test::scaled(20'000);
  struct handler {
    decltype(strand)& on;
    std::atomic<int>& turn;
    int& expected;
    int& out_of_order;
    int rounds;
    int round = 0;
    void operator()() {
      turn.store(2 * round + 1, std::memory_order_release);  // the poster may
      while (turn.load(std::memory_order_acquire) != 2 * round + 2) std::this_thread::yield();
      post(on, [this, r = round] {  // behind the poster's
        if (expected != 2 * r + 1) ++out_of_order;
        ++expected;
      });
      if (++round < rounds) post(on, [this] { (*this)(); });
    }
  } loop{strand, turn, expected, out_of_order, rounds};
  std::thread poster([&] {
    for (int r = 0; r < rounds; ++r) {
      while (turn.load(std::memory_order_acquire) != 2 * r + 1) std::this_thread::yield();
      post(strand, [&, r] {
        if (expected != 2 * r) ++out_of_order;
        ++expected;
      });
      turn.store(2 * r + 2, std::memory_order_release);
    }
  });
  post(strand, [&] { loop(); });
  poster.join();
  pool.join();
  CHECK(out_of_order == 0);
  CHECK(expected == 2 * rounds);
}

TEST_CASE("strands that die with a pool under fire destroy what they have") {
  std::atomic<int> alive{0};
  struct life {
    explicit life(std::atomic<int>& c) : count(&c) { ++*count; }
    life(const life& o) : count(o.count) { ++*count; }
    life& operator=(const life&) = delete;
    ~life() { --*count; }
    std::atomic<int>* count;
  };
  for (int round = 0; round < beck::test::scaled(200); ++round) {
    thread_pool pool(4);
    auto strand = make_strand(pool);
    for (int i = 0; i < 500; ++i) {
      post(strand, [strand, held = life(alive)] { post(strand, [held] {}); });
    }
    pool.stop();
  }
  CHECK(alive == 0);
}
