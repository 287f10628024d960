// SPDX-License-Identifier: BSL-1.0
// The functions of sockets of every protocol that need nothing but system calls: open, bind,
// options, names. Not templates; the typed classes are in net/stream_socket.hpp and
// net/socket_acceptor.hpp.
#pragma once

#include <beck/detail/endpoint_data.hpp>
#include <beck/detail/io_object.hpp>
#include <beck/net/socket_option.hpp>

namespace beck::detail {

/// Untyped socket calls on a slot. They set `ec`, and clear it on success; those that need an open
/// socket set bad_descriptor if it is closed. Source: the manual page of the system call that each
/// names. Thread: that of the object (see io_object).
struct socket_calls {
  /// Opens a socket in `d`, with the arguments of socket(2). Errors: already_open; no_memory; those
  /// of socket(2).
  static void open(descriptor& d, int family, int type, int protocol, error_code& ec);
  /// Opens a socket in `d` unless one is open. Returns 0, or a negative result as in io_op.
  static int open_for_connect(descriptor& d, int family, int type, int protocol) noexcept;
  /// Takes over the socket `fd` and makes it non-blocking and close-on-exec. Errors: already_open;
  /// no_memory; bad_descriptor. With an error the caller still owns `fd`.
  static void adopt(descriptor& d, int fd, error_code& ec) noexcept;
  /// Binds the socket to the sockaddr of `bytes` bytes at `address`: bind(2).
  static void bind(descriptor& d, const void* address, std::size_t bytes, error_code& ec) noexcept;
  /// Starts to listen with a queue of `backlog` connections: listen(2).
  static void listen(descriptor& d, int backlog, error_code& ec) noexcept;
  /// Shuts down one or both directions: shutdown(2).
  static void shutdown(descriptor& d, int how, error_code& ec) noexcept;
  /// Writes the socket's own address to `address`: getsockname(2). `bytes` is the room there before
  /// the call and the size of the address after it.
  static void local_name(const descriptor& d, void* address, std::size_t& bytes,
                         error_code& ec) noexcept;
  /// Writes the peer's address to `address`: getpeername(2). `bytes` is the room there before the
  /// call and the size of the address after it.
  static void remote_name(const descriptor& d, void* address, std::size_t& bytes,
                          error_code& ec) noexcept;
  /// Sets an option from the `bytes` bytes at `value`: setsockopt(2).
  static void set_option(descriptor& d, int level, int name, const void* value, std::size_t bytes,
                         error_code& ec) noexcept;
  /// Writes an option to the `bytes` bytes at `value`: getsockopt(2). Returns the size of the
  /// option; 0 on failure.
  static std::size_t get_option(const descriptor& d, int level, int name, void* value,
                                std::size_t bytes, error_code& ec) noexcept;
  /// Returns the address family of an open socket (SO_DOMAIN); 0 on failure.
  static int family_of(const descriptor& d, error_code& ec) noexcept;
  /// Opens two sockets that are connected to each other: socketpair(2). Errors: already_open, also
  /// if `a` and `b` are the same; no_memory; those of socketpair(2). With an error both stay
  /// closed.
  static void open_pair(descriptor& a, descriptor& b, int family, int type, int protocol,
                        error_code& ec);
  /// Opens in `d` the descriptor `fd` that accept4(2) made on `acceptor`, or closes `fd` and
  /// returns the error: already_open; no_memory; operation_not_supported between two contexts of
  /// which one is a simulation. `protocol`: that of the acceptor.
  static error_code open_accepted(descriptor& d, descriptor& acceptor, int fd,
                                  int protocol) noexcept;
  /// Returns 0 if a descriptor may be opened in `d` (the result of io_object::slot_to_open()), else
  /// a negative result as in io_op: already open, or no memory for a slot.
  static int openable(const descriptor& d) noexcept;
  /// Closes the descriptor `fd`, which no slot has, through the system of `d`.
  static void close_number(descriptor& d, int fd) noexcept;
  /// Returns the context that drives `d`.
  static io_context& context_of(const descriptor& d) noexcept;
};

}  // namespace beck::detail
