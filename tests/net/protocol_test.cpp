// SPDX-License-Identifier: BSL-1.0
// The protocols are values: what a program compares when it looks at an endpoint.
#include <doctest/doctest.h>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>

TEST_CASE("tcp over IPv4 and tcp over IPv6 are two different protocols") {
  using beck::ip::tcp;
  CHECK(tcp::v4() == tcp::v4());
  CHECK(tcp::v4() != tcp::v6());
  CHECK(beck::local::stream_protocol() == beck::local::stream_protocol());
}
