// SPDX-License-Identifier: BSL-1.0
// serial_port: a stream descriptor over a terminal device, with the options of its line.
#pragma once

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>
#include <beck/asio/posix.hpp>

BECK_ASIO_BEGIN

namespace facade {

/// A speed and its constant in <termios.h>.
struct port_speed {
  unsigned rate;
  speed_t constant;
};

inline constexpr std::array<port_speed, 30> port_speeds{{
    {0, B0},
    {50, B50},
    {75, B75},
    {110, B110},
    {134, B134},
    {150, B150},
    {200, B200},
    {300, B300},
    {600, B600},
    {1200, B1200},
    {1800, B1800},
    {2400, B2400},
    {4800, B4800},
    {9600, B9600},
    {19200, B19200},
    {38400, B38400},
    {57600, B57600},
    {115200, B115200},
    {230400, B230400},
    {460800, B460800},
    {500000, B500000},
    {576000, B576000},
    {921600, B921600},
    {1000000, B1000000},
    {1152000, B1152000},
    {1500000, B1500000},
    {2000000, B2000000},
    {2500000, B2500000},
    {3000000, B3000000},
    {4000000, B4000000},
}};

}  // namespace facade

/// The options of serial ports. Each has store() and load(), of a termios(3).
class serial_port_base {
 public:
  /// The speed of both directions. Error of store(): invalid_argument for one that Linux has not.
  class baud_rate {
   public:
    explicit baud_rate(unsigned rate = 0) noexcept : value_(rate) {}
    unsigned value() const noexcept { return value_; }
    beck::error_code store(termios& line, beck::error_code& ec) const noexcept {
      ec = error::invalid_argument;
      for (const facade::port_speed& speed : facade::port_speeds) {
        if (speed.rate == value_ && ::cfsetspeed(&line, speed.constant) == 0) ec.clear();
      }
      return ec;
    }
    beck::error_code load(const termios& line, beck::error_code& ec) noexcept {
      ec = error::invalid_argument;
      for (const facade::port_speed& speed : facade::port_speeds) {
        if (speed.constant != ::cfgetospeed(&line)) continue;
        value_ = speed.rate;
        ec.clear();
      }
      return ec;
    }

   private:
    unsigned value_;
  };

  /// How a receiver stops the sender: not at all, by the characters XON and XOFF, or by the lines
  /// RTS and CTS.
  class flow_control {
   public:
    enum type { none, software, hardware };
    explicit flow_control(type t = none) noexcept : value_(t) {}
    type value() const noexcept { return value_; }
    beck::error_code store(termios& line, beck::error_code& ec) const noexcept {
      ec.clear();
      constexpr tcflag_t characters = IXON | IXOFF;
      line.c_iflag = (line.c_iflag & ~characters) | (value_ == software ? characters : 0);
      constexpr tcflag_t lines = CRTSCTS;
      line.c_cflag = (line.c_cflag & ~lines) | (value_ == hardware ? lines : 0);
      return ec;
    }
    beck::error_code load(const termios& line, beck::error_code& ec) noexcept {
      ec.clear();
      value_ = (line.c_iflag & (IXON | IXOFF)) != 0 ? software
               : (line.c_cflag & CRTSCTS) != 0      ? hardware
                                                    : none;
      return ec;
    }

   private:
    type value_;
  };

  /// The bit that is added to each character.
  class parity {
   public:
    enum type { none, odd, even };
    explicit parity(type t = none) noexcept : value_(t) {}
    type value() const noexcept { return value_; }
    beck::error_code store(termios& line, beck::error_code& ec) const noexcept {
      ec.clear();
      constexpr tcflag_t checks = IGNPAR | PARMRK | INPCK;
      const tcflag_t check = value_ == none ? IGNPAR : INPCK;
      line.c_iflag = (line.c_iflag & ~checks) | check;
      constexpr tcflag_t bits = PARENB | PARODD;
      const tcflag_t bit = value_ == none ? 0 : value_ == even ? PARENB : PARENB | PARODD;
      line.c_cflag = (line.c_cflag & ~bits) | bit;
      return ec;
    }
    beck::error_code load(const termios& line, beck::error_code& ec) noexcept {
      ec.clear();
      value_ = (line.c_cflag & PARENB) == 0 ? none : (line.c_cflag & PARODD) != 0 ? odd : even;
      return ec;
    }

   private:
    type value_;
  };

  /// The number of bits behind each character. Error of store(): operation_not_supported for
  /// `onepointfive`.
  class stop_bits {
   public:
    enum type { one, onepointfive, two };
    explicit stop_bits(type t = one) noexcept : value_(t) {}
    type value() const noexcept { return value_; }
    beck::error_code store(termios& line, beck::error_code& ec) const noexcept {
      ec.clear();
      if (value_ == onepointfive) {
        ec = error::operation_not_supported;
        return ec;
      }
      constexpr tcflag_t second = CSTOPB;
      line.c_cflag = (line.c_cflag & ~second) | (value_ == two ? second : 0);
      return ec;
    }
    beck::error_code load(const termios& line, beck::error_code& ec) noexcept {
      ec.clear();
      value_ = (line.c_cflag & CSTOPB) != 0 ? two : one;
      return ec;
    }

   private:
    type value_;
  };

  /// The number of bits of a character, 5 to 8.
  class character_size {
   public:
    /// Throws std::out_of_range.
    explicit character_size(unsigned bits = 8) : value_(bits) {
      if (bits < 5 || bits > 8) throw std::out_of_range("character_size: not 5 to 8 bits");
    }
    unsigned value() const noexcept { return value_; }
    beck::error_code store(termios& line, beck::error_code& ec) const noexcept {
      ec.clear();
      constexpr tcflag_t size = CSIZE;
      line.c_cflag = (line.c_cflag & ~size) | sizes[value_ - 5];
      return ec;
    }
    beck::error_code load(const termios& line, beck::error_code& ec) noexcept {
      ec.clear();
      for (unsigned i = 0; i < sizes.size(); ++i) {
        if ((line.c_cflag & CSIZE) == sizes[i]) value_ = i + 5;
      }
      return ec;
    }

   private:
    static constexpr std::array<tcflag_t, 4> sizes{CS5, CS6, CS7, CS8};
    unsigned value_;
  };

 protected:
  ~serial_port_base() = default;
};

/// A serial port: reads, writes, waits and cancel() are those of a posix::stream_descriptor.
template <class Executor = beck::any_io_executor>
class basic_serial_port : public beck::posix::basic_stream_descriptor<Executor>,
                          public serial_port_base {
  using base = beck::posix::basic_stream_descriptor<Executor>;

 public:
  /// The same type with another executor.
  template <class Other>
  struct rebind_executor {
    using other = basic_serial_port<Other>;
  };
  /// The object itself, for templates that also take streams in layers.
  using lowest_layer_type = basic_serial_port;
  lowest_layer_type& lowest_layer() noexcept { return *this; }
  const lowest_layer_type& lowest_layer() const noexcept { return *this; }

  using base::base;
  /// Makes a port on `context`, and opens it. Throws a system_error.
  basic_serial_port(beck::io_context& context, const std::string& device)
    requires std::is_constructible_v<Executor, beck::io_context::executor_type>
      : base(context) {
    open(device);
  }
  /// As above, on an executor.
  basic_serial_port(const Executor& on, const std::string& device) : base(on) { open(device); }

  /// Opens a device, without a controlling terminal: it passes all bytes as they are, and ignores
  /// the lines of a modem. Errors: already_open; those of open(2) and tcsetattr(3).
  beck::error_code open(const std::string& device, beck::error_code& ec) {
    if (this->is_open()) {
      ec = error::already_open;
      return ec;
    }
    const int fd = ::open(device.c_str(), O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
      ec = last_error();
      return ec;
    }
    termios line{};
    ec = ::tcgetattr(fd, &line) == 0 ? beck::error_code() : last_error();
    ::cfmakeraw(&line);
    line.c_iflag |= IGNPAR;
    line.c_cflag |= CREAD | CLOCAL;
    if (!ec && ::tcsetattr(fd, TCSANOW, &line) != 0) ec = last_error();
    if (!ec) this->assign(fd, ec);
    if (ec) ::close(fd);
    return ec;
  }
  /// As above. Throws a system_error.
  void open(const std::string& device) {
    beck::error_code ec;
    open(device, ec);
    beck::detail::throw_if(ec, "open");
  }

  /// Sends a break. Errors: those of tcsendbreak(3).
  beck::error_code send_break(beck::error_code& ec) noexcept {
    ec = ::tcsendbreak(this->native_handle(), 0) == 0 ? beck::error_code() : last_error();
    return ec;
  }
  /// As above. Throws a system_error.
  void send_break() {
    beck::error_code ec;
    send_break(ec);
    beck::detail::throw_if(ec, "send_break");
  }

  /// Sets an option. Errors: those of store(), tcgetattr(3) and tcsetattr(3).
  template <class Option>
  beck::error_code set_option(const Option& option, beck::error_code& ec) {
    termios line = settings(ec);
    if (!ec) option.store(line, ec);
    if (!ec && ::tcsetattr(this->native_handle(), TCSANOW, &line) != 0) ec = last_error();
    return ec;
  }
  /// As above. Throws a system_error.
  template <class Option>
  void set_option(const Option& option) {
    beck::error_code ec;
    set_option(option, ec);
    beck::detail::throw_if(ec, "set_option");
  }
  /// Reads an option. Errors: those of tcgetattr(3) and load().
  template <class Option>
  beck::error_code get_option(Option& option, beck::error_code& ec) const {
    const termios line = settings(ec);
    if (!ec) option.load(line, ec);
    return ec;
  }
  /// As above. Throws a system_error.
  template <class Option>
  void get_option(Option& option) const {
    beck::error_code ec;
    get_option(option, ec);
    beck::detail::throw_if(ec, "get_option");
  }

 private:
  static beck::error_code last_error() noexcept { return {errno, std::system_category()}; }
  termios settings(beck::error_code& ec) const noexcept {
    termios line{};
    ec = ::tcgetattr(this->native_handle(), &line) == 0 ? beck::error_code() : last_error();
    return line;
  }
};

/// A serial port with any executor.
using serial_port = basic_serial_port<>;

BECK_ASIO_END
