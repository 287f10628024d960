// SPDX-License-Identifier: BSL-1.0
// The protocols are values: what a program compares when it looks at an endpoint.
#include <doctest/doctest.h>
#include <beck/net/local.hpp>
#include <beck/net/local_datagram.hpp>
#include <beck/net/multicast.hpp>
#include <beck/net/tcp.hpp>
#include <beck/net/udp.hpp>

#include <cstring>

TEST_CASE("tcp over IPv4 and tcp over IPv6 are two different protocols") {
  using beck::ip::tcp;
  CHECK(tcp::v4() == tcp::v4());
  CHECK(tcp::v4() != tcp::v6());
  CHECK(beck::local::stream_protocol() == beck::local::stream_protocol());
}

TEST_CASE("udp over IPv4 and udp over IPv6 are two different protocols") {
  using beck::ip::udp;
  CHECK(udp::v4() == udp::v4());
  CHECK(udp::v4() != udp::v6());
  CHECK(udp::endpoint(udp::v6(), 7).protocol() == udp::v6());
  CHECK(udp::endpoint().protocol() == udp::v4());
  CHECK(beck::local::datagram_protocol() == beck::local::datagram_protocol());
}

TEST_CASE("an option for both versions of IP has a level and a name for each") {
  using beck::ip::multicast::hops;
  CHECK(hops::level(2) == 0);
  CHECK(hops::level(10) == 41);
  CHECK(hops::name(2) != hops::name(10));
  CHECK(hops(7).value() == 7);
  CHECK_FALSE(static_cast<bool>(hops()));
  static_assert(beck::detail::family_option<hops> &&
                !beck::detail::family_option<beck::ip::v6_only>);
}

TEST_CASE("a group option holds the group and the interface as the kernel takes them") {
  using beck::ip::address_v4;
  using beck::ip::address_v6;
  using beck::ip::multicast::join_group;
  const address_v4 group(address_v4::bytes_type(239, 1, 2, 3));
  const join_group four(group, address_v4::loopback());
  const unsigned char expected[8] = {239, 1, 2, 3, 127, 0, 0, 1};
  REQUIRE(four.size() == sizeof expected);
  CHECK(four.level() == 0);
  CHECK(std::memcmp(four.data(), expected, sizeof expected) == 0);
  const join_group same{beck::ip::address(group)};
  CHECK(std::memcmp(same.data(), expected, 4) == 0);

  const join_group six(beck::ip::make_address_v6("ff02::5"), 3);
  CHECK(six.level() == 41);
  REQUIRE(six.size() == 20);
  unsigned interface = 0;
  std::memcpy(&interface, static_cast<const char*>(six.data()) + 16, sizeof interface);
  CHECK(interface == 3);
}
