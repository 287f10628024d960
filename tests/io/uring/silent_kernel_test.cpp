// SPDX-License-Identifier: BSL-1.0
// A kernel that does not say what a receive of the ring has left in a UNIX socket (before Linux
// 6.17): the next read finds it all the same.
#include <doctest/doctest.h>

#include <array>
#include <string>

#include "support/context_seam.hpp"
#include "support/outcome.hpp"
#include "support/scripted_ring.hpp"
#include "support/stream_pair.hpp"

using namespace beck::testing;
using beck::buffer;
using beck::test::note;
using beck::test::outcome;

TEST_CASE("a large read finds what a small one has left, whatever the kernel says of it") {
  constexpr int polls_max = 1000;
  for (const bool silent : {false, true}) {
    scripted_kernel kernel;
    if (silent) kernel.keep_silent_of_unread();
    beck::io_context ctx(context_seam::on_ring(kernel));
    beck::test::stream_pair pair(ctx);
    std::array<char, 16384> room{};
    const auto read = [&](std::size_t bytes, const char* text) {
      outcome got;
      pair.b.async_read_some(buffer(room.data(), bytes), note(got));
      beck::test::let_settle(ctx);
      if (text != nullptr) pair.a.write_some(buffer(text, std::string(text).size()));
      for (int i = 0; i < polls_max && !got.done(); ++i) beck::test::let_settle(ctx);
      return got.done() ? std::string(room.data(), got.bytes) : "?";
    };
    for (int round = 0; round < 4; ++round) {
      REQUIRE(read(room.size(), "first") == "first");  // it is watched from here on
      // An event has told of all of it; of three small reads the last goes by the ring.
      REQUIRE(read(4, "0123456789abcdef") == "0123");
      REQUIRE(read(4, nullptr) == "4567");
      REQUIRE(read(4, nullptr) == "89ab");
      REQUIRE(read(room.size(), nullptr) == "cdef");
    }
  }
}
