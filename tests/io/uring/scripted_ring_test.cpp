// SPDX-License-Identifier: BSL-1.0
//
// The scripted kernel itself: every kind of trouble it can make must be one that Linux may make,
// and must really be made. A fake that is too kind proves nothing, one that breaks the contract
// proves the wrong thing.
#include "support/scripted_ring.hpp"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "support/ring_entries.hpp"

using namespace beck::testing;
using beck::uring::ring;
using beck::uring::submit_status;

namespace {

constexpr std::int64_t none = ring::no_deadline;
constexpr unsigned edge = unsigned{EPOLLIN} | unsigned{EPOLLRDHUP} | unsigned{EPOLLET};
constexpr unsigned more = IORING_CQE_F_MORE;

struct bench {
  scripted_kernel kernel;
  ring tested;
  socket_pair sockets;
  char memory[64] = {};

  explicit bench(std::uint64_t seed = 1) : kernel(seed) { REQUIRE(tested.open(kernel, {}) == 0); }

  void arm_receive(std::uint64_t user_data) {
    receive(tested, sockets.left(), memory, sizeof memory, user_data);
    CHECK(turn(tested).empty());
  }
  void arm_poll(std::uint64_t user_data) {
    poll_always(tested, sockets.left(), edge, user_data);
    CHECK(turn(tested).empty());
  }
};

std::vector<reaped> sorted(std::vector<reaped> all) {
  std::sort(all.begin(), all.end(),
            [](const reaped& one, const reaped& other) { return one.user_data < other.user_data; });
  return all;
}

}  // namespace

TEST_CASE("scripted: an armed receive gets its data when somebody enters") {
  bench test;
  test.arm_receive(1);
  test.sockets.write_right("data");
  CHECK(test.tested.completions_ready() == 0);
  CHECK(turn(test.tested) == std::vector<reaped>{{1, 4, 0}});
  CHECK(std::string(test.memory, 4) == "data");
  CHECK(test.kernel.in_flight() == 0);
}

TEST_CASE("scripted: a wait sleeps until data comes") {
  bench test;
  test.arm_receive(1);
  std::thread writer([&test] { test.sockets.write_right("data"); });
  CHECK(test.tested.submit(1, none, false).status == submit_status::done);
  writer.join();
  CHECK(reap(test.tested) == std::vector<reaped>{{1, 4, 0}});
}

TEST_CASE("scripted: the end of a stream is a receive of nothing") {
  bench test;
  test.arm_receive(1);
  test.sockets.close_right();
  CHECK(turn(test.tested) == std::vector<reaped>{{1, 0, 0}});
}

TEST_CASE("scripted: an operation in flight holds its file open") {
  bench test;
  test.arm_receive(1);
  test.sockets.close_left();
  CHECK(test.sockets.read_right() == "EAGAIN");
  cancel(test.tested, 1, 2);
  const std::vector<reaped> expected{{2, 0, 0}, {1, -ECANCELED, 0}};
  CHECK(turn(test.tested) == expected);
  CHECK(test.sockets.read_right().empty());
}

TEST_CASE(
    "scripted: a ring that is closed with operations in flight is counted against its driver") {
  bench test;
  test.arm_receive(1);
  test.tested.close();
  CHECK(test.kernel.stats().abandoned == 1);
}

TEST_CASE("scripted: a full send waits for room, and moves all") {
  bench test;
  const std::string large(1 << 20, 'x');
  io_uring_sqe& entry = send(test.tested, test.sockets.left(), large.data(), 1 << 20, 1);
  entry.msg_flags = MSG_WAITALL;
  CHECK(turn(test.tested).empty());
  std::size_t received = 0;
  std::vector<reaped> all;
  while (received < large.size()) {
    const std::string part = test.sockets.read_right();
    if (part != "EAGAIN") received += part.size();
    for (const reaped& each : turn(test.tested)) all.push_back(each);
  }
  CHECK(all == std::vector<reaped>{{1, 1 << 20, 0}});
}

TEST_CASE("U10: a send can be short even when all was asked for") {
  bench test;
  test.kernel.shorten_transfer(3);
  send(test.tested, test.sockets.left(), "abcdef", 6, 1).msg_flags = MSG_WAITALL;
  CHECK(turn(test.tested) == std::vector<reaped>{{1, 3, 0}});
  CHECK(test.sockets.read_right() == "abc");
}

TEST_CASE("U7: a cancelled transfer reports what it has moved") {
  bench test;
  io_uring_sqe& entry = receive(test.tested, test.sockets.left(), test.memory, 10, 1);
  entry.msg_flags = MSG_WAITALL;
  CHECK(turn(test.tested).empty());
  test.sockets.write_right("four");
  CHECK(turn(test.tested).empty());
  cancel(test.tested, 1, 2);
  const std::vector<reaped> expected{{2, 0, 0}, {1, 4, 0}};
  CHECK(turn(test.tested) == expected);
}

TEST_CASE("U7: a cancel that finds nothing says so") {
  bench test;
  cancel(test.tested, 1, 2);
  CHECK(turn(test.tested) == std::vector<reaped>{{2, -ENOENT, 0}});
}

TEST_CASE("U7: a cancel that answers EALREADY leaves its target to end by itself") {
  bench test;
  test.arm_receive(1);
  test.kernel.answer_cancel(-EALREADY);
  cancel(test.tested, 1, 2);
  CHECK(turn(test.tested) == std::vector<reaped>{{2, -EALREADY, 0}});
  CHECK(test.kernel.in_flight() == 1);
  CHECK(turn(test.tested) == std::vector<reaped>{{1, -ECANCELED, 0}});

  test.arm_receive(1);
  test.kernel.answer_cancel(-EALREADY);
  cancel(test.tested, 1, 2);
  CHECK(turn(test.tested) == std::vector<reaped>{{2, -EALREADY, 0}});
  test.sockets.write_right("won");
  CHECK(turn(test.tested) == std::vector<reaped>{{1, 3, 0}});
}

TEST_CASE("U7: a cancel that answers ENOENT came after its target had ended") {
  bench test;
  test.arm_receive(1);
  test.sockets.write_right("won");
  test.kernel.answer_cancel(-ENOENT);
  cancel(test.tested, 1, 2);
  const std::vector<reaped> expected{{1, 3, 0}, {2, -ENOENT, 0}};
  CHECK(turn(test.tested) == expected);
}

TEST_CASE("U7: the target of a cancel can be reaped before the cancel's own answer") {
  bench test;
  test.arm_receive(1);
  test.kernel.reverse_completions(true);
  cancel(test.tested, 1, 2);
  const std::vector<reaped> expected{{1, -ECANCELED, 0}, {2, 0, 0}};
  CHECK(turn(test.tested) == expected);
}

TEST_CASE("one cancel can end everything on a descriptor, or everything") {
  for (const unsigned flags :
       {IORING_ASYNC_CANCEL_FD | IORING_ASYNC_CANCEL_ALL, IORING_ASYNC_CANCEL_ANY}) {
    bench test;
    test.arm_receive(1);
    test.arm_poll(2);
    io_uring_sqe& entry = prepare(test.tested, IORING_OP_ASYNC_CANCEL, test.sockets.left(), 3);
    entry.cancel_flags = flags;
    const std::vector<reaped> expected{{1, -ECANCELED, 0}, {2, -ECANCELED, 0}, {3, 2, 0}};
    CHECK(sorted(turn(test.tested)) == expected);
  }
}

TEST_CASE("U8: a multishot poll reports each edge, and can end with any result") {
  for (const int result : {int{EPOLLIN}, -ECANCELED, -ENOMEM}) {
    bench test;
    test.arm_poll(1);
    for (int round = 0; round < 3; ++round) {
      test.sockets.write_right("x");
      CHECK(turn(test.tested) == std::vector<reaped>{{1, EPOLLIN, more}});
      CHECK(turn(test.tested).empty());
    }
    CHECK(test.kernel.end_multishots(result) == 1);
    CHECK(test.tested.flagged());
    CHECK(turn(test.tested) == std::vector<reaped>{{1, result, 0}});
    CHECK(test.kernel.in_flight() == 0);
  }
}

TEST_CASE("U8: a completion can be chosen, of an operation that goes on or ends with it") {
  bench test;
  test.arm_poll(1);
  CHECK(test.kernel.complete(1, EPOLLHUP, more) == 1);
  CHECK(turn(test.tested) == std::vector<reaped>{{1, EPOLLHUP, more}});
  test.sockets.write_right("x");
  CHECK(turn(test.tested) == std::vector<reaped>{{1, EPOLLIN, more}});
  CHECK(test.kernel.complete(1, EPOLLIN) == 1);
  CHECK(turn(test.tested) == std::vector<reaped>{{1, EPOLLIN, 0}});
  CHECK(test.kernel.complete(1, 0) == 0);
}

TEST_CASE(
    "U8, U9: a multishot receive fills provided buffers, ends when there are none, and goes on") {
  bench test;
  alignas(16) std::array<io_uring_buf, 2> slots{};
  std::array<std::array<char, 4>, 2> buffers{};
  io_uring_buf_reg request{};
  request.ring_addr = reinterpret_cast<std::uintptr_t>(slots.data());
  request.ring_entries = 2;
  request.bgid = 5;
  REQUIRE(test.kernel.control(test.tested.fd(), IORING_REGISTER_PBUF_RING, &request, 1) == 0);
  auto& provided = *reinterpret_cast<io_uring_buf_ring*>(slots.data());
  const auto provide = [&](std::uint16_t id) {
    io_uring_buf& slot = slots[provided.tail & 1U];
    slot.addr = reinterpret_cast<std::uintptr_t>(buffers[id].data());
    slot.len = 4;
    slot.bid = id;
    ++provided.tail;
  };
  const auto arm = [&](std::uint64_t user_data) {
    io_uring_sqe& entry = prepare(test.tested, IORING_OP_RECV, test.sockets.left(), user_data);
    entry.ioprio = IORING_RECV_MULTISHOT;
    entry.flags = IOSQE_BUFFER_SELECT;
    entry.buf_group = 5;
  };
  const auto filled = [](std::uint16_t id, unsigned others) {
    return IORING_CQE_F_BUFFER | unsigned{id} << IORING_CQE_BUFFER_SHIFT | others;
  };
  provide(0);
  provide(1);
  arm(1);
  CHECK(turn(test.tested).empty());
  test.sockets.write_right("abcdefghij");
  const std::vector<reaped> expected{{1, 4, filled(0, more | IORING_CQE_F_SOCK_NONEMPTY)},
                                     {1, 4, filled(1, more | IORING_CQE_F_SOCK_NONEMPTY)},
                                     {1, -ENOBUFS, 0}};
  CHECK(turn(test.tested) == expected);
  CHECK(std::string(buffers[1].data(), 4) == "efgh");
  provide(0);
  arm(2);
  CHECK(turn(test.tested).front() == reaped{2, 2, filled(0, more)});
  CHECK(test.kernel.control(test.tested.fd(), IORING_UNREGISTER_PBUF_RING, &request, 1) == 0);
}

TEST_CASE("U18: operations in flight can end unasked, and their data stays where it was") {
  for (const int result : {-ECANCELED, -EFAULT}) {
    bench test;
    test.arm_receive(1);
    test.sockets.write_right("kept");
    CHECK(test.kernel.end_operations(result) == 1);
    CHECK(turn(test.tested) == std::vector<reaped>{{1, result, 0}});
    CHECK(test.sockets.read_left() == "kept");
  }
}

TEST_CASE("U17: a ring with one issuer refuses every other thread") {
  scripted_kernel kernel;
  ring tested;
  REQUIRE(tested.open(kernel, {.flags = beck::uring::owned_thread_ring_flags}) == 0);
  nop(tested, 1);
  std::thread([&tested] { CHECK(tested.submit(0, none, false).error == EEXIST); }).join();
  CHECK(tested.submit(1, none, false).status == submit_status::done);
}

TEST_CASE(
    "scripted: completions that are held back are flagged, and come when the thread would sleep") {
  bench test;
  test.kernel.set_chances({.hold_completion = 1000});
  nop(test.tested, 1);
  CHECK(turn(test.tested).empty());
  CHECK(test.tested.flagged());
  CHECK(test.tested.submit(1, none, false).status == submit_status::done);
  CHECK(reap(test.tested) == std::vector<reaped>{{1, 0, 0}});
  CHECK_FALSE(test.tested.flagged());
}

TEST_CASE("scripted: task work is flagged when a test looks and an operation could go on") {
  bench test;
  test.arm_receive(1);
  test.kernel.look();
  CHECK_FALSE(test.tested.flagged());
  test.sockets.write_right("x");
  test.kernel.look();
  CHECK(test.tested.flagged());
  CHECK(turn(test.tested) == std::vector<reaped>{{1, 1, 0}});
  CHECK_FALSE(test.tested.flagged());
}

TEST_CASE("scripted: a timer ends at its time, or is taken away") {
  bench test;
  const __kernel_timespec soon{0, 1'000'000};
  const __kernel_timespec late{1'000'000, 0};
  const std::int64_t start_ns = test.kernel.now_ns();
  prepare(test.tested, IORING_OP_TIMEOUT, -1, 1).addr = reinterpret_cast<std::uintptr_t>(&soon);
  prepare(test.tested, IORING_OP_TIMEOUT, -1, 2).addr = reinterpret_cast<std::uintptr_t>(&late);
  CHECK(test.tested.submit(1, none, false).status == submit_status::done);
  CHECK(test.kernel.now_ns() - start_ns >= 1'000'000);
  CHECK(reap(test.tested) == std::vector<reaped>{{1, -ETIME, 0}});
  prepare(test.tested, IORING_OP_TIMEOUT_REMOVE, -1, 3).addr = 2;
  const std::vector<reaped> expected{{3, 0, 0}, {2, -ECANCELED, 0}};
  CHECK(turn(test.tested) == expected);
}

TEST_CASE("scripted: files, pipes and events are read and written where they are") {
  bench test;
  char name[] = "/tmp/scripted-ring-XXXXXX";
  const int file = ::mkstemp(name);
  REQUIRE(file >= 0);
  ::unlink(name);
  io_uring_sqe& write = prepare(test.tested, IORING_OP_WRITE, file, 1);
  write.addr = reinterpret_cast<std::uintptr_t>("0123456789");
  write.len = 10;
  write.off = 2;
  CHECK(turn(test.tested) == std::vector<reaped>{{1, 10, 0}});
  io_uring_sqe& read = prepare(test.tested, IORING_OP_READ, file, 2);
  read.addr = reinterpret_cast<std::uintptr_t>(test.memory);
  read.len = 4;
  read.off = 5;
  prepare(test.tested, IORING_OP_FSYNC, file, 3);
  const std::vector<reaped> expected{{2, 4, 0}, {3, 0, 0}};
  CHECK(turn(test.tested) == expected);
  CHECK(std::string(test.memory, 4) == "3456");
  ::close(file);

  const int event = ::eventfd(0, EFD_CLOEXEC);
  io_uring_sqe& wait = prepare(test.tested, IORING_OP_READ, event, 4);
  wait.addr = reinterpret_cast<std::uintptr_t>(test.memory);
  wait.len = 8;
  CHECK(turn(test.tested).empty());
  const std::uint64_t one = 1;
  CHECK(::write(event, &one, sizeof one) == 8);
  CHECK(turn(test.tested) == std::vector<reaped>{{4, 8, 0}});
  ::close(event);
}

TEST_CASE("scripted: connections are made and accepted") {
  bench test;
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&address), bytes) == 0);
  REQUIRE(::listen(listener, 4) == 0);
  REQUIRE(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  io_uring_sqe& accept = prepare(test.tested, IORING_OP_ACCEPT, listener, 1);
  accept.accept_flags = SOCK_CLOEXEC;
  CHECK(turn(test.tested).empty());
  io_uring_sqe& connect = prepare(test.tested, IORING_OP_CONNECT, client, 2);
  connect.addr = reinterpret_cast<std::uintptr_t>(&address);
  connect.off = sizeof address;
  CHECK(test.tested.submit(2, none, false).status == submit_status::done);
  const std::vector<reaped> both = sorted(reap(test.tested));
  REQUIRE(both.size() == 2);
  CHECK(both[0].result > 0);
  CHECK(both[1].result == 0);
  for (const int fd : {listener, client, both[0].result}) ::close(fd);
}

TEST_CASE("scripted: what is not modelled is refused, not ignored") {
  bench test;
  prepare(test.tested, IORING_OP_NOP, -1, 1).flags = IOSQE_IO_LINK;
  prepare(test.tested, IORING_OP_SPLICE, -1, 2);
  prepare(test.tested, IORING_OP_RECV, -1, 3);
  prepare(test.tested, IORING_OP_POLL_ADD, 999'999, 4);
  const std::vector<reaped> expected{
      {1, -EINVAL, 0}, {2, -EINVAL, 0}, {3, -EBADF, 0}, {4, -EBADF, 0}};
  CHECK(turn(test.tested) == expected);
}

TEST_CASE("scripted: the same seed makes the same trouble") {
  const auto trouble = [](std::uint64_t seed) {
    bench test(seed);
    test.kernel.set_chances(rough_chances);
    std::vector<reaped> all;
    for (std::uint64_t index = 0; index < 200; ++index) {
      nop(test.tested, index);
      if (index % 8 != 7) continue;
      test.tested.submit(static_cast<unsigned>(index % 3), none, true);
      for (const reaped& each : reap(test.tested)) all.push_back(each);
    }
    return user_data_of(all);
  };
  CHECK(trouble(1) == trouble(1));
  CHECK(trouble(1) != trouble(2));
}
