// SPDX-License-Identifier: BSL-1.0
// channel: order, bounds by items and by bytes, meeting without a buffer, closing, cancelling,
// values that can only be moved or that throw, and memory.
#include <doctest/doctest.h>
#include <algorithm>
#include <beck/coro/channel.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/run/bind.hpp>
#include <chrono>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/allocations.hpp"
#include "support/report.hpp"
#include "support/scale.hpp"
#include "support/settle.hpp"
#include "support/small_random.hpp"

using namespace std::chrono_literals;
using beck::channel;
using beck::error::channel_closed;
using beck::error::operation_aborted;
using beck::test::let_settle;
using beck::test::note;
using beck::test::outcome;
using beck::test::run_next;

namespace {

// Sends numbers one after the other; notes the errors.
beck::task<> send_all(channel<int>& to, int first, int last, std::vector<beck::error_code>& ends) {
  for (int i = first; i <= last; ++i) {
    const auto r = co_await to.async_send(i);
    ends.push_back(r.error());
  }
}
beck::task<> receive_all(channel<int>& from, std::vector<int>& received, beck::error_code& end) {
  while (true) {
    const auto [ec, value] = co_await from.async_receive();
    end = ec;
    if (ec) co_return;
    received.push_back(value);
  }
}

std::vector<int> numbers(int first, int last) {
  std::vector<int> all;
  for (int i = first; i <= last; ++i) all.push_back(i);
  return all;
}

}  // namespace

TEST_CASE("values arrive in order, with any capacity") {
  for (const std::size_t capacity : {0u, 1u, 2u, 7u, 1000u}) {
    beck::io_context context;
    channel<int> numbers_sent(capacity);
    std::vector<beck::error_code> ends;
    std::vector<int> received;
    beck::error_code end;
    beck::co_spawn(context, send_all(numbers_sent, 1, 300, ends), beck::detached);
    beck::co_spawn(context, receive_all(numbers_sent, received, end), beck::detached);
    let_settle(context);
    CHECK(received == numbers(1, 300));
    CHECK(ends == std::vector<beck::error_code>(300));
    numbers_sent.close();
    let_settle(context);
    CHECK(end == channel_closed);
  }
}

TEST_CASE("a full channel makes senders wait; without a buffer they wait for their receiver") {
  for (const std::size_t capacity : {0u, 3u}) {
    beck::io_context context;
    channel<int> c(capacity);
    CHECK(c.capacity() == capacity);
    std::vector<beck::error_code> ends;
    beck::co_spawn(context, send_all(c, 1, 5, ends), beck::detached);
    let_settle(context);
    CHECK(ends.size() == capacity);
    CHECK(c.size() == capacity);
    CHECK_FALSE(c.try_send(9));
    for (int i = 1; i <= 5; ++i) {
      auto r = c.try_receive();
      CHECK_FALSE(r.error());
      CHECK(*r == i);
      let_settle(context);
      CHECK(ends.size() == std::min<std::size_t>(5, capacity + static_cast<std::size_t>(i)));
    }
    CHECK(c.try_receive().error() == beck::error::would_block);
  }
}

TEST_CASE("several producers and consumers share a channel, and each value arrives once") {
  beck::io_context context;
  channel<int> c(4);
  std::vector<beck::error_code> ends;
  std::vector<int> received[3];
  beck::error_code end[3];
  for (int i = 0; i < 3; ++i) {
    beck::co_spawn(context, receive_all(c, received[i], end[i]), beck::detached);
    beck::co_spawn(context, send_all(c, 100 * i + 1, 100 * i + 100, ends), beck::detached);
  }
  let_settle(context);
  c.close();
  let_settle(context);
  std::vector<int> all;
  for (const auto& part : received) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  CHECK(all == numbers(1, 300));
}

TEST_CASE("receivers are served in the order in which they came, never inside try_send") {
  beck::io_context context;
  channel<int> c(0);
  std::vector<std::pair<int, int>> received;
  const auto receive = [&](int name) -> beck::task<> {
    const auto [ec, value] = co_await c.async_receive();
    CHECK_FALSE(ec);
    received.emplace_back(name, value);
  };
  for (int i = 0; i < 3; ++i) beck::co_spawn(context, receive(i), beck::detached);
  let_settle(context);
  CHECK(c.try_send(10));
  CHECK(c.try_send_via_dispatch(11));
  c.async_send(12, beck::bind_executor(context, [](beck::error_code ec) { CHECK_FALSE(ec); }));
  CHECK(received.empty());
  CHECK_FALSE(c.try_send(13));
  let_settle(context);
  CHECK(received == std::vector<std::pair<int, int>>{{0, 10}, {1, 11}, {2, 12}});
}

TEST_CASE("after close what is in the channel is still received, then everybody hears of it") {
  beck::io_context context;
  channel<int> c(2);
  std::vector<beck::error_code> ends;
  beck::co_spawn(context, send_all(c, 1, 3, ends), beck::detached);
  let_settle(context);
  CHECK(c.is_open());
  c.close();
  c.close();
  CHECK_FALSE(c.is_open());
  CHECK(ends.size() == 2);
  let_settle(context);
  REQUIRE(ends.size() == 3);
  CHECK(ends[2] == channel_closed);
  CHECK_FALSE(c.try_send(4));
  run_next(context, [&]() -> beck::task<> {
    const auto refused = co_await c.async_send(5);
    CHECK(refused.error() == channel_closed);
    for (int i = 1; i <= 2; ++i) {
      const auto r = co_await c.async_receive();
      CHECK_FALSE(r.error());
      CHECK(*r == i);
    }
    const auto r = co_await c.async_receive();
    CHECK(r.error() == channel_closed);
  });
  CHECK(c.try_receive().error() == channel_closed);
  int calls = 0;
  CHECK(c.try_receive([&](beck::error_code ec, int) {
    CHECK(ec == channel_closed);
    ++calls;
  }));
  CHECK(calls == 1);
}

TEST_CASE("cancel ends all who wait, and the channel goes on with what it has") {
  beck::io_context context;
  channel<int> c(1);
  outcome receiving[2];
  for (outcome& one : receiving) {
    c.async_receive(beck::bind_executor(context, [&](beck::error_code ec, int) {
      const note noting(one);
      noting(ec);
    }));
  }
  c.cancel();
  let_settle(context);
  for (outcome& one : receiving) CHECK(one.aborted());
  CHECK(c.try_send(1));
  outcome sending;
  c.async_send(2, beck::bind_executor(context, note(sending)));
  c.cancel();
  let_settle(context);
  CHECK(sending.aborted());
  CHECK(c.is_open());
  auto r = c.try_receive();
  CHECK(*r == 1);
  CHECK(c.try_receive().error() == beck::error::would_block);
  c.cancel();
}

TEST_CASE("a cancelled send was not sent, and those behind it keep their order") {
  beck::io_context context;
  channel<int> c(0);
  beck::stop_source source;
  std::vector<beck::error_code> ends;
  beck::co_spawn(context, send_all(c, 1, 1, ends), beck::detached);
  beck::co_spawn(
      context,
      [&]() -> beck::task<> {
        const auto r = co_await beck::with_stop(source.get_token(), c.async_send(2));
        CHECK(r.error() == operation_aborted);
      },
      beck::detached);
  beck::co_spawn(context, send_all(c, 3, 3, ends), beck::detached);
  let_settle(context);
  source.request_stop();
  let_settle(context);
  for (const int expected : {1, 3}) {
    auto r = c.try_receive();
    CHECK(*r == expected);
  }
  CHECK(c.try_receive().error() == beck::error::would_block);
  let_settle(context);
  CHECK(ends == std::vector<beck::error_code>(2));
}

TEST_CASE("sends and receives end with their time limits") {
  beck::io_context context;
  channel<int> c(1);
  run_next(context, [&]() -> beck::task<> {
    const auto received = co_await beck::timeout(c.async_receive(), 1ms);
    CHECK(received.error() == beck::error::timeout);
    beck::ignore(co_await c.async_send(1));
    const auto sent = co_await beck::timeout(c.async_send(2), 1ms);
    CHECK(sent.error() == beck::error::timeout);
    CHECK(c.size() == 1);
  });
}

TEST_CASE("a failed try_send leaves its arguments alone") {
  channel<std::unique_ptr<int>> c(1);
  auto value = std::make_unique<int>(7);
  CHECK(c.try_send(std::make_unique<int>(1)));
  CHECK_FALSE(c.try_send(std::move(value)));
  REQUIRE(value);
  beck::ignore(c.try_receive());
  CHECK(c.try_send(std::move(value)));
  CHECK_FALSE(value);
  auto r = c.try_receive();
  CHECK(**r == 7);
  c.close();
  value = std::make_unique<int>(8);
  CHECK_FALSE(c.try_send(std::move(value)));
  CHECK(value);
}

TEST_CASE("values that can only be moved, pairs of values and no value travel too") {
  beck::io_context context;
  channel<std::unique_ptr<int>> owners(0);
  channel<int, std::string> pairs(0);
  channel<> signals(0);
  int received = 0;
  beck::co_spawn(
      context,
      [&]() -> beck::task<> {
        auto owner = co_await owners.async_receive();
        received += **owner;
        auto pair = co_await pairs.async_receive();
        received += static_cast<int>(std::move(pair).value().second.size());
        const auto signal = co_await signals.async_receive();
        if (signal) ++received;
      },
      beck::detached);
  run_next(context, [&]() -> beck::task<> {
    beck::ignore(co_await owners.async_send(std::make_unique<int>(100)));
    beck::ignore(co_await pairs.async_send(1, "four"));
    beck::ignore(co_await signals.async_send());
  });
  CHECK(received == 105);
}

TEST_CASE("try_receive gives what is there to a handler, inside the call") {
  channel<std::string> c(1);
  const auto never = [](beck::error_code, const std::string&) { FAIL("nothing is there"); };
  CHECK_FALSE(c.try_receive(never));
  CHECK(c.try_send("a text that is too long for its own buffer"));
  std::string received;
  CHECK(c.try_receive([&](beck::error_code ec, std::string text) {
    CHECK_FALSE(ec);
    received = std::move(text);
    CHECK(c.try_send("again"));  // the channel is free inside
  }));
  CHECK(received == "a text that is too long for its own buffer");
  CHECK(c.size() == 1);
}

TEST_CASE("an unbounded channel takes as many as its cap says, and grows meanwhile") {
  channel<int> c(beck::unbounded, 1000);
  for (int i = 0; i < 1000; ++i) CHECK(c.try_send(i));
  CHECK_FALSE(c.try_send(1000));
  for (int i = 0; i < 1000; ++i) {
    auto r = c.try_receive();
    CHECK(*r == i);
  }
}

TEST_CASE("a byte cap counts sizes, lets a large value pass alone and keeps the order") {
  beck::io_context context;
  channel<std::string> c(beck::unbounded, 10, [](const std::string& text) { return text.size(); });
  CHECK(c.try_send("four"));
  CHECK(c.try_send("sixsix"));
  CHECK_FALSE(c.try_send("x"));
  CHECK(c.try_send(""));
  std::vector<std::string> received;
  beck::stop_source source;
  const auto send = [&](std::string text) -> beck::task<> {
    beck::ignore(co_await beck::with_stop(source.get_token(), c.async_send(std::move(text))));
  };
  const auto receive = [&] {
    auto r = c.try_receive();
    if (!r.error()) received.push_back(*r);
    let_settle(context);
  };
  const std::string large(50, 'L');
  beck::co_spawn(context, send(large), beck::detached);
  beck::co_spawn(context, send("b"), beck::detached);
  beck::co_spawn(context, send("c"), beck::detached);
  let_settle(context);
  CHECK_FALSE(c.try_send(""));  // others wait
  for (int i = 0; i < 6; ++i) receive();
  CHECK(received == std::vector<std::string>{"four", "sixsix", "", large, "b", "c"});
  CHECK(c.try_send("nineninen"));
  beck::co_spawn(context, send(large), beck::detached);
  let_settle(context);
  outcome small;
  c.async_send("s", beck::bind_executor(context, note(small)));
  let_settle(context);
  CHECK(small.calls == 0);
  source.request_stop();  // behind the large one there is room
  let_settle(context);
  CHECK(small.ok());
}

TEST_CASE("a ready channel needs no memory, and no memory is an exception that sends nothing") {
  NEEDS_ALLOCATION_FAULTS();
  beck::io_context context;
  channel<int> bounded(8);
  run_next(context, [&]() -> beck::task<> {
    const auto before = beck::test::allocations();
    for (int i = 0; i < 50; ++i) {
      beck::ignore(co_await bounded.async_send(i));
      const auto r = co_await bounded.async_receive();
      CHECK(*r == i);
    }
    CHECK(beck::test::allocations() == before);
    channel<int> growing(beck::unbounded, 100);
    bool refused = false;
    {
      const beck::test::allocation_fault fault(1);
      try {
        beck::ignore(co_await growing.async_send(1));
      } catch (const std::bad_alloc&) {
        refused = true;
      }
    }
    CHECK(refused);
    CHECK(growing.size() == 0);
    const auto sent = co_await growing.async_send(2);
    CHECK_FALSE(sent.error());
    const auto r = co_await growing.async_receive();
    CHECK(*r == 2);
  });
}

TEST_CASE("without memory to take over values of waiting senders, receivers take them directly") {
  NEEDS_ALLOCATION_FAULTS();
  beck::io_context context;
  channel<std::string> c(beck::unbounded, 4, [](const std::string& text) { return text.size(); });
  CHECK(c.try_send("four"));
  int sent = 0;
  const auto send = [&](std::string text) -> beck::task<> {
    const auto r = co_await c.async_send(std::move(text));
    if (r) ++sent;
  };
  std::string received;
  for (int i = 0; i < 15; ++i) beck::co_spawn(context, send(""), beck::detached);
  for (const char* text : {"a", "b", "c", "d", "e"}) {
    beck::co_spawn(context, send(text), beck::detached);
  }
  let_settle(context);
  {
    const beck::test::allocation_fault fault(1);
    received += *c.try_receive();
    CHECK(fault.fired());
  }
  for (int i = 0; i < 20; ++i) {
    auto r = c.try_receive();
    CHECK_FALSE(r.error());
    received += *r;
  }
  let_settle(context);
  CHECK(received == "fourabcde");
  CHECK(sent == 20);
}

namespace {

// Its copies throw; its moves do not.
struct brittle {
  brittle() = default;
  explicit brittle(int n) : number(n) {}
  brittle(const brittle& other) : number(other.number) { throw std::runtime_error("copied"); }
  brittle(brittle&&) noexcept = default;
  int number = 0;
};

}  // namespace

TEST_CASE("a value whose copy throws is not sent, and nobody loses a place") {
  beck::io_context context;
  channel<brittle> c(1);
  const brittle original(5);
  CHECK_THROWS_AS(c.try_send(original), std::runtime_error);
  CHECK(c.size() == 0);
  int received = 0;
  beck::co_spawn(
      context,
      [&]() -> beck::task<> {
        const auto r = co_await c.async_receive();
        received = r.value_.number;
      },
      beck::detached);
  let_settle(context);
  CHECK_THROWS_AS(c.try_send(original), std::runtime_error);
  CHECK(c.try_send(brittle(6)));
  let_settle(context);
  CHECK(received == 6);
}

TEST_CASE("values that are still in a channel, or wait to be, go with it") {
  const auto witness = std::make_shared<int>(0);
  beck::io_context context;
  {
    channel<std::shared_ptr<int>> c(2);
    for (int i = 0; i < 4; ++i) c.async_send(witness, beck::bind_executor(context, beck::detached));
    CHECK(witness.use_count() == 5);
  }
  CHECK(witness.use_count() == 1);
}

TEST_CASE("senders and receivers that come, go and are cancelled lose no value") {
  const int cases = beck::test::scaled(20000);
  for (int seed = 0; seed < cases; ++seed) {
    beck::testing::small_random random(static_cast<std::uint64_t>(seed) + 1);
    channel<int> c(random.below(3));
    beck::io_context context;
    std::vector<beck::stop_source> sources(6);
    std::vector<int> sent;
    std::vector<int> received;
    const auto send = [&](std::size_t i) -> beck::task<> {
      const int value = static_cast<int>(i);
      const auto r = co_await beck::with_stop(sources[i].get_token(), c.async_send(value));
      if (r) sent.push_back(value);
    };
    const auto receive = [&](std::size_t i) -> beck::task<> {
      const auto r = co_await beck::with_stop(sources[i].get_token(), c.async_receive());
      if (!r.error()) received.push_back(*r);
    };
    for (std::size_t i = 0; i < 3; ++i) {
      beck::co_spawn(context, send(i), beck::detached);
      if (random.below(2) != 0) let_settle(context);
      beck::co_spawn(context, receive(i + 3), beck::detached);
      if (random.below(2) != 0) let_settle(context);
      sources[random.below(6)].request_stop();
    }
    if (random.below(4) == 0) c.close();
    let_settle(context);
    c.cancel();
    let_settle(context);
    while (true) {
      auto r = c.try_receive();
      if (r.error()) break;
      received.push_back(*r);
    }
    std::sort(sent.begin(), sent.end());
    std::sort(received.begin(), received.end());
    CHECK(received == sent);
  }
  beck::test::report_value("cancel_cases", cases);
}
