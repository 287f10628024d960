// SPDX-License-Identifier: BSL-1.0
// The places that a server listens on, and the sockets that a worker has for them. For a port of
// TCP each context has its own socket; sockets with a path and inherited ones are shared by all
// contexts. posix_listener.cpp has the system calls that no acceptor makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>

#include <beck/base/unique_fd.hpp>
#include <beck/io/stream_layer.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>

namespace beck::http::detail {

/// The right to put a socket at a path: a lock on the file "PATH.lock", which exists only while the
/// lock is held. Without it two servers that find the same dead socket could each remove the socket
/// of the other. An abstract name needs no lock. Not in simulated worlds.
class path_lock {
 public:
  /// Takes the lock, or fails at once if another process has it.
  explicit path_lock(const local::stream_protocol::endpoint& at) noexcept;
  ~path_lock();
  path_lock(const path_lock&) = delete;
  path_lock& operator=(const path_lock&) = delete;

  /// Returns why there is no lock: address_in_use if another process has it, file_exists if the
  /// file is not empty and so belongs to another program, or the error of open(2).
  const error_code& error() const noexcept { return error_; }
  /// Returns the path of the lock's file.
  const char* name() const noexcept { return name_; }

 private:
  static constexpr std::size_t name_max = local::stream_protocol::endpoint::path_max + 8;

  char name_[name_max] = {};
  unique_fd fd_;
  error_code error_;
};

/// The file of a listening UNIX socket, and the socket for further contexts. The destructor removes
/// the file, unless another file has replaced it. Not in simulated worlds, which have no files.
class socket_file {
 public:
  /// Keeps the listening socket `fd`, whose path is that of `at`. Throws io_error.
  socket_file(int fd, const local::stream_protocol::endpoint& at);
  ~socket_file();
  socket_file(const socket_file&) = delete;
  socket_file& operator=(const socket_file&) = delete;

  int fd() const noexcept { return fd_.get(); }
  /// Removes the file of a socket that no process listens on. Returns whether it did. Requires the
  /// lock of the path.
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
/// they had one before: a second owner would close descriptors that have other uses by then.
/// Thread: any.
void claim_inherited();
/// Makes the kernel drop packets that would begin a connection of a listening TCP socket;
/// handshakes under way can end. Returns whether it does; not in simulated worlds.
bool refuse_new_connections(int fd) noexcept;
/// Owns an inherited descriptor, and makes it close-on-exec.
unique_fd take_inherited(int fd) noexcept;

/// A place to listen on.
struct listening_place {
  ip::tcp::endpoint at;
  local::stream_protocol::endpoint path;
  std::weak_ptr<socket_file> file;  ///< of `path`, while a context listens there
  unique_fd inherited;              ///< a listening socket
  stream_layer* layer = nullptr;    ///< of its connections; nullptr: none
  bool is_local = false;            ///< of UNIX: a path, or inherited
  bool any_family = false;          ///< IPv4 instead of IPv6, on a machine without IPv6
};

/// Returns the greatest number of descriptors of the process: RLIMIT_NOFILE.
std::size_t descriptors_max() noexcept;

/// A listening socket of one worker. Thread: that of the worker.
class listener {
 public:
  /// Listens at `where`, and fills in the port and the file there. Throws io_error.
  listener(const any_io_executor& executor, listening_place& where, bool share_port);

  /// Accepts into a closed socket, and writes the peer's endpoint if it is one of TCP.
  beck::detail::accept_into_operation accept(beck::detail::stream_object& into,
                                             ip::tcp::endpoint& peer);
  /// Accepts a waiting connection at once; else as accept(). Returns would_block if there is none.
  error_code accept_waiting(beck::detail::stream_object& into, ip::tcp::endpoint& peer);
  /// Begins to close: ends a pending accept and, where possible, makes the kernel refuse new
  /// connections. Connections that the kernel has accepted can still be accepted. The last listener
  /// of a path removes its file.
  void begin_close();
  /// Returns whether handshakes may be under way that begin_close() lets continue.
  bool ends_late() const noexcept { return refuses_new_; }
  /// Closes the listening socket.
  void close();
  stream_layer* layer() const noexcept { return layer_; }
  bool is_local() const noexcept { return socket_.index() == 1; }

 private:
  void open(const ip::tcp::endpoint& at, bool share_port);
  void open_path(listening_place& where);
  template <class Acceptor>
  void adopt(Acceptor& acceptor, int fd);

  std::variant<ip::tcp::acceptor, local::stream_protocol::acceptor> socket_;
  std::shared_ptr<socket_file> file_;
  stream_layer* layer_;
  bool is_shared_;  // with other processes
  bool refuses_new_ = false;
};

}  // namespace beck::http::detail
