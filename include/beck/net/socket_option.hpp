// SPDX-License-Identifier: BSL-1.0
// Socket options as types, with Asio's names; generic_option takes any level and name. The numbers
// are Linux's; src/net/socket_option.cpp checks them against its headers.
#pragma once

#include <cstddef>

#include <beck/detail/bytes_readable.hpp>

namespace beck {

/// An option whose value is one int. Level and name as in setsockopt(2). A value.
template <int Level, int Name>
class integer_option {
 public:
  constexpr integer_option() noexcept = default;
  /// Makes the option with this value.
  constexpr explicit integer_option(int value) noexcept : value_(value) {}
  /// Sets the value.
  constexpr integer_option& operator=(int value) noexcept {
    value_ = value;
    return *this;
  }
  /// Returns the value.
  constexpr int value() const noexcept { return value_; }

  /// Returns the level, for setsockopt(2).
  static constexpr int level() noexcept { return Level; }
  /// Returns the option's name, for setsockopt(2).
  static constexpr int name() noexcept { return Name; }
  /// Returns the bytes of the value.
  const void* data() const noexcept { return &value_; }
  /// Returns the bytes of the value, to be written.
  void* data() noexcept { return &value_; }
  /// Returns the number of bytes of the value.
  static constexpr std::size_t size() noexcept { return sizeof(int); }

 private:
  int value_ = 0;
};

/// An option that is on or off. Level and name as in setsockopt(2). A value.
template <int Level, int Name>
class boolean_option {
 public:
  constexpr boolean_option() noexcept = default;
  /// Makes the option with this value.
  constexpr explicit boolean_option(bool value) noexcept : value_(value ? 1 : 0) {}
  /// Sets the value.
  constexpr boolean_option& operator=(bool value) noexcept {
    value_ = value ? 1 : 0;
    return *this;
  }
  /// Returns the value.
  constexpr bool value() const noexcept { return value_ != 0; }
  /// Returns the value.
  constexpr explicit operator bool() const noexcept { return value_ != 0; }

  /// Returns the level, for setsockopt(2).
  static constexpr int level() noexcept { return Level; }
  /// Returns the option's name, for setsockopt(2).
  static constexpr int name() noexcept { return Name; }
  /// Returns the bytes of the value.
  const void* data() const noexcept { return &value_; }
  /// Returns the bytes of the value, to be written.
  void* data() noexcept { return &value_; }
  /// Returns the number of bytes of the value.
  static constexpr std::size_t size() noexcept { return sizeof(int); }

 private:
  int value_ = 0;
};

namespace detail {

/// SO_LINGER: whether and how long (seconds) close waits for unsent data. linger(true, 0) makes
/// close() reset the connection.
class linger_option {
 public:
  /// Makes linger off.
  constexpr linger_option() noexcept = default;
  /// Makes linger on or off, for `timeout_s` seconds.
  constexpr linger_option(bool enabled, int timeout_s) noexcept
      : on_(enabled ? 1 : 0), timeout_s_(timeout_s) {}
  /// Sets whether close() waits.
  constexpr void enabled(bool value) noexcept { on_ = value ? 1 : 0; }
  /// Sets the time in seconds.
  constexpr void timeout(int seconds) noexcept { timeout_s_ = seconds; }
  /// Returns whether close() waits.
  constexpr bool enabled() const noexcept { return on_ != 0; }
  /// Returns the time in seconds.
  constexpr int timeout() const noexcept { return timeout_s_; }

  static constexpr int level() noexcept { return 1; }
  static constexpr int name() noexcept { return 13; }
  const void* data() const noexcept { return &on_; }
  void* data() noexcept { return &on_; }
  static constexpr std::size_t size() noexcept { return 2 * sizeof(int); }

 private:
  int on_ = 0;  // laid out as struct linger
  int timeout_s_ = 0;
};

}  // namespace detail

/// Any option whose value is of a trivially copyable type. A value.
template <class T>
class generic_option {
 public:
  /// Makes the option with this level, name and value.
  constexpr generic_option(int option_level, int option_name, T value = T()) noexcept
      : level_(option_level), name_(option_name), value_(value) {}
  /// Returns the value.
  constexpr const T& value() const noexcept { return value_; }

  /// Returns the level, for setsockopt(2).
  constexpr int level() const noexcept { return level_; }
  /// Returns the option's name, for setsockopt(2).
  constexpr int name() const noexcept { return name_; }
  /// Returns the bytes of the value.
  const void* data() const noexcept { return &value_; }
  /// Returns the bytes of the value, to be written.
  void* data() noexcept { return &value_; }
  /// Returns the number of bytes of the value.
  static constexpr std::size_t size() noexcept { return sizeof(T); }

 private:
  int level_;
  int name_;
  T value_;
};

/// Options and constants of every socket; sockets and acceptors inherit the names. Source:
/// socket(7).
struct socket_base {
  /// The backlog of listen() by default.
  static constexpr int max_listen_connections = 4096;
  /// The older name of max_listen_connections.
  static constexpr int max_connections = max_listen_connections;

  /// SO_REUSEADDR: binding to a port in the TIME_WAIT state is allowed.
  using reuse_address = boolean_option<1, 2>;
  /// SO_ERROR: the pending error, which reading clears.
  using error_option = integer_option<1, 4>;
  /// SO_BROADCAST: sending datagrams to a broadcast address is allowed.
  using broadcast = boolean_option<1, 6>;
  /// SO_SNDBUF: the size of the kernel's send buffer in bytes; the kernel doubles it.
  using send_buffer_size = integer_option<1, 7>;
  /// SO_RCVBUF: the size of the kernel's receive buffer in bytes; the kernel doubles it.
  using receive_buffer_size = integer_option<1, 8>;
  /// SO_KEEPALIVE: idle connections are probed.
  using keep_alive = boolean_option<1, 9>;
  /// SO_LINGER: whether close() waits for unsent data, and how long.
  using linger = detail::linger_option;
  /// SO_REUSEPORT: several sockets may be bound to one port; the kernel distributes connections.
  using reuse_port = boolean_option<1, 15>;
  /// SO_RCVLOWAT: the bytes that must be there before the socket is readable.
  using receive_low_watermark = integer_option<1, 18>;

  /// SO_SNDLOWAT: which Linux does not change.
  using send_low_watermark = integer_option<1, 19>;
  /// SO_DEBUG: debugging information is recorded; needs privileges.
  using debug = boolean_option<1, 1>;
  /// SO_DONTROUTE: sends only to directly connected hosts.
  using do_not_route = boolean_option<1, 5>;
  /// SO_OOBINLINE: urgent data is received in its place among the rest.
  using out_of_band_inline = boolean_option<1, 10>;
  /// FIONREAD, for io_control(): the number of bytes that a read would return now.
  using bytes_readable = detail::bytes_readable_command;

  /// Flags of a transfer, combined with |: MSG_ values. Source: recv(2), send(2).
  using message_flags = int;
  static constexpr message_flags message_peek = 2;           ///< leaves the data there
  static constexpr message_flags message_out_of_band = 1;    ///< urgent data
  static constexpr message_flags message_do_not_route = 4;   ///< only to directly connected hosts
  static constexpr message_flags message_end_of_record = 8;  ///< ends a record; not for TCP

  /// The argument of shutdown().
  enum shutdown_type : int {
    shutdown_receive = 0,  ///< ends receiving (SHUT_RD)
    shutdown_send = 1,     ///< ends sending (SHUT_WR)
    shutdown_both = 2,     ///< ends both (SHUT_RDWR)
  };

  /// The event that wait() and async_wait() wait for.
  enum wait_type { wait_read, wait_write, wait_error };
};

namespace detail {

/// Options of TCP sockets; ip::tcp inherits the names. Source: tcp(7). Times are in seconds, except
/// user_timeout: milliseconds that sent data may stay unacknowledged.
struct tcp_options {
  /// TCP_NODELAY: sends at once instead of collecting small segments.
  using no_delay = boolean_option<6, 1>;
  /// TCP_KEEPIDLE: the time without traffic before the first probe, in seconds.
  using keep_alive_idle = integer_option<6, 4>;
  /// TCP_KEEPINTVL: the time between probes, in seconds.
  using keep_alive_interval = integer_option<6, 5>;
  /// TCP_KEEPCNT: the number of unanswered probes that ends the connection.
  using keep_alive_count = integer_option<6, 6>;
  /// TCP_USER_TIMEOUT: how long sent data may stay unacknowledged, in milliseconds.
  using user_timeout = integer_option<6, 18>;
  /// TCP_QUICKACK: acknowledges at once; the kernel may turn it off again.
  using quick_ack = boolean_option<6, 12>;
};

}  // namespace detail

namespace ip {
/// IPV6_V6ONLY: whether a v6 socket refuses v4 peers. Source: ipv6(7).
using v6_only = boolean_option<41, 26>;
}  // namespace ip

}  // namespace beck
