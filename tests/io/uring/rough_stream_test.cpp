// SPDX-License-Identifier: BSL-1.0
//
// The smallest thing that deserves the name of a driver, on a kernel that makes all the trouble it
// may: bytes arrive whole and in order, nothing is waited for in vain, and each kind of trouble was
// really there.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "support/pattern.hpp"
#include "support/ring_entries.hpp"
#include "support/scripted_ring.hpp"

using namespace beck::testing;
using beck::uring::ring;

namespace {

// The least that a driver must do: carries a stream over a ring, and starts again whatever the
// kernel ends without need. One send and one receive at a time.
class carrier {
 public:
  carrier(ring& used, const std::string& text) : ring_(used), text_(text) {}

  std::string carry() {
    for (unsigned turns = 0; got_.size() < text_.size(); ++turns) {
      if (turns > 100'000) return "stuck";
      arm();
      const auto outcome = ring_.submit(1, ring::no_deadline, false);
      if (outcome.status == beck::uring::submit_status::failed) return "failed";
      for (const reaped& each : reap(ring_)) take(each);
    }
    return got_;
  }

  bool idle() const { return !sending_ && !receiving_; }

 private:
  void arm() {
    if (!sending_ && sent_ < text_.size()) {
      const std::size_t left = std::min<std::size_t>(text_.size() - sent_, 5000);
      io_uring_sqe& entry =
          send(ring_, sockets_.left(), text_.data() + sent_, static_cast<unsigned>(left), 1);
      entry.msg_flags = MSG_WAITALL;
      sending_ = true;
    }
    if (!receiving_) {
      receive(ring_, sockets_.right(), memory_, sizeof memory_, 2);
      receiving_ = true;
    }
  }

  void take(const reaped& each) {
    (each.user_data == 1 ? sending_ : receiving_) = false;
    if (each.result <= 0) return;  // unasked: start again
    const std::size_t count = static_cast<std::size_t>(each.result);
    if (each.user_data == 1) {
      sent_ += count;
    } else {
      got_.append(memory_, count);
    }
  }

  ring& ring_;
  const std::string& text_;
  socket_pair sockets_;
  std::string got_;
  std::size_t sent_ = 0;
  bool sending_ = false;
  bool receiving_ = false;
  char memory_[777] = {};
};

}  // namespace

TEST_CASE(
    "rough: a stream arrives whole and in order on a rough kernel, and nothing is waited for in "
    "vain") {
  const std::string text = beck::test::pattern(40'000);
  ring_script_stats total;
  beck::uring::ring_stats seen;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    scripted_kernel model(seed);
    model.set_chances(rough_chances);
    ring used;
    REQUIRE(used.open(model, {.entries = 4, .completions = 4}) == 0);
    carrier carried(used, text);
    CHECK(carried.carry() == text);
    total.overflown += model.stats().overflown;
    seen.refused += used.stats().refused;
    seen.busy += used.stats().busy;
    seen.partial += used.stats().partial;
    seen.overflows += used.stats().overflows;
  }
  // The trouble was really there.
  CHECK(total.overflown > 0);
  CHECK(seen.refused > 0);
  CHECK(seen.busy > 0);
  CHECK(seen.partial > 0);
  CHECK(seen.overflows > 0);
}

TEST_CASE("rough: two rings of one scripted kernel do not disturb each other on their threads") {
  const std::string text = beck::test::pattern(20'000);
  scripted_kernel model(3);
  model.set_chances(rough_chances);
  std::string got[2];
  const auto run = [&model, &text](std::string& result) {
    ring used;
    if (used.open(model, {.entries = 4, .completions = 4}) == 0)
      result = carrier(used, text).carry();
  };
  std::thread other(run, std::ref(got[1]));
  run(got[0]);
  other.join();
  CHECK(got[0] == text);
  CHECK(got[1] == text);
}
