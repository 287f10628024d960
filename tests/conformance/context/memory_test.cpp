// SPDX-License-Identifier: BSL-1.0
//
// Where operations keep what they need: nothing is allocated for a message in steady state, a
// callback's memory is free again before it is called, starting reports a lack of memory with
// nothing half-done, completing never allocates (K9).
#include <array>
#include <beck/io/read_until.hpp>
#include <beck/io/read_write.hpp>
#include <beck/run/bind.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/sanitizers.hpp"
#include "support/allocations.hpp"
#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/handlers.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::test::allocation_fault;
using beck::test::allocations;
using beck::test::allocator_counts;
using beck::test::counting_allocator;
using beck::test::handler_life;
using beck::test::kernel;
using beck::test::large_tracked;
using beck::test::note;
using beck::test::outcome;
using beck::test::stream_pair;
using beck::test::stream_socket;

namespace {

constexpr int warm_up = 300, rounds = 1000;

// What was asked for between two marks, by the loop's thread.
class allocation_meter {
 public:
  // The first call begins, each later one sets the end.
  void mark() {
    const auto now = allocations() + beck::detail::block_misses();
    if (!began_) begin_ = now;
    began_ = true;
    end_ = now;
  }
  std::uint64_t between() const { return end_ - begin_; }

 private:
  bool began_ = false;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

// One side of an exchange with callbacks: writes, reads, `left` times.
struct callback_side {
  stream_socket& socket;
  bool first;
  int left = warm_up + rounds;
  allocation_meter* meter = nullptr;
  std::array<char, 64> space{};

  void write() {
    beck::async_write(socket, beck::buffer(space), [this](beck::error_code ec, std::size_t) {
      CHECK_FALSE(ec);
      if (first) {
        read();
      } else if (--left > 0) {
        read();
      }
    });
  }
  void read() {
    beck::async_read(socket, beck::buffer(space), [this](beck::error_code ec, std::size_t) {
      CHECK_FALSE(ec);
      if (!first) return write();
      if (meter != nullptr && left <= rounds) meter->mark();
      if (--left > 0) write();
    });
  }
};

// One place for one object: a chain of operations in it never needs a second one.
class single_slot {
 public:
  void* take(std::size_t bytes) {
    if (taken_ || bytes > sizeof memory_) throw std::bad_alloc();
    taken_ = true;
    return memory_;
  }
  void give() { taken_ = false; }

 private:
  alignas(std::max_align_t) unsigned char memory_[1024];
  bool taken_ = false;
};

template <class T>
struct slot_allocator {
  using value_type = T;
  explicit slot_allocator(single_slot& s) : slot(&s) {}
  template <class U>
  slot_allocator(const slot_allocator<U>& other) : slot(other.slot) {}
  T* allocate(std::size_t n) { return static_cast<T*>(slot->take(n * sizeof(T))); }
  void deallocate(T*, std::size_t) { slot->give(); }
  template <class U>
  bool operator==(const slot_allocator<U>& other) const {
    return slot == other.slot;
  }

  single_slot* slot;
};

// Reads byte after byte.
struct slot_chain {
  using allocator_type = slot_allocator<char>;
  allocator_type get_allocator() const noexcept { return allocator_type(slot); }
  void operator()(beck::error_code ec, std::size_t n) const {
    read += static_cast<int>(n);
    if (!ec) socket.async_read_some(beck::buffer(space, 1), *this);
  }

  single_slot& slot;
  stream_socket& socket;
  char* space;
  int& read;
};

}  // namespace

// The simulated network allocates for each message that travels; so these are the kernel's.
CONFORMANCE_ON(kernel, "callbacks that exchange messages allocate nothing in steady state") {
  if (beck::detail::address_sanitizer) SKIP_CASE("blocks are not recycled under AddressSanitizer");
  if (!beck::test::counts_allocations()) SKIP_CASE("a sanitizer brings its own operator new");
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  allocation_meter meter;
  callback_side asking{pair.a, true}, answering{pair.b, false};
  asking.meter = &meter;
  answering.read();
  asking.write();
  ctx.run();
  CHECK(asking.left == 0);
  CHECK(meter.between() == 0);
}

CONFORMANCE_ON(kernel, "coroutines that exchange messages allocate nothing in steady state") {
  if (beck::detail::address_sanitizer) SKIP_CASE("blocks are not recycled under AddressSanitizer");
  if (!beck::test::counts_allocations()) SKIP_CASE("a sanitizer brings its own operator new");
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  allocation_meter meter;
  auto once = [](stream_socket& socket, char* data, bool first) -> beck::task<bool> {
    if (first) beck::ignore(co_await beck::async_write(socket, beck::buffer(data, 64)));
    const auto got = co_await beck::async_read(socket, beck::buffer(data, 64));
    if (!first) beck::ignore(co_await beck::async_write(socket, beck::buffer(data, 64)));
    co_return !got.error();
  };
  int exchanged = 0;
  auto side = [&](stream_socket& socket, bool first) -> beck::task<> {
    std::array<char, 64> space{};
    for (int i = 0; i < warm_up + rounds; ++i) {
      const bool done = co_await once(socket, space.data(), first);  // a frame for each round
      exchanged += done ? 1 : 0;
      if (first && i >= warm_up) meter.mark();
    }
  };
  beck::co_spawn(ctx, side(pair.a, true), beck::detached);
  beck::co_spawn(ctx, side(pair.b, false), beck::detached);
  ctx.run();
  CHECK(exchanged == 2 * (warm_up + rounds));
  CHECK(meter.between() == 0);
}

CONFORMANCE("posts, timers and spawned tasks allocate nothing in steady state") {
  if (beck::detail::address_sanitizer) SKIP_CASE("blocks are not recycled under AddressSanitizer");
  if (!beck::test::counts_allocations()) SKIP_CASE("a sanitizer brings its own operator new");
  beck::io_context ctx(context_options());
  allocation_meter meter;
  int left = warm_up + rounds, posted = 0, spawned = 0;
  beck::steady_timer timer(ctx);
  struct step {
    beck::io_context& ctx;
    beck::steady_timer& timer;
    allocation_meter& meter;
    int &left, &posted, &spawned;
    static beck::task<> child(int& count) {
      ++count;
      co_return;
    }
    void operator()(beck::error_code) const {
      if (left <= rounds) meter.mark();
      if (--left == 0) return;
      beck::post(ctx, [&count = posted] { ++count; });
      beck::co_spawn(ctx, child(spawned), beck::detached);
      timer.expires_after(left % 2 == 0 ? 0ns : 1us);
      timer.async_wait(*this);
    }
  };
  timer.async_wait(step{ctx, timer, meter, left, posted, spawned});
  ctx.run();
  CHECK(left == 0);
  CHECK(posted == warm_up + rounds - 1);
  CHECK(spawned == posted);
  CHECK(meter.between() == 0);
}

CONFORMANCE("a callback's memory comes from its allocator and is free before it is called") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  allocator_counts counts;
  const counting_allocator<> allocator(counts);
  int ran = 0;
  char space[4];
  std::string text;
  const auto check = [&](beck::error_code ec, std::size_t = 0) {
    CHECK_FALSE(ec);
    CHECK(counts.live == 0);
    ++ran;
  };
  beck::steady_timer timer(ctx, 1us);
  const auto run = [&] {
    CHECK(counts.live == 1);
    ctx.run();
    ctx.restart();
  };
  beck::async_write(pair.a, beck::buffer("1234\n", 5), beck::bind_allocator(allocator, check));
  run();
  beck::async_read(pair.b, beck::buffer(space), beck::bind_allocator(allocator, check));
  run();
  beck::async_read_until(pair.b, beck::dynamic_buffer(text), '\n',
                         beck::bind_allocator(allocator, check));
  run();
  pair.b.async_wait(stream_socket::wait_write, beck::bind_allocator(allocator, check));
  run();
  timer.async_wait(beck::bind_allocator(allocator, check));
  run();
  beck::post(ctx, beck::bind_allocator(allocator, [&] { check({}); }));
  run();
  CHECK(ran == 6);
  CHECK(counts.allocations == 6);
}

CONFORMANCE("an operation that a callback starts finds the memory of the one that it completes") {
  single_slot slot;
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  char space[1];
  int read = 0;
  pair.a.async_read_some(beck::buffer(space), slot_chain{slot, pair.a, space, read});
  beck::async_write(pair.b, beck::buffer("0123456789", 10),
                    [&](beck::error_code, std::size_t) { pair.b.close(); });
  ctx.run();
  CHECK(read == 10);
}

CONFORMANCE("an operation that cannot be started for lack of memory leaves nothing behind") {
  if (!beck::test::counts_allocations()) SKIP_CASE("a sanitizer brings its own operator new");
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::steady_timer timer(ctx, 1us);
  char space[1];
  handler_life life;
  const auto noted = [](beck::error_code, std::size_t = 0) {};
  const auto refused = [&](auto start) {
    const allocation_fault fault(1);
    CHECK_THROWS_AS(start(), std::bad_alloc);
    CHECK(fault.fired());
    CHECK(life.live == 0);
  };
  refused([&] { pair.a.async_read_some(beck::buffer(space), large_tracked(life, noted)); });
  refused([&] { beck::async_write(pair.a, beck::buffer(space), large_tracked(life, noted)); });
  refused([&] { timer.async_wait(large_tracked(life, noted)); });
  refused([&] { beck::post(ctx, large_tracked(life, [] {})); });
  CHECK(ctx.run() == 0);  // nothing was started, and nothing is waited for
  CHECK(life.calls == 0);
  ctx.restart();
  outcome read;  // and the objects work as before
  beck::async_write(pair.b, beck::buffer("x", 1), beck::detached);
  pair.a.async_read_some(beck::buffer(space), note(read));
  ctx.run();
  CHECK(read.ok());
  CHECK(space[0] == 'x');
}

CONFORMANCE_ON(kernel, "completing allocates nothing, whatever has been started") {
  if (!beck::test::counts_allocations()) SKIP_CASE("a sanitizer brings its own operator new");
  beck::io_context ctx(context_options());
  stream_pair reads(ctx), writes(ctx), lines(ctx), idle(ctx);
  beck::steady_timer timer(ctx, 1ms);
  std::array<char, 64> space{};
  const std::string large = beck::test::pattern(1 << 20);
  std::string received(large.size(), '\0'), text;
  text.reserve(4096);
  outcome outcomes[6];
  beck::async_read(reads.a, beck::buffer(space, 4), note(outcomes[0]));
  beck::async_write(writes.a, beck::buffer(large), note(outcomes[1]));
  beck::async_read(writes.b, beck::buffer(received), note(outcomes[2]));
  beck::async_read_until(lines.a, beck::dynamic_buffer(text), '\n', note(outcomes[3]));
  timer.async_wait(note(outcomes[4]));
  idle.a.async_read_some(beck::buffer(space, 1), note(outcomes[5]));
  beck::write(reads.b, beck::buffer("1234", 4));
  beck::write(lines.b, beck::buffer("a line\n", 7));
  ctx.poll();  // the loop's own tables have their size now
  idle.a.cancel();
  const auto before = allocations();
  ctx.run();
  CHECK(allocations() == before);
  for (int i = 0; i < 5; ++i) CHECK(outcomes[i].ok());
  CHECK(outcomes[5].aborted());
  CHECK(received == large);
}

CONFORMANCE("a handler is moved and never copied, called once and destroyed once") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  char space[1];
  handler_life life;
  int owned = 0;
  const auto tracked = [&](int n) {
    return beck::test::tracked(
        life, [&owned, held = std::make_unique<int>(n)](auto&&...) { owned += *held; });
  };
  beck::steady_timer timer(ctx, 1us);
  pair.a.async_read_some(beck::buffer(space), tracked(1));
  beck::async_write(pair.b, beck::buffer("x", 1), tracked(10));
  timer.async_wait(tracked(100));
  beck::post(ctx, tracked(1000));
  CHECK(life.live == 4);
  ctx.run();
  CHECK(owned == 1111);
  CHECK(life.calls == 4);
  CHECK(life.live == 0);
}
