// SPDX-License-Identifier: BSL-1.0
//
// Reads beside each other: the order of their completions, and whose their buffers are meanwhile.
#include <array>
#include <beck/net/local.hpp>
#include <ostream>
#include <vector>

#include "base/sanitizers.hpp"
#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

using beck::test::run_task;
using beck::test::stream_pair;
using beck::test::stream_socket;

CONFORMANCE("a coroutine's read does not overtake the callback of an earlier one on its socket") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write(pair.b, beck::buffer("ab", 2));
  std::vector<char> order;
  char first = 0;
  char second = 0;
  auto work = [&]() -> beck::task<> {
    const auto ready = co_await pair.a.async_wait(stream_socket::wait_read);  // known from here on
    REQUIRE_FALSE(ready.error());
    pair.a.async_read_some(beck::buffer(&first, 1), [&](beck::error_code ec, std::size_t n) {
      CHECK(!ec);
      CHECK(n == 1);
      order.push_back(first);
    });
    const auto [ec, n] = co_await pair.a.async_read_some(beck::buffer(&second, 1));
    CHECK(!ec);
    CHECK(n == 1);
    order.push_back(second);
  };
  run_task(ctx, work);
  CHECK(order == std::vector{'a', 'b'});
}

CONFORMANCE("under AddressSanitizer nobody may look at the buffer of a read in flight") {
  if (!beck::detail::address_sanitizer) SKIP_CASE("this build has no AddressSanitizer");
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 64> one{};
  std::array<char, 64> two{};
  const std::array<beck::mutable_buffer, 2> parts{beck::buffer(two.data(), 32),
                                                  beck::buffer(two.data() + 32, 32)};
  int completed = 0;
  const auto done = [&completed](beck::error_code, std::size_t) { ++completed; };
  pair.a.async_read_some(beck::buffer(one), done);
  pair.b.async_read_some(parts, done);
  ctx.poll();
  ctx.restart();
  REQUIRE(completed == 0);
  for (const char* byte : {one.data(), one.data() + 63, two.data(), two.data() + 63}) {
    CHECK(beck::detail::is_lent(byte));
  }
  beck::write(pair.b, beck::buffer("x", 1));  // a read that succeeds and one that is cancelled
  pair.b.cancel();
  ctx.run();
  CHECK(completed == 2);
  for (const char* byte : {one.data(), one.data() + 63, two.data(), two.data() + 63}) {
    CHECK_FALSE(beck::detail::is_lent(byte));
  }
}
