// SPDX-License-Identifier: BSL-1.0
//
// The driver's lists when the kernel takes nothing: what finds no room in the ring stays listed
// (U1, U2), whatever is listed behind it meanwhile.
#include <doctest/doctest.h>

#include <beck/detail/stream_object.hpp>
#include <beck/net/local.hpp>
#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

#include "support/child.hpp"
#include "support/context_seam.hpp"
#include "support/outcome.hpp"
#include "support/scripted_ring.hpp"
#include "support/stream_pair.hpp"

using namespace beck::testing;

TEST_CASE("U2: no listed receive is lost while the kernel refuses to take any entry") {
  scripted_kernel kernel;
  kernel.limit_entries(32);
  beck::io_context ctx(context_seam::on_ring(kernel));
  constexpr std::size_t pairs_max = 100;
  constexpr int polls_max = 1000;
  std::vector<beck::test::stream_pair> pairs;
  for (std::size_t i = 0; i < pairs_max; ++i) pairs.emplace_back(ctx);

  kernel.fail_enter(ENOMEM, 2000);
  char bytes[pairs_max] = {};
  std::size_t received = 0;
  for (std::size_t i = 0; i < pairs_max; ++i) {
    pairs[i].a.async_read_some(beck::buffer(&bytes[i], 1), [&](beck::error_code ec, std::size_t n) {
      if (!ec && n == 1) ++received;
    });
  }
  for (int i = 0; i < 4; ++i) ctx.poll();
  for (std::size_t i = 0; i < pairs_max; ++i) pairs[i].b.write_some(beck::buffer("x", 1));
  for (int i = 0; i < polls_max && received < pairs_max; ++i) ctx.poll();
  CHECK(received == pairs_max);
}

TEST_CASE("U2: a loop does not sleep while entries wait for room") {
  constexpr std::size_t pairs_max = 60;
  for (int refusals = 1; refusals <= 50; ++refusals) {  // the last of them before it would sleep
    CAPTURE(refusals);
    scripted_kernel kernel;
    kernel.limit_entries(32);
    beck::io_context ctx(context_seam::on_ring(kernel));
    std::vector<beck::test::stream_pair> pairs;
    for (std::size_t i = 0; i < pairs_max; ++i) pairs.emplace_back(ctx);
    pairs.back().b.write_some(beck::buffer("x", 1));

    kernel.fail_enter(ENOMEM, static_cast<unsigned>(refusals));
    char bytes[pairs_max] = {};
    bool arrived = false;
    for (std::size_t i = 0; i < pairs_max; ++i) {
      pairs[i].a.async_read_some(beck::buffer(&bytes[i], 1), [&](beck::error_code ec, std::size_t) {
        arrived = !ec;
        ctx.stop();
      });
    }
    ctx.run_for(std::chrono::seconds(5));  // it never takes that long
    CHECK(arrived);
  }
}

TEST_CASE("U1: cancels wait for room, except those of reads that finish before there is room") {
  constexpr std::size_t pairs_max = 60;
  const auto has_data = [](std::size_t i) { return i >= 40 && i < 50; };  // in the midst of them
  scripted_kernel kernel;
  kernel.limit_entries(32);
  beck::io_context ctx(context_seam::on_ring(kernel));
  std::vector<beck::test::stream_pair> pairs;
  for (std::size_t i = 0; i < pairs_max; ++i) pairs.emplace_back(ctx);

  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    std::vector<beck::test::outcome> reads(pairs_max);
    std::vector<char> bytes(pairs_max);
    for (std::size_t i = 0; i < pairs_max; ++i)
      pairs[i].a.async_read_some(beck::buffer(&bytes[i], 1), beck::test::note(reads[i]));
    for (int i = 0; i < 4; ++i) beck::test::let_settle(ctx);
    REQUIRE(kernel.in_flight() >= pairs_max);

    for (std::size_t i = 0; i < pairs_max; ++i) {
      if (has_data(i)) pairs[i].b.write_some(beck::buffer("x", 1));
    }
    for (auto& pair : pairs) pair.a.cancel();
    kernel.fail_enter(ENOMEM);  // the one that would make room
    for (int i = 0; i < 4; ++i) beck::test::let_settle(ctx);
    for (std::size_t i = 0; i < pairs_max; ++i) {
      CAPTURE(i);
      const bool right = has_data(i) ? reads[i].ok() : reads[i].aborted();
      CHECK(right);
    }
  }
}

TEST_CASE("U1, U16: in a child of fork no list of the ring leads into the list of free slots") {
  constexpr std::size_t pairs_max = 60;
  scripted_kernel kernel;
  kernel.limit_entries(32);
  beck::io_context ctx(context_seam::on_ring(kernel));
  const auto slots_in_use = [&ctx] {
    return static_cast<io_loop*>(ctx.get_executor().target())->core().descriptors.in_use();
  };
  std::vector<beck::test::stream_pair> pairs;
  for (std::size_t i = 0; i < pairs_max; ++i) pairs.emplace_back(ctx);
  std::vector<beck::test::stream_pair> watched;
  for (int i = 0; i < 2; ++i) {
    watched.emplace_back(ctx);
    watched.back().a.async_wait(beck::test::stream_socket::wait_read, [](beck::error_code) {});
  }
  for (int i = 0; i < 4; ++i) beck::test::let_settle(ctx);

  kernel.fail_enter(ENOMEM, 1000);
  char bytes[pairs_max] = {};
  for (std::size_t i = 0; i < pairs_max; ++i) {
    pairs[i].a.async_read_some(beck::buffer(&bytes[i], 1), [](beck::error_code, std::size_t) {});
  }
  for (int i = 0; i < 4; ++i) ctx.poll();
  watched.clear();  // the cancels of their polls find no room, so that both closes wait
  REQUIRE(slots_in_use() == 2 * pairs_max + 2);
  const std::string in_child = beck::test::said_by_child([&] {
    pairs.back().b.close();
    return std::to_string(slots_in_use());
  });
  CHECK(in_child == std::to_string(2 * pairs_max));
}
