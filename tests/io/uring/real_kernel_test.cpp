// SPDX-License-Identifier: BSL-1.0
//
// The ring on the kernel this runs on: what the model in tests/support claims, and the facts that
// the driver builds on.
#include <doctest/doctest.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <vector>

#include "io/uring/probe.hpp"
#include "io/uring/ring_kernel.hpp"
#include "support/conformance.hpp"
#include "support/ring_entries.hpp"

using namespace beck::testing;
using namespace beck::uring;

namespace {

constexpr std::int64_t none = ring::no_deadline;
constexpr unsigned readable_edge = unsigned{EPOLLIN} | unsigned{EPOLLRDHUP} | unsigned{EPOLLET};

struct real_ring {
  posix_ring_kernel kernel;
  ring tested;
  probe_result probed;

  explicit real_ring(const ring_options& options = {})
      : probed(open_probed(tested, kernel, options)) {}
};

}  // namespace

TEST_CASE("real kernel: a full queue of no-ops completes in order with one enter") {
  real_ring real;
  NEEDS_RING(real.probed);
  for (std::uint64_t index = 0; index < real.tested.entries(); ++index) nop(real.tested, index);
  CHECK(real.tested.get_entry() == nullptr);
  CHECK(real.tested.submit(real.tested.entries(), none, false).status == submit_status::done);
  const std::vector<reaped> all = reap(real.tested);
  REQUIRE(all.size() == real.tested.entries());
  for (std::uint64_t index = 0; index < all.size(); ++index)
    CHECK(all[index] == reaped{index, 0, 0});
  CHECK(real.tested.stats().enters == 1);
}

TEST_CASE("real kernel: a wait ends at its deadline, absolute or relative, and never before") {
  for (const bool absolute : {false, true}) {
    real_ring real;
    NEEDS_RING(real.probed);
    if (absolute && !real.tested.absolute_deadlines())
      SKIP_CASE("this kernel takes no absolute deadlines");
    real.tested.use_absolute_deadlines(absolute);
    const std::int64_t deadline_ns = real.kernel.now_ns() + 2'000'000;
    CHECK(real.tested.submit(1, deadline_ns, false).status == submit_status::done);
    CHECK(real.tested.completions_ready() == 0);
    CHECK(real.kernel.now_ns() >= deadline_ns);
  }
}

TEST_CASE("real kernel: U5, a tiny completion queue overflows, is flagged, and loses nothing") {
  real_ring real({.entries = 4, .completions = 4});
  NEEDS_RING(real.probed);
  constexpr std::uint64_t count = 40;
  for (std::uint64_t index = 0; index < count; ++index) {
    io_uring_sqe* const entry = real.tested.get_entry_or_flush();
    REQUIRE(entry != nullptr);
    entry->user_data = index;
  }
  real.tested.submit(0, none, false);
  CHECK(real.tested.flagged());
  std::uint64_t next = 0;
  while (real.tested.completions_ready() > 0 || real.tested.flagged()) {
    for (const reaped& each : reap(real.tested)) CHECK(each.user_data == next++);
    real.tested.submit(0, none, false);
  }
  CHECK(next == count);
  CHECK(real.tested.stats().overflows > 0);
}

TEST_CASE("real kernel: cancelling an armed receive and a multishot poll is over after one enter") {
  // On the thread that submitted them. From another thread the kernel hands the end of an operation
  // to the thread that submitted it, and it comes when that thread next meets the kernel: at once
  // if it sleeps, with the next timer tick (4 ms measured) if it computes.
  for (const unsigned flags : {exclusive_ring_flags, owned_thread_ring_flags}) {
    ring_options options;
    options.flags = flags;
    real_ring real(options);
    NEEDS_RING(real.probed);
    const socket_pair sockets;
    char memory[64];
    int at_once = 0;  // a thread that is interrupted in between may need another enter
    for (int round = 0; round < 50; ++round) {
      receive(real.tested, sockets.left(), memory, sizeof memory, 1);
      poll_always(real.tested, sockets.left(), readable_edge, 2);
      CHECK(turn(real.tested).empty());
      cancel(real.tested, 1, 11);
      cancel(real.tested, 2, 12);
      const std::vector<reaped> expected{
          {11, 0, 0}, {12, 0, 0}, {1, -ECANCELED, 0}, {2, -ECANCELED, 0}};
      std::vector<reaped> seen = turn(real.tested);
      if (seen == expected) ++at_once;
      for (int more = 0; seen.size() < expected.size() && more < 100; ++more) {
        const std::vector<reaped> late = turn(real.tested);
        seen.insert(seen.end(), late.begin(), late.end());
      }
      CHECK(std::is_permutation(seen.begin(), seen.end(), expected.begin(), expected.end()));
    }
    CHECK(at_once >= 40);
  }
}

TEST_CASE("real kernel: U7, data that came before the cancel is delivered or still there") {
  for (const unsigned flags : {exclusive_ring_flags, owned_thread_ring_flags}) {
    ring_options options;
    options.flags = flags;
    real_ring real(options);
    NEEDS_RING(real.probed);
    const socket_pair sockets;
    char memory[64];
    receive(real.tested, sockets.left(), memory, sizeof memory, 1);
    CHECK(turn(real.tested).empty());
    std::thread([&sockets] { sockets.write_right("x"); }).join();
    cancel(real.tested, 1, 11);
    int received = 0;
    int answer = 1;
    for (const reaped& each : turn(real.tested))
      (each.user_data == 1 ? received : answer) = each.result;
    // Measured: the cooperative ring delivers (the join ran the task work), the deferred one
    // cancels.
    if (received == 1) {
      CHECK(answer == -ENOENT);
      CHECK(sockets.read_left() == "EAGAIN");
    } else {
      CHECK(received == -ECANCELED);
      CHECK(answer == 0);
      CHECK(sockets.read_left() == "x");
    }
  }
}

TEST_CASE(
    "real kernel: a file stays open while an operation holds it, and is gone once that was "
    "reaped") {
  real_ring real;
  NEEDS_RING(real.probed);
  socket_pair sockets;
  char memory[64];
  receive(real.tested, sockets.left(), memory, sizeof memory, 1);
  poll_always(real.tested, sockets.left(), readable_edge, 2);
  CHECK(turn(real.tested).empty());
  sockets.close_left();
  CHECK(sockets.read_right() == "EAGAIN");
  cancel(real.tested, 1, 11);
  cancel(real.tested, 2, 12);
  CHECK(turn(real.tested).size() == 4);
  CHECK(sockets.read_right().empty());
}

TEST_CASE("real kernel: an edge-triggered multishot poll reports new data while old is unread") {
  real_ring real;
  NEEDS_RING(real.probed);
  const socket_pair sockets;
  poll_always(real.tested, sockets.left(), readable_edge, 1);
  CHECK(turn(real.tested).empty());
  const std::vector<reaped> edge{{1, EPOLLIN, IORING_CQE_F_MORE}};
  for (int round = 0; round < 3; ++round) {
    sockets.write_right("data");
    CHECK(turn(real.tested) == edge);
    CHECK(turn(real.tested).empty());
  }
  cancel(real.tested, 1, 2);
  CHECK(turn(real.tested).size() == 2);
  // Armed with data unread, it reports that at once.
  poll_always(real.tested, sockets.left(), readable_edge, 1);
  CHECK(turn(real.tested) == edge);
  cancel(real.tested, 1, 2);
  CHECK(turn(real.tested).size() == 2);
}

TEST_CASE("real kernel: a receive says whether more is there to read") {
  real_ring real;
  NEEDS_RING(real.probed);
  const socket_pair sockets;
  char memory[4];
  sockets.write_right("sixsix");
  receive(real.tested, sockets.left(), memory, sizeof memory, 1);
  const std::vector<reaped> first = turn(real.tested);
  receive(real.tested, sockets.left(), memory, sizeof memory, 1);
  const std::vector<reaped> second = turn(real.tested);
  REQUIRE(first.size() == 1);
  REQUIRE(second.size() == 1);
  CHECK(first[0].result == 4);
  CHECK(second[0] == reaped{1, 2, 0});
  // Set for TCP since Linux 5.19 and for UNIX sockets only later, so its absence must mean
  // "perhaps".
  CHECK((first[0].flags & ~unsigned{IORING_CQE_F_SOCK_NONEMPTY}) == 0);
}

TEST_CASE("real kernel: U18, an operation of an ended thread comes back unasked, without data") {
  real_ring real;
  NEEDS_RING(real.probed);
  const socket_pair sockets;
  char memory[64];
  std::thread([&] {
    receive(real.tested, sockets.left(), memory, sizeof memory, 1);
    real.tested.submit(0, none, true);
  }).join();
  // It stays armed beyond its thread, and ends with the next event instead of receiving it. The
  // runner that reaps it has never submitted anything.
  sockets.write_right("x");
  std::vector<reaped> all;
  while (all.empty()) {
    CHECK(real.tested.submit(1, none, true).status == submit_status::done);
    all = reap(real.tested);
  }
  REQUIRE(all.size() == 1);
  const bool unasked = all[0].result == -ECANCELED || all[0].result == -EFAULT;
  CHECK(unasked);
  CHECK(sockets.read_left() == "x");
}

TEST_CASE(
    "real kernel: U16, a child of fork may destroy its copy of the ring, and the parent's lives "
    "on") {
  real_ring real;
  NEEDS_RING(real.probed);
  nop(real.tested, 1);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    real.tested.close();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(real.tested.submit(1, none, false).status == submit_status::done);
  CHECK(reap(real.tested) == std::vector<reaped>{{1, 0, 0}});
}

TEST_CASE("real kernel: U16, the queues are not there in a child of fork") {
  real_ring real;
  NEEDS_RING(real.probed);
  const std::size_t bytes = real.tested.entries() * sizeof(io_uring_sqe);
  void* const entries = real.kernel.map(real.tested.fd(), bytes, IORING_OFF_SQES);
  REQUIRE(entries != nullptr);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  // write(2) tells a hole from memory without a crash.
  if (child == 0) ::_exit(::write(ends[1], entries, 1) == -1 && errno == EFAULT ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(::write(ends[1], entries, 1) == 1);
  for (const int fd : ends) ::close(fd);
  real.kernel.unmap(entries, bytes);
}
