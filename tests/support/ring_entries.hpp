// SPDX-License-Identifier: BSL-1.0
//
// Short functions for the tests of the ring layer: entries, reaped completions, and pairs of
// sockets.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/uring/ring.hpp"

namespace beck::testing {

struct reaped {
  std::uint64_t user_data;
  int result;
  unsigned flags;

  bool goes_on() const { return (flags & IORING_CQE_F_MORE) != 0; }
  friend bool operator==(const reaped&, const reaped&) = default;
};

inline std::vector<reaped> reap(uring::ring& ring) {
  std::vector<reaped> all;
  ring.for_each_completion([&all](const io_uring_cqe& entry) {
    all.push_back({entry.user_data, entry.res, entry.flags});
  });
  return all;
}

/// Submits without waiting, and returns all completions.
inline std::vector<reaped> turn(uring::ring& ring) {
  ring.submit(0, uring::ring::no_deadline, true);
  return reap(ring);
}

inline std::vector<std::uint64_t> user_data_of(const std::vector<reaped>& all) {
  std::vector<std::uint64_t> each;
  for (const reaped& entry : all) each.push_back(entry.user_data);
  return each;
}

inline io_uring_sqe& prepare(uring::ring& ring, unsigned opcode, int fd, std::uint64_t user_data) {
  io_uring_sqe& entry = *ring.get_entry();
  entry.opcode = static_cast<__u8>(opcode);
  entry.fd = fd;
  entry.user_data = user_data;
  return entry;
}

inline void nop(uring::ring& ring, std::uint64_t user_data) {
  prepare(ring, IORING_OP_NOP, -1, user_data);
}

inline io_uring_sqe& receive(uring::ring& ring, int fd, void* memory, unsigned bytes,
                             std::uint64_t user_data) {
  io_uring_sqe& entry = prepare(ring, IORING_OP_RECV, fd, user_data);
  entry.addr = reinterpret_cast<std::uintptr_t>(memory);
  entry.len = bytes;
  return entry;
}

inline io_uring_sqe& send(uring::ring& ring, int fd, const void* memory, unsigned bytes,
                          std::uint64_t user_data) {
  io_uring_sqe& entry = prepare(ring, IORING_OP_SEND, fd, user_data);
  entry.addr = reinterpret_cast<std::uintptr_t>(memory);
  entry.len = bytes;
  return entry;
}

inline void poll_always(uring::ring& ring, int fd, unsigned events, std::uint64_t user_data) {
  io_uring_sqe& entry = prepare(ring, IORING_OP_POLL_ADD, fd, user_data);
  entry.poll32_events = events;
  entry.len = IORING_POLL_ADD_MULTI;
}

inline void cancel(uring::ring& ring, std::uint64_t target, std::uint64_t user_data) {
  prepare(ring, IORING_OP_ASYNC_CANCEL, -1, user_data).addr = target;
}

/// Two connected, non-blocking UNIX stream sockets.
class socket_pair {
 public:
  socket_pair() {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds_) != 0)
      fds_[0] = -1;
  }
  socket_pair(const socket_pair&) = delete;
  socket_pair& operator=(const socket_pair&) = delete;
  ~socket_pair() {
    close_left();
    close_right();
  }

  int left() const { return fds_[0]; }
  int right() const { return fds_[1]; }
  void close_left() { close_one(fds_[0]); }
  void close_right() { close_one(fds_[1]); }

  bool write_right(const std::string& text) const {
    return ::send(right(), text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }
  /// Returns the bytes that have arrived, "" at the end of the stream, "EAGAIN" if there are none.
  std::string read_right() const { return read_from(right()); }
  std::string read_left() const { return read_from(left()); }

 private:
  static void close_one(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  static std::string read_from(int fd) {
    char memory[4096];
    const ssize_t count = ::recv(fd, memory, sizeof memory, MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN ? "EAGAIN" : "error";
    return {memory, static_cast<std::size_t>(count)};
  }

  int fds_[2] = {-1, -1};
};

}  // namespace beck::testing
