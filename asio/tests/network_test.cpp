// SPDX-License-Identifier: BSL-1.0
// Networks, and ranges of addresses.
#include <doctest/doctest.h>

#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <asio/ip/network_v4.hpp>
#include <asio/ip/network_v6.hpp>

namespace network_test {

namespace ip = asio::ip;

template <class Range>
std::vector<std::string> texts(const Range& range) {
  std::vector<std::string> all;
  for (const auto& address : range) all.emplace_back(address.to_string());
  return all;
}
template <class Network>
bool is_refused(Network (*make)(std::string_view, asio::error_code&), const char* text) {
  asio::error_code ec;
  const Network made = make(text, ec);
  return ec == asio::error::invalid_argument && made == Network();
}

}  // namespace network_test
using namespace network_test;

TEST_CASE("asio: a network of IPv4") {
  const ip::network_v4 n = ip::make_network_v4("192.168.1.17/28");
  CHECK(n.to_string() == "192.168.1.17/28");
  CHECK(n.address() == ip::make_address_v4("192.168.1.17"));
  CHECK(n.prefix_length() == 28);
  CHECK(n.netmask() == ip::make_address_v4("255.255.255.240"));
  CHECK(n.network() == ip::make_address_v4("192.168.1.16"));
  CHECK(n.broadcast() == ip::make_address_v4("192.168.1.31"));
  CHECK(n.canonical().to_string() == "192.168.1.16/28");
  CHECK(n.hosts().size() == 14);
  CHECK(*n.hosts().begin() == ip::make_address_v4("192.168.1.17"));
  CHECK(n.hosts().find(ip::make_address_v4("192.168.1.31")) == n.hosts().end());
  CHECK(n == ip::network_v4(n.address(), ip::make_address_v4("255.255.255.240")));
  CHECK(n.is_subnet_of(ip::make_network_v4("192.168.0.0/16")));
  CHECK(!n.is_subnet_of(ip::make_network_v4("192.169.0.0/16")));
  CHECK(!n.is_subnet_of(n));
  std::ostringstream out;
  out << n;
  CHECK(out.str() == "192.168.1.17/28");
}

TEST_CASE("asio: the smallest and the largest network of IPv4") {
  const ip::network_v4 host = ip::make_network_v4("10.0.0.7/32");
  CHECK(host.is_host());
  CHECK(texts(host.hosts()) == std::vector<std::string>{"10.0.0.7"});
  const ip::network_v4 all(ip::make_address_v4("10.0.0.7"), 0);
  CHECK(all.network() == ip::address_v4::any());
  CHECK(all.netmask() == ip::address_v4::any());
  CHECK(all.broadcast() == ip::address_v4::broadcast());
  CHECK(ip::network_v4() == ip::make_network_v4("0.0.0.0/0"));
}

TEST_CASE("asio: what is no network") {
  for (const char* text : {"", "/", "/8", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1",
                           "10.0.0.0/8 ", "10.0.0/8", "10.0.0.0/99999999999", "::/8"}) {
    CAPTURE(text);
    CHECK(is_refused<ip::network_v4>(ip::make_network_v4, text));
  }
  for (const char* text : {"::", "::/129", "::/x", "10.0.0.0/8", "::1/8/8"}) {
    CAPTURE(text);
    CHECK(is_refused<ip::network_v6>(ip::make_network_v6, text));
  }
  CHECK_THROWS_AS(ip::make_network_v4("10.0.0.0/33"), asio::system_error);
  CHECK_THROWS_AS(ip::network_v4(ip::address_v4(), 33), std::out_of_range);
  CHECK_THROWS_AS(ip::network_v6(ip::address_v6(), 129), std::out_of_range);
  CHECK_THROWS_AS(ip::network_v4(ip::address_v4(), ip::make_address_v4("255.0.255.0")),
                  std::invalid_argument);
}

TEST_CASE("asio: a network of IPv6") {
  const ip::network_v6 n = ip::make_network_v6("2001:db8::1:2/127");
  CHECK(n.to_string() == "2001:db8::1:2/127");
  CHECK(n.network() == ip::make_address_v6("2001:db8::1:2"));
  CHECK(texts(n.hosts()) == std::vector<std::string>{"2001:db8::1:2", "2001:db8::1:3"});
  CHECK(ip::make_network_v6("2001:370::1/27").canonical().to_string() == "2001:360::/27");
  CHECK(n.is_subnet_of(ip::make_network_v6("2001:db8::/32")));
  CHECK(!n.is_host());
  CHECK(ip::make_network_v6("fe80::1%3/128").address().scope_id() == 3);
}

TEST_CASE("asio: iterators carry from byte to byte, in both directions") {
  ip::address_v4_iterator v4(ip::make_address_v4("10.0.255.255"));
  CHECK(*++v4 == ip::make_address_v4("10.1.0.0"));
  CHECK(*--v4 == ip::make_address_v4("10.0.255.255"));
  CHECK(*v4++ == ip::make_address_v4("10.0.255.255"));
  CHECK(*v4 == ip::make_address_v4("10.1.0.0"));
  ip::address_v6_iterator v6(ip::make_address_v6("::ffff:ffff"));
  CHECK(*++v6 == ip::make_address_v6("::1:0:0"));
  CHECK(*--v6 == ip::make_address_v6("::ffff:ffff"));
  CHECK(*v6-- == ip::make_address_v6("::ffff:ffff"));
  CHECK(ip::address_v4_range().empty());
}
