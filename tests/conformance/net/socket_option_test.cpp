// SPDX-License-Identifier: BSL-1.0
// Options are what was set, and say so when they cannot be.
#include <beck/io/read_write.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>

#include <ostream>

#include "support/connections.hpp"
#include "support/context_options.hpp"

using beck::error_code;
using beck::ip::tcp;
using beck::test::loopback_v4;
namespace error = beck::error;

namespace {

template <class Option, class Socket>
Option option_of(const Socket& socket) {
  Option option;
  socket.get_option(option);
  return option;
}

}  // namespace

CONFORMANCE("no_delay and quick switches of TCP read back as they were set") {
  beck::io_context ctx(context_options());
  tcp::socket socket(ctx, tcp::v4());
  CHECK_FALSE(option_of<tcp::no_delay>(socket).value());
  socket.set_option(tcp::no_delay(true));
  CHECK(option_of<tcp::no_delay>(socket).value());
  socket.set_option(tcp::no_delay(false));
  CHECK_FALSE(static_cast<bool>(option_of<tcp::no_delay>(socket)));
}

CONFORMANCE("keep-alive and its three times read back as they were set") {
  beck::io_context ctx(context_options());
  tcp::socket socket(ctx, tcp::v4());
  socket.set_option(tcp::socket::keep_alive(true));
  socket.set_option(tcp::keep_alive_idle(30));
  socket.set_option(tcp::keep_alive_interval(5));
  socket.set_option(tcp::keep_alive_count(4));
  CHECK(option_of<tcp::socket::keep_alive>(socket).value());
  CHECK(option_of<tcp::keep_alive_idle>(socket).value() == 30);
  CHECK(option_of<tcp::keep_alive_interval>(socket).value() == 5);
  CHECK(option_of<tcp::keep_alive_count>(socket).value() == 4);
}

CONFORMANCE("linger reads back its switch and its seconds") {
  beck::io_context ctx(context_options());
  tcp::socket socket(ctx, tcp::v4());
  CHECK_FALSE(option_of<tcp::socket::linger>(socket).enabled());
  socket.set_option(tcp::socket::linger(true, 7));
  CHECK(option_of<tcp::socket::linger>(socket).enabled());
  CHECK(option_of<tcp::socket::linger>(socket).timeout() == 7);
}

CONFORMANCE("user_timeout reads back its milliseconds") {
  beck::io_context ctx(context_options());
  tcp::socket socket(ctx, tcp::v4());
  socket.set_option(tcp::user_timeout(1500));
  CHECK(option_of<tcp::user_timeout>(socket).value() == 1500);
}

CONFORMANCE("buffer sizes are at least what was asked for") {
  beck::io_context ctx(context_options());
  tcp::socket socket(ctx, tcp::v4());
  socket.set_option(tcp::socket::send_buffer_size(16384));
  socket.set_option(tcp::socket::receive_buffer_size(32768));
  CHECK(option_of<tcp::socket::send_buffer_size>(socket).value() >= 16384);
  CHECK(option_of<tcp::socket::receive_buffer_size>(socket).value() >= 32768);
}

CONFORMANCE("reuse_address and reuse_port read back as they were set") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx);
  acceptor.open(tcp::v4());
  acceptor.set_option(tcp::acceptor::reuse_address(true));
  acceptor.set_option(tcp::acceptor::reuse_port(true));
  CHECK(option_of<tcp::acceptor::reuse_address>(acceptor).value());
  CHECK(option_of<tcp::acceptor::reuse_port>(acceptor).value());
}

CONFORMANCE("two acceptors that agree on reuse_port share a port") {
  beck::io_context ctx(context_options());
  tcp::acceptor first(ctx);
  first.open(tcp::v4());
  first.set_option(tcp::acceptor::reuse_port(true));
  first.bind(loopback_v4());
  first.listen();
  tcp::acceptor second(ctx);
  second.open(tcp::v4());
  second.set_option(tcp::acceptor::reuse_port(true));
  CHECK_NOTHROW(second.bind(first.local_endpoint()));
  CHECK_NOTHROW(second.listen());
}

CONFORMANCE("v6_only belongs to IPv6 sockets and reads back as it was set") {
  beck::io_context ctx(context_options());
  tcp::socket socket(ctx, tcp::v6());
  socket.set_option(beck::ip::v6_only(true));
  CHECK(option_of<beck::ip::v6_only>(socket).value());
  tcp::socket v4(ctx, tcp::v4());
  error_code ec;
  v4.set_option(beck::ip::v6_only(true), ec);
  CHECK(ec == error::no_protocol_option);
}

CONFORMANCE("a generic option reaches the same setting as the named one") {
  beck::io_context ctx(context_options());
  tcp::socket socket(ctx, tcp::v4());
  socket.set_option(beck::generic_option<int>(tcp::no_delay::level(), tcp::no_delay::name(), 1));
  CHECK(option_of<tcp::no_delay>(socket).value());
  beck::generic_option<int> read_back(tcp::no_delay::level(), tcp::no_delay::name());
  socket.get_option(read_back);
  CHECK(read_back.value() == 1);
}

CONFORMANCE("an option that does not exist gives no_protocol_option") {
  beck::io_context ctx(context_options());
  tcp::socket socket(ctx, tcp::v4());
  error_code ec;
  socket.set_option(beck::generic_option<int>(6, 9999, 1), ec);
  CHECK(ec == error::no_protocol_option);
  beck::generic_option<int> option(6, 9999);
  socket.get_option(option, ec);
  CHECK(ec == error::no_protocol_option);
}

CONFORMANCE("a value out of an option's range gives invalid_argument and changes nothing") {
  beck::io_context ctx(context_options());
  tcp::socket socket(ctx, tcp::v4());
  socket.set_option(tcp::keep_alive_count(4));
  error_code ec;
  socket.set_option(tcp::keep_alive_count(100000), ec);
  CHECK(ec == error::invalid_argument);
  CHECK(option_of<tcp::keep_alive_count>(socket).value() == 4);
}

CONFORMANCE("a UNIX socket has buffer sizes but no TCP options") {
  beck::io_context ctx(context_options());
  beck::test::local_connection c(ctx);
  CHECK(option_of<beck::socket_base::send_buffer_size>(c.a).value() > 0);
  error_code ec;
  c.a.set_option(tcp::no_delay(true), ec);
  CHECK(ec == error::operation_not_supported);
}
