// SPDX-License-Identifier: BSL-1.0
// ip::icmp: a raw socket, which needs CAP_NET_RAW.
#include <array>
#include <cstddef>
#include <iterator>
#include <type_traits>

#include <netinet/in.h>

#include <asio/basic_raw_socket.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/icmp.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace icmp_test {

using asio::ip::icmp;
static_assert(std::is_same_v<icmp::socket, asio::basic_raw_socket<icmp>>);

constexpr std::size_t ip_header_bytes = 20;
constexpr std::byte echo_reply{0}, echo_request{8};

}  // namespace icmp_test

CONFORMANCE_ON(::beck::test::kernel, "asio: the loopback replies to an echo request of icmp") {
  using namespace icmp_test;
  asio::io_context context(context_options());
  asio::error_code ec;
  icmp::socket socket(context);
  socket.open(icmp::v4(), ec);
  if (ec == asio::error::no_permission) return;  // without the capability
  REQUIRE_FALSE(ec);
  CHECK(icmp::v4() != icmp::v6());
  CHECK(icmp::v4().protocol() == IPPROTO_ICMP);
  CHECK(icmp::v6().protocol() == IPPROTO_ICMPV6);
  CHECK(socket.local_endpoint().protocol() == icmp::v4());

  icmp::resolver resolver(context);
  const icmp::endpoint loopback = *resolver.resolve(icmp::v4(), "127.0.0.1", "").begin();
  CHECK(loopback == icmp::endpoint(asio::ip::address_v4::loopback(), 0));
  // Type, code, checksum, identifier, sequence number: the words add up to 0xffff.
  const std::array<std::byte, 8> request{
      echo_request,    {}, std::byte{0x54}, std::byte{0x97}, std::byte{0xa3},
      std::byte{0x61}, {}, std::byte{0x07}};
  CHECK(socket.send_to(asio::buffer(request), loopback) == request.size());
  std::array<std::byte, 64> message{};
  icmp::endpoint from;
  std::size_t bytes = 0;
  do {  // the socket sees the request, and messages of others, too
    socket.async_receive_from(asio::buffer(message), from, [&](asio::error_code e, std::size_t n) {
      CHECK_FALSE(e);
      bytes = n;
    });
    context.restart();
    context.run();
  } while (message[ip_header_bytes] != echo_reply || message[ip_header_bytes + 4] != request[4] ||
           message[ip_header_bytes + 5] != request[5]);
  CHECK(bytes == ip_header_bytes + request.size());
  CHECK(from == loopback);
}
