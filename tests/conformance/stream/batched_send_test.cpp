// SPDX-License-Identifier: BSL-1.0
//
// Small sends on io_uring while many sockets are busy: which of them wait for the next poll, and
// how many. batched_send_order_test has the effects that this must not have.
#include <string>

#include "support/busy_crowd.hpp"
#include "support/context_options.hpp"
#include "support/faulty_system.hpp"

namespace {

using beck::test::arrived;
using beck::test::crowd;
using beck::test::note;
using beck::test::outcome;

constexpr int many = 20;
constexpr int few = 7;

}  // namespace

CONFORMANCE_ON(beck::test::uring, "sends after a poll that has found much are batched") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  const auto grown = all.play([&](int i) { all.send(i, "abc"); });
  CHECK(grown.sends_batched == many);
  CHECK(grown.attempts == 0);
  CHECK(grown.kernel_entries <= 3);
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(all.sent_by(i).bytes == 3);
    CHECK(arrived(all.fd(i)) == "abc");
  }
}

CONFORMANCE_ON(beck::test::uring,
               "sends after a poll that has found many sockets ready are batched") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many, 8192);  // too large to be armed
  CHECK(all.play([&](int i) { all.send(i, "abc"); }).sends_batched == many);
}

CONFORMANCE_ON(beck::test::uring, "sends of coroutines are batched") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  const auto answer = [&](int i) -> beck::task<> {
    const auto [ec, bytes] = co_await async_write(all.end(i), beck::buffer("abc", 3));
    all.sent_by(i) = {1, ec, bytes};
  };
  const auto grown = all.play([&](int i) { co_spawn(ctx, answer(i), beck::detached); });
  CHECK(grown.sends_batched == many);
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(arrived(all.fd(i)) == "abc");
  }
}

CONFORMANCE_ON(beck::test::uring, "the next poll makes the sends, whatever else it finds") {
  beck::io_context ctx(context_options());
  beck::test::faulty_system& system = beck::test::make_faulty(ctx);
  system.clock_ns = system.now();
  crowd all(ctx, 100);
  std::string seen;
  all.play([&](int i) {
    async_write(all.end(i), beck::buffer("abc", 3), [&, i](beck::error_code, std::size_t) {
      if (i == 0) seen = arrived(all.fd(99));  // the first 64 were sent before the last
    });
  });
  CHECK(seen == "abc");
}

CONFORMANCE_ON(beck::test::uring, "sends after a poll that has found little are made at once") {
  beck::io_context ctx(context_options());
  crowd all(ctx, few);
  std::string seen;
  const auto grown = all.play([&](int i) {
    all.send(i, "abc");
    seen += arrived(all.fd(i));
  });
  CHECK(grown.sends_batched == 0);
  CHECK(grown.attempts == few);
  CHECK(seen.size() == 3 * few);
}

CONFORMANCE_ON(beck::test::uring, "sends are made at once where batches are switched off") {
  beck::io_context ctx(context_options({.batched_sends = false}));
  crowd all(ctx, many);
  const auto grown = all.play([&](int i) { all.send(i, "abc"); });
  CHECK(grown.sends_batched == 0);
  CHECK(grown.attempts == many);
}

CONFORMANCE_ON(beck::test::uring, "sends of more than 4096 bytes, and of none, are not batched") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  const std::string large(4097, 'l');
  const std::string largest(4096, 'b');
  const auto grown = all.play([&](int i) {
    const auto data = i == 0 ? beck::buffer(largest) : beck::buffer(large);
    async_write(all.end(i), i == 1 ? beck::const_buffer() : data, note(all.sent_by(i)));
  });
  CHECK(grown.sends_batched == 1);
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(arrived(all.fd(i)).size() == (i == 0 ? 4096U : i == 1 ? 0U : 4097U));
  }
}

CONFORMANCE_ON(beck::test::uring, "no more than 64 sends wait") {
  beck::io_context ctx(context_options());
  beck::test::faulty_system& system = beck::test::make_faulty(ctx);
  system.clock_ns = system.now();  // handlers that take long would make them wait for less
  crowd all(ctx, 100);
  std::string seen;
  std::string after;
  const auto grown = all.play([&](int i) {
    all.send(i, "abc");
    if (i == 62) seen = arrived(all.fd(0));
    if (i == 63) after = arrived(all.fd(63)) + arrived(all.fd(0));
  });
  CHECK(grown.sends_batched == 100);
  CHECK(seen.empty());
  CHECK(after == "abcabc");
  CHECK(grown.kernel_entries >= 3);
  CHECK(grown.kernel_entries <= 6);
}

CONFORMANCE_ON(beck::test::uring, "sends do not wait after handlers that have taken long") {
  beck::io_context ctx(context_options());
  beck::test::faulty_system& system = beck::test::make_faulty(ctx);
  system.clock_ns = system.now();
  crowd all(ctx, many);
  const auto takes = [&](std::int64_t ns) {
    return all.play([&, ns](int i) {
      all.send(i, "a");
      system.clock_ns += ns;
    });
  };
  CHECK(takes(4'000).sends_batched == many);  // the longest
  CHECK(takes(4'001).sends_batched == many);
  for (int i = 0; i < 64; ++i) CHECK(takes(0).sends_batched == 0);
  CHECK(takes(4'001).sends_batched == many);
  for (int i = 0; i < 128; ++i) CHECK(takes(0).sends_batched == 0);  // twice as many
  CHECK(takes(0).sends_batched == many);
  CHECK(takes(4'001).sends_batched == many);
  for (int i = 0; i < 64; ++i) CHECK(takes(0).sends_batched == 0);  // it has been right before
  CHECK(takes(0).sends_batched == many);
}

CONFORMANCE_ON(beck::test::uring, "a send among handlers that take long does not wait for all") {
  beck::io_context ctx(context_options());
  beck::test::faulty_system& system = beck::test::make_faulty(ctx);
  system.clock_ns = system.now();
  crowd all(ctx, 200);
  std::string seen;
  const auto grown = all.play([&](int i) {
    system.clock_ns += 10'000;
    if (i == 70) all.send(i, "abc");
    if (i == 80) seen = arrived(all.fd(70));
  });
  CHECK(grown.sends_batched == 1);
  CHECK(seen == "abc");
}

CONFORMANCE_ON(beck::test::uring, "the time of sends is not that of handlers") {
  beck::io_context ctx(context_options());
  beck::test::faulty_system& system = beck::test::make_faulty(ctx);
  system.clock_ns = system.now();
  crowd all(ctx, 100);
  const auto send = [&](int i) {
    if (i == 63) system.pauses = {0, 10'000'000};  // before and after the call for 64 sends
    all.send(i, "a");
  };
  CHECK(all.play(send).sends_batched == 100);
  CHECK(system.pauses.empty());
  CHECK(all.play(send).sends_batched == 100);
}
