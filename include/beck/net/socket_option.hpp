// SPDX-License-Identifier: BSL-1.0
// Socket options as types, with Asio's names; generic_option takes any level and name that a
// program knows. The numbers are Linux's; src/net/socket_option.cpp checks them against its
// headers.
#pragma once

#include <cstddef>

namespace beck {

/// An option whose value is one int. Level and name as in setsockopt(2).
template <int Level, int Name>
class integer_option {
 public:
  constexpr integer_option() noexcept = default;
  constexpr explicit integer_option(int value) noexcept : value_(value) {}
  constexpr int value() const noexcept { return value_; }

  static constexpr int level() noexcept { return Level; }
  static constexpr int name() noexcept { return Name; }
  const void* data() const noexcept { return &value_; }
  void* data() noexcept { return &value_; }
  static constexpr std::size_t size() noexcept { return sizeof(int); }

 private:
  int value_ = 0;
};

template <int Level, int Name>
class boolean_option {
 public:
  constexpr boolean_option() noexcept = default;
  constexpr explicit boolean_option(bool value) noexcept : value_(value ? 1 : 0) {}
  constexpr bool value() const noexcept { return value_ != 0; }
  constexpr explicit operator bool() const noexcept { return value_ != 0; }

  static constexpr int level() noexcept { return Level; }
  static constexpr int name() noexcept { return Name; }
  const void* data() const noexcept { return &value_; }
  void* data() noexcept { return &value_; }
  static constexpr std::size_t size() noexcept { return sizeof(int); }

 private:
  int value_ = 0;
};

namespace detail {

/// SO_LINGER: whether and how long (seconds) close waits for unsent data. linger(true, 0) makes
/// close() reset the connection.
class linger_option {
 public:
  constexpr linger_option() noexcept = default;
  constexpr linger_option(bool enabled, int timeout_s) noexcept
      : on_(enabled ? 1 : 0), timeout_s_(timeout_s) {}
  constexpr bool enabled() const noexcept { return on_ != 0; }
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

/// Any option of a trivially copyable type.
template <class T>
class generic_option {
 public:
  constexpr generic_option(int option_level, int option_name, T value = T()) noexcept
      : level_(option_level), name_(option_name), value_(value) {}
  constexpr const T& value() const noexcept { return value_; }

  constexpr int level() const noexcept { return level_; }
  constexpr int name() const noexcept { return name_; }
  const void* data() const noexcept { return &value_; }
  void* data() noexcept { return &value_; }
  static constexpr std::size_t size() noexcept { return sizeof(T); }

 private:
  int level_;
  int name_;
  T value_;
};

/// Options that every socket has; basic_stream_socket and basic_socket_acceptor inherit the names.
/// Source: socket(7).
struct socket_base {
  static constexpr int max_listen_connections = 4096;
  static constexpr int max_connections = max_listen_connections;

  using reuse_address = boolean_option<1, 2>;
  using error_option = integer_option<1, 4>;
  using broadcast = boolean_option<1, 6>;
  using send_buffer_size = integer_option<1, 7>;
  using receive_buffer_size = integer_option<1, 8>;
  using keep_alive = boolean_option<1, 9>;
  using linger = detail::linger_option;
  using reuse_port = boolean_option<1, 15>;
  using receive_low_watermark = integer_option<1, 18>;

  static constexpr int shutdown_receive = 0;
  static constexpr int shutdown_send = 1;
  static constexpr int shutdown_both = 2;

  enum wait_type { wait_read, wait_write, wait_error };
};

namespace detail {

/// Options of TCP sockets; ip::tcp inherits the names. Source: tcp(7). Times are in seconds, except
/// user_timeout: milliseconds that sent data may stay unacknowledged.
struct tcp_options {
  using no_delay = boolean_option<6, 1>;
  using keep_alive_idle = integer_option<6, 4>;
  using keep_alive_interval = integer_option<6, 5>;
  using keep_alive_count = integer_option<6, 6>;
  using user_timeout = integer_option<6, 18>;
  using quick_ack = boolean_option<6, 12>;
};

}  // namespace detail

namespace ip {
/// IPV6_V6ONLY: whether a v6 socket refuses v4 peers. Source: ipv6(7).
using v6_only = boolean_option<41, 26>;
}  // namespace ip

}  // namespace beck
