// SPDX-License-Identifier: BSL-1.0
//
// In which form small receives are asked for: armed on the ring where their data is there when the
// ring looks, by readiness where it keeps coming later. A kernel that sends the data itself, before
// or after it has taken the entries, decides which of both it is.
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <string>

#include <beck/detail/stream_object.hpp>
#include <beck/net/local.hpp>
#include <utility>

#include "io/op/direction.hpp"
#include "io/uring/probe.hpp"
#include "io/uring/ring_kernel.hpp"
#include "support/conformance.hpp"
#include "support/context_seam.hpp"
#include "support/stream_pair.hpp"

using namespace beck::testing;

namespace {

enum class arrival {
  after_the_start,   // the handler starts the read and sends
  before_the_visit,  // the visit that takes the receive finds its data
  during_the_sleep,  // it comes while that visit waits
  outside,           // the case sends it
};

/// The kernel, and a peer that sends at a chosen moment of each visit that waits.
class sending_kernel final : public beck::uring::ring_kernel {
 public:
  arrival when = arrival::before_the_visit;
  int peer = -1;
  unsigned waits_past_marker = 0;  // visits that wait for one completion more than the marker

  int enter(int fd, unsigned to_submit, unsigned min_complete, unsigned flags, const void* argument,
            std::size_t bytes) override {
    const bool sends = when == arrival::before_the_visit || when == arrival::during_the_sleep;
    if (min_complete == 0 || peer < 0 || !sends)
      return real_.enter(fd, to_submit, min_complete, flags, argument, bytes);
    if (when == arrival::before_the_visit) {
      send();
      return real_.enter(fd, to_submit, min_complete, flags, argument, bytes);
    }
    if (min_complete == 2) ++waits_past_marker;
    const int taken = real_.enter(fd, to_submit, 0, 0, nullptr, 0);
    send();
    const int waited = real_.enter(fd, 0, min_complete, flags, argument, bytes);
    return waited < 0 ? waited : taken;
  }
  void send() const { CHECK(::send(peer, "x", 1, MSG_NOSIGNAL) == 1); }

  int setup(unsigned entries, io_uring_params& how) override { return real_.setup(entries, how); }
  int control(int fd, unsigned opcode, void* argument, unsigned count) override {
    return real_.control(fd, opcode, argument, count);
  }
  void* map(int fd, std::size_t bytes, std::uint64_t offset) override {
    return real_.map(fd, bytes, offset);
  }
  void unmap(void* address, std::size_t bytes) override { real_.unmap(address, bytes); }
  void close(int fd) override { real_.close(fd); }
  std::int64_t now_ns() override { return real_.now_ns(); }
  bool shifts_clock() override { return real_.shifts_clock(); }

 private:
  beck::uring::posix_ring_kernel real_;
};

/// Reads one byte after the other, each when the one before it has come.
struct reader {
  beck::test::stream_socket& socket;
  const sending_kernel& kernel;
  int left = 0;
  int failed = 0;
  char bytes[16] = {};  // more than comes: a read that fills its buffer is followed by one at once

  void next() {
    if (left-- == 0) return;
    socket.async_read_some(beck::buffer(bytes), [this](beck::error_code ec, std::size_t n) {
      if (ec || n != 1) ++failed;
      next();
    });
    if (kernel.when == arrival::after_the_start) kernel.send();
  }
};

struct experiment {
  sending_kernel kernel;
  beck::io_context ctx;
  beck::test::stream_pair pair{ctx};
  reader reads{pair.a, kernel};

  explicit experiment(bool learns = true) : ctx(context_seam::on_ring(kernel, learns)) {
    kernel.peer = pair.b.native_handle();
  }

  /// Receives `count` bytes that come so; returns how the counters have grown.
  beck::context_stats receive(int count, arrival when) {
    const beck::context_stats before = ctx.stats();
    kernel.when = when;
    reads.left = count;
    reads.next();
    ctx.restart();
    ctx.run();
    CHECK(reads.failed == 0);
    beck::context_stats grown = ctx.stats();
    grown.lazy_armed -= before.lazy_armed;
    grown.arming_stops -= before.arming_stops;
    grown.completions -= before.completions;
    return grown;
  }
};

bool is_ring_there() {
  beck::uring::posix_ring_kernel kernel;
  beck::uring::ring tried;
  return beck::uring::open_probed(tried, kernel, {}).opened;
}

constexpr int count = 200;

}  // namespace

TEST_CASE("receives stay armed while their data is there when the ring looks") {
  if (!is_ring_there()) SKIP_CASE("no io_uring");
  experiment tried;
  const auto grown = tried.receive(count, arrival::before_the_visit);
  CHECK(grown.lazy_armed == count);
  CHECK(grown.arming_stops == 0);
}

TEST_CASE("receives are no longer armed once their data keeps coming later") {
  if (!is_ring_there()) SKIP_CASE("no io_uring");
  experiment tried;
  const auto grown = tried.receive(count, arrival::during_the_sleep);
  CHECK(grown.lazy_armed >= 8);
  CHECK(grown.lazy_armed <= 16);
  CHECK(tried.kernel.waits_past_marker == grown.lazy_armed);
  CHECK(grown.arming_stops == 1);
}

TEST_CASE("data that comes between two visits came later than the one that armed its receive") {
  if (!is_ring_there()) SKIP_CASE("no io_uring");
  experiment tried;
  tried.kernel.when = arrival::outside;
  for (int i = 0; i < count; ++i) {
    tried.reads.left = 1;
    tried.reads.next();
    tried.ctx.restart();
    tried.ctx.poll();
    tried.kernel.send();
    tried.ctx.run();
  }
  CHECK(tried.reads.failed == 0);
  CHECK(tried.ctx.stats().arming_stops == 1);
}

TEST_CASE("receives are armed again when their data is there one turn later") {
  if (!is_ring_there()) SKIP_CASE("no io_uring");
  experiment tried;
  CHECK(tried.receive(count, arrival::during_the_sleep).arming_stops == 1);
  CHECK(tried.receive(count, arrival::after_the_start).lazy_armed >= count / 2);
  const auto after = tried.receive(count, arrival::after_the_start);
  CHECK(after.lazy_armed == count);
  CHECK(after.arming_stops == 0);
  // Its own, and the marker of a visit that waits; the descriptor's poll has ended.
  CHECK(after.completions <= 2 * count + 4);
}

TEST_CASE("a few late receives among others do not end arming") {
  if (!is_ring_there()) SKIP_CASE("no io_uring");
  experiment tried;
  for (int i = 0; i < 40; ++i) {
    CHECK(tried.receive(3, arrival::before_the_visit).arming_stops == 0);
    CHECK(tried.receive(2, arrival::during_the_sleep).arming_stops == 0);
  }
}

TEST_CASE("without learning receives are armed whenever their data comes") {
  if (!is_ring_there()) SKIP_CASE("no io_uring");
  experiment tried(false);
  const auto grown = tried.receive(count, arrival::during_the_sleep);
  CHECK(grown.lazy_armed == count);
  CHECK(grown.arming_stops == 0);
}

namespace {

/// How many hits in a row it takes until receives are armed again.
int hits_until_armed(beck::detail::arming_record& tried) {
  int hits = 0;
  for (; !tried.arms() && hits < 1000; ++hits) tried.note_unarmed(true);
  return hits;
}

void stop_arming(beck::detail::arming_record& tried) {
  for (int i = 0; tried.arms() && i < 1000; ++i) tried.note_armed(false);
  CHECK_FALSE(tried.arms());
}

}  // namespace

TEST_CASE("each return to arming that was wrong makes the next one harder, up to a bound") {
  beck::detail::arming_record tried;
  int before = 0;
  for (int i = 0; i < 5; ++i) {
    stop_arming(tried);
    const int hits = hits_until_armed(tried);
    CHECK(tried.take_return());
    CHECK_FALSE(tried.take_return());
    CHECK(hits > before);
    before = hits;
  }
  stop_arming(tried);
  CHECK(hits_until_armed(tried) == before);
  CHECK(before <= 128);
  // Arming that was right for some time makes it easy again.
  for (int i = 0; i < 100; ++i) tried.note_armed(true);
  stop_arming(tried);
  CHECK(hits_until_armed(tried) < 16);
}

TEST_CASE("waiting in vain for a hit takes back the hits before it") {
  beck::detail::arming_record tried;
  stop_arming(tried);
  for (int i = 0; i < 100; ++i) {
    tried.note_unarmed(true);
    tried.note_unarmed(false);
  }
  CHECK_FALSE(tried.arms());
}

TEST_CASE("a whole read goes on when arming ends in the middle of it") {
  if (!is_ring_there()) SKIP_CASE("no io_uring");
  experiment tried;
  tried.kernel.when = arrival::during_the_sleep;
  std::string bytes(64, ' ');
  std::size_t read = 0;
  beck::async_read(tried.pair.a, beck::buffer(bytes), [&](beck::error_code ec, std::size_t n) {
    CHECK(!ec);
    read = n;
    tried.kernel.when = arrival::outside;
  });
  tried.ctx.run();
  CHECK(read == bytes.size());
  CHECK(tried.ctx.stats().arming_stops == 1);
}
