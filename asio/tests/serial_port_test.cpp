// SPDX-License-Identifier: BSL-1.0
// Serial ports, over pseudo terminals.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <asio.hpp>
#include <beck/base/unique_fd.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace {

using asio::serial_port;

/// A terminal: the side that a device would be, and the name of the other.
struct device {
  device() : end(::posix_openpt(O_RDWR | O_NOCTTY)) {
    REQUIRE(end.get() >= 0);
    REQUIRE(::grantpt(end.get()) == 0);
    REQUIRE(::unlockpt(end.get()) == 0);
    name = ::ptsname(end.get());
  }
  void send(const std::string& text) const {
    REQUIRE(::write(end.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  beck::unique_fd end;
  std::string name;
};

/// Sets an option and returns what the port says then.
template <class Option>
auto set_and_get(serial_port& port, Option option) {
  port.set_option(option);
  Option found;
  port.get_option(found);
  return found.value();
}

}  // namespace

CONFORMANCE_ON(::beck::test::kernel, "bytes pass through a serial port as they are") {
  asio::io_context context;
  device far;
  serial_port port(context, far.name);
  far.send("a\r\x03\n");
  std::string got(4, ' ');
  port.async_read_some(asio::buffer(got), [&](asio::error_code ec, std::size_t n) {
    CHECK(!ec);
    got.resize(n);
  });
  context.run();
  CHECK(got == "a\r\x03\n");
  CHECK(asio::write(port, asio::buffer("x\n", 2)) == 2);
  char bytes[4] = {};
  CHECK(::read(far.end.get(), bytes, sizeof bytes) == 2);
  CHECK(std::string(bytes) == "x\n");
}

CONFORMANCE_ON(::beck::test::kernel, "a waiting read of a serial port is cancelled") {
  asio::io_context context;
  device far;
  serial_port port(context.get_executor());
  port.open(far.name);
  char byte = 0;
  asio::error_code result;
  port.async_read_some(asio::buffer(&byte, 1),
                       [&](asio::error_code ec, std::size_t) { result = ec; });
  context.poll();
  port.cancel();
  context.restart();
  context.run();
  CHECK(result == asio::error::operation_aborted);
  serial_port moved = std::move(port);
  CHECK(!port.is_open());
  CHECK(moved.lowest_layer().is_open());
}

TEST_CASE("the options of a serial port are set and read") {
  asio::io_context context;
  device far;
  serial_port port(context, far.name);
  CHECK(set_and_get(port, serial_port::baud_rate(115200)) == 115200);
  CHECK(set_and_get(port, serial_port::flow_control(serial_port::flow_control::software)) ==
        serial_port::flow_control::software);
  CHECK(set_and_get(port, serial_port::flow_control(serial_port::flow_control::hardware)) ==
        serial_port::flow_control::hardware);
  CHECK(set_and_get(port, serial_port::flow_control()) == serial_port::flow_control::none);
  CHECK(set_and_get(port, serial_port::stop_bits(serial_port::stop_bits::two)) ==
        serial_port::stop_bits::two);
  CHECK(set_and_get(port, serial_port::stop_bits()) == serial_port::stop_bits::one);
  port.send_break();
}

TEST_CASE("the options of a serial port in a termios") {
  // A pseudo terminal has neither parity nor other sizes of a character.
  termios line{};
  asio::error_code ec;
  for (const auto value :
       {serial_port::parity::odd, serial_port::parity::even, serial_port::parity::none}) {
    serial_port::parity(value).store(line, ec);
    serial_port::parity found;
    found.load(line, ec);
    CHECK(found.value() == value);
    CHECK(((line.c_iflag & IGNPAR) != 0) == (value == serial_port::parity::none));
  }
  for (unsigned bits = 5; bits <= 8; ++bits) {
    serial_port::character_size(bits).store(line, ec);
    serial_port::character_size found;
    found.load(line, ec);
    CHECK(found.value() == bits);
  }
  CHECK(!ec);
  CHECK_THROWS_AS(serial_port::character_size(9), std::out_of_range);
  serial_port::baud_rate(12345).store(line, ec);
  CHECK(ec == asio::error::invalid_argument);
  serial_port::stop_bits(serial_port::stop_bits::onepointfive).store(line, ec);
  CHECK(ec == asio::error::operation_not_supported);
}

TEST_CASE("what is no serial port") {
  asio::io_context context;
  serial_port port(context);
  asio::error_code ec;
  const auto next_number = [] { return beck::unique_fd(::dup(STDIN_FILENO)).get(); };
  const int number = next_number();
  port.open("/dev/null", ec);
  CHECK(next_number() == number);  // it was closed again
  CHECK(ec == std::errc::inappropriate_io_control_operation);
  CHECK(!port.is_open());
  CHECK_THROWS_AS(port.open("/nowhere"), asio::system_error);
  port.set_option(serial_port::baud_rate(9600), ec);
  CHECK(ec == asio::error::bad_descriptor);
  device far;
  port.open(far.name);
  port.open(far.name, ec);
  CHECK(ec == asio::error::already_open);
}
