// SPDX-License-Identifier: BSL-1.0
//
// The ring against a scripted kernel: every answer to a submission that the contract allows (U1 to
// U6), and the shared memory in each of its layouts.
#include "io/uring/ring.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "support/ring_entries.hpp"
#include "support/scripted_ring.hpp"

using namespace beck::testing;
using beck::uring::ring;
using beck::uring::ring_options;
using beck::uring::submit_result;
using beck::uring::submit_status;

namespace {

constexpr std::int64_t none = ring::no_deadline;

ring_options small_ring() { return {.entries = 4, .completions = 8}; }

std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> all(last - first + 1);
  std::iota(all.begin(), all.end(), first);
  return all;
}

struct scripted_pair {
  scripted_kernel kernel;
  ring tested;

  explicit scripted_pair(const ring_options& options = small_ring()) {
    REQUIRE(tested.open(kernel, options) == 0);
  }
};

// Passes everything on, writes down how long the waits were to be, and has a clock that the test
// moves.
class watching_kernel final : public beck::uring::ring_kernel {
 public:
  struct wait {
    std::int64_t nanoseconds;
    unsigned min_complete;
    unsigned flags;
  };

  int setup(unsigned entries, io_uring_params& parameters) override {
    const int fd = scripted.setup(entries, parameters);
    parameters.sq_entries += lie_about_entries;
    return fd;
  }
  int enter(int fd, unsigned to_submit, unsigned min_complete, unsigned flags, const void* argument,
            std::size_t bytes) override {
    std::int64_t nanoseconds = -1;
    if (argument != nullptr) {
      const auto& wanted = *static_cast<const io_uring_getevents_arg*>(argument);
      const auto& when = *reinterpret_cast<const __kernel_timespec*>(wanted.ts);
      nanoseconds = when.tv_sec * 1'000'000'000 + when.tv_nsec;
    }
    waits.push_back({nanoseconds, min_complete, flags});
    clock += clock_step;
    return scripted.enter(fd, to_submit, min_complete, flags, argument, bytes);
  }
  int control(int fd, unsigned opcode, void* argument, unsigned count) override {
    return scripted.control(fd, opcode, argument, count);
  }
  void* map(int fd, std::size_t bytes, std::uint64_t offset) override {
    return scripted.map(fd, bytes, offset);
  }
  void unmap(void* address, std::size_t bytes) override { scripted.unmap(address, bytes); }
  void close(int fd) override { scripted.close(fd); }
  std::int64_t now_ns() override { return clock; }
  bool shifts_clock() override { return false; }

  scripted_kernel scripted;
  std::vector<wait> waits;
  std::int64_t clock = 1'000;
  std::int64_t clock_step = 0;
  unsigned lie_about_entries = 0;
};

}  // namespace

TEST_CASE("no-ops complete in order, once each, over many laps of the queues") {
  for (const unsigned features : {unsigned{IORING_FEAT_SINGLE_MMAP}, 0U}) {
    for (const unsigned without : {0U, beck::uring::setup_no_sqarray}) {
      scripted_kernel kernel;
      kernel.know_features(features | IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG);
      ring tested;
      ring_options options = small_ring();
      options.flags &= ~without;
      REQUIRE(tested.open(kernel, options) == 0);
      for (std::uint64_t lap = 0; lap < 20; ++lap) {
        for (std::uint64_t index = 0; index < 3; ++index) nop(tested, lap * 3 + index);
        CHECK(tested.prepared() == 3);
        CHECK(tested.submit(3, none, false).status == submit_status::done);
        CHECK(tested.prepared() == 0);
        CHECK(tested.completions_ready() == 3);
        CHECK(user_data_of(reap(tested)) == numbers(lap * 3, lap * 3 + 2));
      }
      CHECK(tested.stats().enters == 20);
      CHECK(tested.stats().submitted == 60);
      CHECK(tested.stats().completions == 60);
    }
  }
}

TEST_CASE("nothing to do does not enter the kernel") {
  scripted_pair pair;
  CHECK(pair.tested.submit(0, none, false).status == submit_status::done);
  CHECK(pair.kernel.stats().enters == 0);
  pair.tested.submit(0, none, true);
  CHECK(pair.kernel.stats().enters == 1);
}

TEST_CASE("an entry is zeroed even where the kernel's leftovers are") {
  scripted_pair pair;
  for (int lap = 0; lap < 8; ++lap) {
    const io_uring_sqe& entry = *pair.tested.get_entry();
    CHECK(entry.user_data == 0);
    CHECK(entry.addr3 == 0);
    CHECK(entry.ioprio == 0);
    pair.tested.submit(1, none, false);
    reap(pair.tested);
  }
}

TEST_CASE("U1: a full queue yields no entry, and a flush makes room") {
  scripted_pair pair;
  for (std::uint64_t index = 1; index <= 4; ++index) nop(pair.tested, index);
  CHECK(pair.tested.get_entry() == nullptr);
  io_uring_sqe* const entry = pair.tested.get_entry_or_flush();
  REQUIRE(entry != nullptr);
  entry->user_data = 5;
  CHECK(pair.tested.prepared() == 1);
  pair.tested.submit(5, none, false);
  CHECK(user_data_of(reap(pair.tested)) == numbers(1, 5));
}

TEST_CASE("U1: a flush that the kernel refuses yields no entry and loses none") {
  for (const int error : {-EAGAIN, -EBUSY}) {
    scripted_pair pair;
    for (std::uint64_t index = 1; index <= 4; ++index) nop(pair.tested, index);
    pair.kernel.fail_enter(error);
    CHECK(pair.tested.get_entry_or_flush() == nullptr);
    CHECK(pair.tested.prepared() == 4);
    REQUIRE(pair.tested.get_entry_or_flush() != nullptr);
    pair.tested.submit(5, none, false);
    CHECK(reap(pair.tested).size() == 5);
  }
}

TEST_CASE("U2: entries refused by EAGAIN, ENOMEM or ENOBUFS are submitted by the next enter") {
  for (const int error : {EAGAIN, ENOMEM, ENOBUFS}) {
    scripted_pair pair;
    nop(pair.tested, 1);
    nop(pair.tested, 2);
    pair.kernel.fail_enter(-error);
    const submit_result refused = pair.tested.submit(1, none, false);
    CHECK(refused.status == submit_status::refused);
    CHECK(refused.error == error);
    CHECK(pair.tested.prepared() == 2);
    CHECK(pair.tested.stats().refused == 1);
    nop(pair.tested, 3);
    CHECK(pair.tested.submit(3, none, false).status == submit_status::done);
    CHECK(user_data_of(reap(pair.tested)) == numbers(1, 3));
    CHECK(pair.tested.stats().enters == 2);
  }
}

TEST_CASE("U2: an enter that takes nothing and fails nothing is a refusal, not a loop") {
  scripted_pair pair;
  nop(pair.tested, 1);
  pair.kernel.take_at_most(0);
  CHECK(pair.tested.submit(1, none, false).status == submit_status::refused);
  CHECK(pair.tested.submit(1, none, false).status == submit_status::done);
  CHECK(reap(pair.tested).size() == 1);
}

TEST_CASE("U3: EBUSY is told apart, and the entries go once completions were reaped") {
  scripted_pair pair;
  nop(pair.tested, 1);
  pair.tested.submit(1, none, false);
  nop(pair.tested, 2);
  pair.kernel.fail_enter(-EBUSY);
  const submit_result busy = pair.tested.submit(0, none, false);
  CHECK(busy.status == submit_status::busy);
  CHECK(busy.error == EBUSY);
  CHECK(pair.tested.stats().busy == 1);
  CHECK(user_data_of(reap(pair.tested)) == numbers(1, 1));
  pair.tested.submit(1, none, false);
  CHECK(user_data_of(reap(pair.tested)) == numbers(2, 2));
}

TEST_CASE("U4: a wait that a signal cuts short goes on") {
  scripted_pair pair;
  const socket_pair sockets;
  char memory[8];
  receive(pair.tested, sockets.left(), memory, sizeof memory, 1);
  pair.tested.submit(0, none, false);
  pair.kernel.fail_enter(-EINTR, 3);
  unsigned enters = 0;
  pair.kernel.on_enter([&] {
    if (++enters == 4) sockets.write_right("late");
  });
  CHECK(pair.tested.submit(1, none, false).status == submit_status::done);
  CHECK(enters == 4);
  CHECK(pair.tested.stats().interrupted == 3);
  CHECK(reap(pair.tested) == std::vector<reaped>{{1, 4, 0}});
}

TEST_CASE("U4: a storm of signals gives the thread back to its caller") {
  scripted_pair pair;
  const socket_pair sockets;
  char memory[8];
  receive(pair.tested, sockets.left(), memory, sizeof memory, 1);
  pair.tested.submit(0, none, false);
  pair.kernel.fail_enter(-EINTR, 100);
  CHECK(pair.tested.submit(1, none, false).status == submit_status::done);
  CHECK(pair.tested.stats().interrupted == ring::interrupts_max + 1);
  CHECK(pair.tested.completions_ready() == 0);
}

TEST_CASE("U4: after a signal a relative wait is only as long as what is left of it") {
  watching_kernel kernel;
  ring tested;
  REQUIRE(tested.open(kernel, small_ring()) == 0);
  kernel.clock_step = 400;
  kernel.scripted.fail_enter(-EINTR, 2);
  kernel.scripted.fail_enter(-ETIME);
  CHECK(tested.submit(1, 2'000, false).status == submit_status::done);
  REQUIRE(kernel.waits.size() == 3);
  CHECK(kernel.waits[0].nanoseconds == 1'000);
  CHECK(kernel.waits[1].nanoseconds == 600);
  CHECK(kernel.waits[2].nanoseconds == 200);
}

TEST_CASE("U4: a deadline that passed meanwhile is not waited for") {
  watching_kernel kernel;
  ring tested;
  REQUIRE(tested.open(kernel, small_ring()) == 0);
  kernel.clock_step = 5'000;
  kernel.scripted.fail_enter(-EINTR);
  CHECK(tested.submit(1, 2'000, false).status == submit_status::done);
  REQUIRE(kernel.waits.size() == 2);
  CHECK(kernel.waits[1].min_complete == 0);
  CHECK(kernel.waits[1].nanoseconds == -1);
  CHECK((kernel.waits[1].flags & IORING_ENTER_GETEVENTS) != 0);
}

TEST_CASE("an absolute deadline goes to the kernel as it is") {
  watching_kernel kernel;
  ring tested;
  REQUIRE(tested.open(kernel, small_ring()) == 0);
  tested.use_absolute_deadlines(true);
  CHECK(tested.submit(1, 3'000'000'007, false).status == submit_status::done);
  REQUIRE(kernel.waits.size() == 1);
  CHECK(kernel.waits[0].nanoseconds == 3'000'000'007);
  CHECK((kernel.waits[0].flags & beck::uring::enter_abs_timer) != 0);
}

TEST_CASE("U4: a deadline without completions is an ordinary end of a wait") {
  for (const bool absolute : {false, true}) {
    scripted_pair pair;
    pair.tested.use_absolute_deadlines(absolute);
    const std::int64_t deadline_ns = pair.kernel.now_ns() + 1'000'000;
    CHECK(pair.tested.submit(1, deadline_ns, false).status == submit_status::done);
    CHECK(pair.kernel.now_ns() >= deadline_ns);
    CHECK(pair.tested.completions_ready() == 0);
  }
}

TEST_CASE("U5: overflown completions are flagged, fetched in order, and counted") {
  scripted_pair pair;
  pair.kernel.overflow_next(2);
  for (std::uint64_t index = 1; index <= 4; ++index) nop(pair.tested, index);
  pair.tested.submit(0, none, false);
  CHECK(pair.tested.flagged());
  CHECK(pair.tested.completions_ready() == 0);
  CHECK(pair.tested.submit(0, none, false).status == submit_status::done);
  CHECK_FALSE(pair.tested.flagged());
  CHECK(user_data_of(reap(pair.tested)) == numbers(1, 4));
  CHECK(pair.tested.stats().overflows == 1);
}

TEST_CASE("U5: a completion queue that is far too small loses nothing") {
  scripted_pair pair;
  for (std::uint64_t index = 1; index <= 40; ++index) {
    io_uring_sqe* const entry = pair.tested.get_entry_or_flush();
    REQUIRE(entry != nullptr);
    entry->user_data = index;
  }
  pair.tested.submit(0, none, false);
  std::vector<std::uint64_t> seen;
  while (pair.tested.completions_ready() > 0 || pair.tested.flagged()) {
    for (const reaped& each : reap(pair.tested)) seen.push_back(each.user_data);
    pair.tested.submit(0, none, false);
  }
  CHECK(seen == numbers(1, 40));
  CHECK(pair.kernel.stats().overflown == 32);
}

TEST_CASE(
    "U5: a completion that the kernel could not keep makes the ring unusable, not the program "
    "hang") {
  scripted_pair pair;
  pair.kernel.lose_next(1);
  nop(pair.tested, 1);
  const submit_result lost = pair.tested.submit(0, none, false);
  CHECK(lost.status == submit_status::failed);
  CHECK(lost.error == EBADR);
}

TEST_CASE("U6: a partial submission is carried on by the same call, which then waits") {
  scripted_pair pair;
  pair.kernel.take_at_most(1);
  pair.kernel.take_at_most(2);
  for (std::uint64_t index = 1; index <= 4; ++index) nop(pair.tested, index);
  CHECK(pair.tested.submit(4, none, false).status == submit_status::done);
  CHECK(user_data_of(reap(pair.tested)) == numbers(1, 4));
  CHECK(pair.tested.stats().partial == 2);
  CHECK(pair.tested.stats().enters == 3);
}

TEST_CASE("U6: a refusal after a part leaves only the rest") {
  scripted_pair pair;
  pair.kernel.take_at_most(3);
  for (std::uint64_t index = 1; index <= 4; ++index) nop(pair.tested, index);
  pair.kernel.on_enter([&] {
    if (pair.kernel.stats().enters == 2) pair.kernel.fail_enter(-EAGAIN);
  });
  CHECK(pair.tested.submit(0, none, false).status == submit_status::refused);
  CHECK(pair.tested.prepared() == 1);
  CHECK(pair.tested.submit(4, none, false).status == submit_status::done);
  CHECK(user_data_of(reap(pair.tested)) == numbers(1, 4));
}

TEST_CASE("U6: without SUBMIT_ALL a bad entry ends the batch, and the rest still goes") {
  ring_options options = small_ring();
  options.flags &= ~unsigned{IORING_SETUP_SUBMIT_ALL};
  scripted_pair pair(options);
  nop(pair.tested, 1);
  prepare(pair.tested, 250, -1, 2);
  nop(pair.tested, 3);
  CHECK(pair.tested.submit(3, none, false).status == submit_status::done);
  const std::vector<reaped> expected{{1, 0, 0}, {2, -EINVAL, 0}, {3, 0, 0}};
  CHECK(reap(pair.tested) == expected);
  CHECK(pair.tested.stats().partial == 1);
}

TEST_CASE("an error that no waiting cures is told with its name") {
  for (const int error : {EBADF, EFAULT, EEXIST, EPERM, EOPNOTSUPP}) {
    scripted_pair pair;
    nop(pair.tested, 1);
    pair.kernel.fail_enter(-error);
    const submit_result failed = pair.tested.submit(0, none, false);
    CHECK(failed.status == submit_status::failed);
    CHECK(failed.error == error);
  }
}

TEST_CASE("a completion handler that throws neither repeats nor loses a completion") {
  scripted_pair pair;
  for (std::uint64_t index = 1; index <= 4; ++index) nop(pair.tested, index);
  pair.tested.submit(4, none, false);
  const auto throw_at_two = [](const io_uring_cqe& entry) {
    if (entry.user_data == 2) throw std::runtime_error("two");
  };
  CHECK_THROWS(pair.tested.for_each_completion(throw_at_two));
  CHECK(user_data_of(reap(pair.tested)) == numbers(3, 4));
}

TEST_CASE("a completion handler may submit and reap") {
  scripted_pair pair;
  nop(pair.tested, 1);
  nop(pair.tested, 2);
  pair.tested.submit(2, none, false);
  std::vector<std::uint64_t> seen;
  pair.tested.for_each_completion([&](const io_uring_cqe& entry) {
    const std::uint64_t user_data = entry.user_data;
    seen.push_back(user_data);
    if (user_data != 1) return;
    nop(pair.tested, 3);
    pair.tested.submit(0, none, false);
    for (const reaped& each : reap(pair.tested)) seen.push_back(each.user_data);
  });
  CHECK(seen == numbers(1, 3));
  CHECK(reap(pair.tested).empty());
}

TEST_CASE("a ring that could not be mapped leaves nothing behind") {
  for (unsigned maps = 0; maps < 2; ++maps) {
    scripted_kernel kernel;
    kernel.refuse_map_after(maps);
    ring tested;
    CHECK(tested.open(kernel, small_ring()) == -ENOMEM);
    CHECK_FALSE(tested.is_open());
    CHECK(kernel.rings() == 0);
  }
}

TEST_CASE("a kernel whose sizes contradict each other is not believed") {
  for (const unsigned lie : {1U, 4U}) {
    watching_kernel kernel;
    kernel.lie_about_entries = lie;
    ring tested;
    CHECK(tested.open(kernel, small_ring()) < 0);
    CHECK_FALSE(tested.is_open());
    CHECK(kernel.scripted.rings() == 0);
  }
}

TEST_CASE("a closed ring can be opened again, and closing twice is nothing") {
  scripted_kernel kernel;
  ring tested;
  for (std::uint64_t round = 0; round < 3; ++round) {
    REQUIRE(tested.open(kernel, small_ring()) == 0);
    nop(tested, round);
    tested.submit(1, none, false);
    CHECK(user_data_of(reap(tested)) == numbers(round, round));
    tested.close();
    tested.close();
    CHECK(kernel.rings() == 0);
  }
}
