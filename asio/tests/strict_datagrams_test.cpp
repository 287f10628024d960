// SPDX-License-Identifier: BSL-1.0
// Datagrams with BECK_ASIO_STRICT_DATAGRAMS. Without it: asio/semantics/transfers.cpp.
#include <doctest/doctest.h>

#include <asio.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

using asio::ip::udp;

CONFORMANCE_ON(
    ::beck::test::kernel,
    "with BECK_ASIO_STRICT_DATAGRAMS a long datagram is an error, with the bytes that fit") {
  asio::io_context context(context_options());
  const udp::endpoint any(asio::ip::address_v4::loopback(), 0);
  udp::socket sender(context, any);
  udp::socket receiver(context, any);
  sender.send_to(asio::buffer("hello", 5), receiver.local_endpoint());
  char data[3];
  udp::endpoint from;
  asio::error_code result;
  std::size_t bytes = 0;
  receiver.async_receive_from(asio::buffer(data), from, [&](asio::error_code ec, std::size_t n) {
    result = ec;
    bytes = n;
  });
  context.run();
  CHECK(result == asio::error::message_size);
  CHECK(bytes == 3);
  CHECK(from == sender.local_endpoint());
}

CONFORMANCE_ON(::beck::test::kernel, "BECK_ASIO_STRICT_DATAGRAMS is for UNIX datagrams, too") {
  asio::io_context context(context_options());
  asio::local::datagram_protocol::socket sender(context);
  asio::local::datagram_protocol::socket receiver(context);
  asio::local::connect_pair(sender, receiver);
  sender.send(asio::buffer("hello", 5));
  char data[3];
  asio::error_code ec;
  CHECK(receiver.receive(asio::buffer(data), 0, ec) == 3);
  CHECK(ec == asio::error::message_size);
}
