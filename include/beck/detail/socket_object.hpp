// SPDX-License-Identifier: BSL-1.0
// What sockets of every protocol do with system calls alone: open, bind, options, names. Not
// templates; the typed faces are in net/stream_socket.hpp and net/socket_acceptor.hpp.
#pragma once

#include <beck/detail/endpoint_data.hpp>
#include <beck/detail/io_object.hpp>
#include <beck/net/socket_option.hpp>

namespace beck::detail {

/// Untyped socket calls on a slot; results as everywhere: an error_code. Source: socket(2),
/// bind(2), ...
struct socket_calls {
  static void open(descriptor& d, int family, int type, int protocol, error_code& ec);
  static int open_for_connect(descriptor& d, int family, int type, int protocol) noexcept;
  static void adopt(descriptor& d, int fd, error_code& ec) noexcept;
  static void bind(descriptor& d, const void* address, std::size_t bytes, error_code& ec) noexcept;
  static void listen(descriptor& d, int backlog, error_code& ec) noexcept;
  static void shutdown(descriptor& d, int how, error_code& ec) noexcept;
  /// `bytes`: the room at `address`, then what was written.
  static void local_name(const descriptor& d, void* address, std::size_t& bytes,
                         error_code& ec) noexcept;
  static void remote_name(const descriptor& d, void* address, std::size_t& bytes,
                          error_code& ec) noexcept;
  static void set_option(descriptor& d, int level, int name, const void* value, std::size_t bytes,
                         error_code& ec) noexcept;
  static std::size_t get_option(const descriptor& d, int level, int name, void* value,
                                std::size_t bytes, error_code& ec) noexcept;
  /// The address family of an open socket (SO_DOMAIN).
  static int family_of(const descriptor& d, error_code& ec) noexcept;
  static void open_pair(descriptor& a, descriptor& b, int family, int type, int protocol,
                        error_code& ec);
  /// Gives a descriptor that accept4(2) made on `acceptor` to a slot, or closes it and says why.
  /// `protocol`: that of the acceptor.
  static error_code open_accepted(descriptor& d, descriptor& acceptor, int fd,
                                  int protocol) noexcept;
  /// 0 if something may be opened in `d` (of io_object::slot_to_open()), else a result as in io_op.
  static int openable(const descriptor& d) noexcept;
  static void close_number(descriptor& d, int fd) noexcept;
  static io_context& context_of(const descriptor& d) noexcept;
};

}  // namespace beck::detail
