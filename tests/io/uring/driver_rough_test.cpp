// SPDX-License-Identifier: BSL-1.0
//
// The real driver below ordinary sockets, on a kernel that makes all the trouble it may (U1 to U8,
// U10, U17, U18): every byte arrives once and in order, every operation completes once, and nothing
// of theirs is in flight when the ring is closed.
#include <doctest/doctest.h>

#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "support/context_seam.hpp"
#include "support/pattern.hpp"
#include "support/scale.hpp"
#include "support/scripted_ring.hpp"
#include "support/stream_pair.hpp"

using namespace beck::testing;

namespace {

constexpr std::size_t pairs_max = 24;  // more receives and polls than the ring below has entries
constexpr std::size_t message_bytes_max = 20'000;
constexpr int messages = 12;
// Less than most messages: their sends have to wait in the ring, where they can be short (U10).
constexpr int send_buffer_bytes = 4608;
// The poll of the wake descriptor ends with its ring: it writes into nobody's memory.
constexpr std::uint64_t wake_polls = 1;

struct tally {
  std::size_t bytes = 0;
  int ended = 0;
  int failed = 0;
};

beck::task<> send_all(beck::test::stream_socket& socket, std::size_t first, tally& sent) {
  std::size_t size = first;
  for (int i = 0; i < messages; ++i) {
    const std::string text = beck::test::pattern(size);
    const auto [ec, n] = co_await beck::async_write(socket, beck::buffer(text));
    sent.bytes += n;
    if (ec) ++sent.failed;
    size = size * 3 % message_bytes_max + 1;
  }
  beck::error_code ignored;
  socket.shutdown(beck::test::stream_socket::shutdown_send, ignored);
  ++sent.ended;
}

beck::task<> receive_all(beck::test::stream_socket& socket, std::size_t first, tally& received) {
  std::size_t size = first;
  std::string text;
  for (int i = 0; i < messages; ++i) {
    text.assign(size, '\0');
    const auto [ec, n] = co_await beck::async_read(socket, beck::buffer(text));
    received.bytes += n;
    if (ec || text != beck::test::pattern(size)) ++received.failed;
    size = size * 3 % message_bytes_max + 1;
  }
  char more[1];
  const auto [ec, n] = co_await socket.async_read_some(beck::buffer(more));
  if (ec != beck::error::eof || n != 0) ++received.failed;
  ++received.ended;
}

}  // namespace

TEST_CASE("U1 to U8, U10, U18: streams arrive whole whatever trouble the kernel makes") {
  ring_script_stats seen;
  std::uint64_t retries = 0;
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(beck::test::scaled(40)); ++seed) {
    CAPTURE(seed);
    scripted_kernel kernel(seed);
    kernel.limit_entries(32);
    tally sent;
    tally received;
    {
      beck::io_context ctx(context_seam::on_ring(kernel));
      kernel.set_chances(rough_chances);
      std::vector<beck::test::stream_pair> pairs;
      for (std::size_t i = 0; i < pairs_max; ++i) {
        pairs.emplace_back(ctx);
        pairs[i].b.set_option(beck::socket_base::send_buffer_size(send_buffer_bytes));
      }
      for (std::size_t i = 0; i < pairs_max; ++i) {
        beck::co_spawn(ctx, receive_all(pairs[i].a, i * 37 + 1, received), beck::detached);
        beck::co_spawn(ctx, send_all(pairs[i].b, i * 37 + 1, sent), beck::detached);
      }
      ctx.run();
      retries += ctx.stats().retries;
    }
    CHECK(sent.failed == 0);
    CHECK(received.failed == 0);
    CHECK(sent.ended == pairs_max);
    CHECK(received.ended == pairs_max);
    CHECK(received.bytes == sent.bytes);
    CHECK(kernel.stats().abandoned <= wake_polls);
    seen.overflown += kernel.stats().overflown;
    seen.completions += kernel.stats().completions;
  }
  CHECK(seen.overflown > 0);                             // the trouble was really there
  if (beck::test::scaled(40) == 40) CHECK(retries > 0);  // too rare for a part of the seeds
}

TEST_CASE("U20: a context that ends in the middle of a rough time leaves nothing in the kernel") {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(beck::test::scaled(60)); ++seed) {
    CAPTURE(seed);
    scripted_kernel kernel(seed);
    kernel.limit_entries(32);
    tally sent;
    tally received;
    {
      beck::io_context ctx(context_seam::on_ring(kernel));
      std::vector<beck::test::stream_pair> pairs;
      kernel.set_chances(rough_chances);
      for (std::size_t i = 0; i < pairs_max; ++i) {
        pairs.emplace_back(ctx);
        pairs[i].b.set_option(beck::socket_base::send_buffer_size(send_buffer_bytes));
      }
      for (std::size_t i = 0; i < pairs_max; ++i) {
        beck::co_spawn(ctx, receive_all(pairs[i].a, i * 37 + 1, received), beck::detached);
        beck::co_spawn(ctx, send_all(pairs[i].b, i * 37 + 1, sent), beck::detached);
      }
      for (std::uint64_t i = 0; i < seed * 7; ++i) ctx.run_one();
      // They go with the context: were they closed before, it would find nothing in flight.
      beck::post(ctx, [kept = std::move(pairs)] {});
    }
    CHECK(kernel.stats().abandoned <= wake_polls);
    CHECK(received.failed == 0);
  }
}
