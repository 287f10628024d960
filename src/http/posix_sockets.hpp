// SPDX-License-Identifier: BSL-1.0
// The system calls of listening sockets that are no acceptor's: files of UNIX sockets, duplicates
// for further contexts, and sockets that were inherited.
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/base/unique_fd.hpp>
#include <beck/net/local.hpp>

namespace beck::http::detail {

/// The file of a listening UNIX socket, and that socket for further contexts. Removes the file at
/// its end, unless another one has taken its place. Not in simulated worlds, which have no files.
class socket_file {
 public:
  /// Keeps the listening socket `fd`, which has the path of `at`. Throws io_error.
  socket_file(int fd, const local::stream_protocol::endpoint& at);
  ~socket_file();
  socket_file(const socket_file&) = delete;
  socket_file& operator=(const socket_file&) = delete;

  int fd() const noexcept { return fd_.get(); }
  /// Removes the file of a socket that nobody listens on. Returns whether it did.
  static bool remove_stale(const local::stream_protocol::endpoint& at) noexcept;

 private:
  unique_fd fd_;
  local::stream_protocol::endpoint at_;
  std::uint64_t device_ = 0;
  std::uint64_t number_ = 0;  // 0: an abstract name, without a file
};

/// Returns another descriptor of the same socket. Throws io_error.
unique_fd duplicate_socket(int fd);

/// The first descriptor that systemd passes.
inline constexpr int inherited_first = 3;
/// Returns how many sockets systemd has passed to this process. Throws std::invalid_argument if
/// LISTEN_FDS is no such number. Source: sd_listen_fds(3).
std::size_t count_inherited();
/// Checks that `fd` is a listening stream socket. Returns whether it is one of UNIX, not TCP.
/// Throws std::invalid_argument, which names it, for any other descriptor.
bool is_local_listener(int fd);
/// Notes that the inherited descriptors of this process have an owner. Throws std::logic_error if
/// they had one before: a second one would close descriptors that are others' by then. Thread: any.
void claim_inherited();
/// Owns an inherited descriptor, and makes it close-on-exec.
unique_fd take_inherited(int fd) noexcept;

}  // namespace beck::http::detail
