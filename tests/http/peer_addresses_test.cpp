// SPDX-License-Identifier: BSL-1.0
// The address of a client behind proxies: what is believed, and what a client cannot make others
// believe; and the connections of an address.
#include "http/server/peer_addresses.hpp"

#include <beck/http/parser.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace http = beck::http;
namespace ip = beck::ip;
using http::field;

namespace {

/// Returns the client of a request with these fields, as text.
std::string client(std::string_view fields, field how = field::x_forwarded_for,
                   std::string_view peer = "10.0.0.1",
                   std::string_view proxies = "10.0.0.0/8, 192.168.1.1 fd00::/8",
                   bool is_local = false) {
  const std::string text = "GET / HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
  http::request_parser parser;
  http::request_head head;
  REQUIRE(parser.parse(text, head) == http::parse_status::done);
  http::detail::proxy_list known;
  known.add(proxies);
  const ip::address from = ip::make_address(std::string(peer));
  const auto found = http::detail::client_address(head, how, known, from, is_local).to_string();
  return std::string(found.data(), found.size());
}

std::string forwarded(std::string_view value) {
  return client("Forwarded: " + std::string(value) + "\r\n", field::forwarded);
}
std::string x_forwarded(std::string_view value) {
  return client("X-Forwarded-For: " + std::string(value) + "\r\n");
}

}  // namespace

TEST_CASE("http: the client is the rightmost address that is no proxy's") {
  CHECK(x_forwarded("1.2.3.4") == "1.2.3.4");
  CHECK(x_forwarded("9.9.9.9, 1.2.3.4") == "1.2.3.4");
  CHECK(x_forwarded("9.9.9.9,1.2.3.4,  10.7.7.7 ,192.168.1.1") == "1.2.3.4");
  CHECK(x_forwarded("9.9.9.9, 192.168.1.2, 10.7.7.7") == "192.168.1.2");
  CHECK(x_forwarded("10.1.1.1, 10.2.2.2") == "10.1.1.1");  // all are proxies: the first of them
  CHECK(x_forwarded("2001:db8::1, fd00::7") == "2001:db8::1");
  CHECK(client("X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-For: 1.2.3.4\r\n"
               "X-Forwarded-For: 10.3.3.3\r\n") == "1.2.3.4");
}

TEST_CASE("http: only proxies are believed, and only in the field that they write") {
  const std::string_view both = "X-Forwarded-For: 1.2.3.4\r\nForwarded: for=5.6.7.8\r\n";
  CHECK(client(both) == "1.2.3.4");
  CHECK(client(both, field::forwarded) == "5.6.7.8");
  CHECK(client(both, field::x_forwarded_for, "11.0.0.1") == "11.0.0.1");
  CHECK(client(both, field::x_forwarded_for, "fd00::2") == "1.2.3.4");
  CHECK(client(both, field::x_forwarded_for, "10.0.0.1", "") == "10.0.0.1");
  CHECK(client(both, field::x_forwarded_for, "10.0.0.1", "unix") == "10.0.0.1");
  CHECK(client(both, field::x_forwarded_for, "0.0.0.0", "unix", true) == "1.2.3.4");
  CHECK(client(both, field::x_forwarded_for, "0.0.0.0", "0.0.0.0/0", true) == "0.0.0.0");
  CHECK(client("", field::x_forwarded_for) == "10.0.0.1");
}

TEST_CASE("http: what is no address ends the search at the proxy that wrote it") {
  for (const char* bad :
       {"unknown", "_hidden", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.4:", "1.2.3.4:x",
        "1.2.3.4:65536", "1.2.3.4:-1", "[::1", "[]", "[1.2.3.4]", "::1]", "[::1]x",
        "[::1]:", "fe80::1%eth0", "\"1.2.3.4\"", "1.2.3.4 5.6.7.8", "for=1.2.3.4"}) {
    CAPTURE(bad);
    CHECK(x_forwarded("9.9.9.9, " + std::string(bad) + ", 10.5.5.5") == "10.5.5.5");
    CHECK(x_forwarded(bad) == "10.0.0.1");
  }
  CHECK(x_forwarded("8.8.8.8, , 10.5.5.5,") == "8.8.8.8");  // a list may have empty elements
  CHECK(x_forwarded("1.2.3.4:8080") == "1.2.3.4");
  CHECK(x_forwarded("[2001:db8::1]:443") == "2001:db8::1");
  CHECK(x_forwarded("[2001:db8::1]") == "2001:db8::1");
  CHECK(x_forwarded("::ffff:1.2.3.4") == "1.2.3.4");
}

TEST_CASE("http: Forwarded is read strictly, and a client cannot change how its proxy is read") {
  CHECK(forwarded("for=1.2.3.4") == "1.2.3.4");
  CHECK(forwarded("For=1.2.3.4;proto=https; by=10.0.0.1") == "1.2.3.4");
  CHECK(forwarded("proto=https;host=\"a:1\";for=\"[2001:db8::1]:4711\"") == "2001:db8::1");
  CHECK(forwarded("for=\"1.2.3.4:80\", for=10.1.1.1") == "1.2.3.4");
  CHECK(forwarded("for=\"open, for=1.2.3.4") == "1.2.3.4");  // a quote of the client's
  CHECK(forwarded("for=8.8.8.8;x=\", for=1.2.3.4;y=z") == "1.2.3.4");
  CHECK(forwarded("for=1.2.3.4;") == "1.2.3.4");
  CHECK(forwarded("a=b;;for=1.2.3.4") == "1.2.3.4");
  for (const char* bad : {"proto=https", "for=unknown", "for=_x", "for = 1.2.3.4",
                          "for=1.2.3.4;for=5.6.7.8", "for=1.2.3.4:80", "for=[::1]", "for=\"::1\"",
                          "for=::1", "for=\"1.2.3.4", "for=\"1.2\\.3.4\"", "1.2.3.4", "=1.2.3.4",
                          "for=", "for=\"\"", "for=1.2.3.4;a", "f or=1.2.3.4"}) {
    CAPTURE(bad);
    CHECK(forwarded("for=9.9.9.9, " + std::string(bad)) == "10.0.0.1");
  }
}

TEST_CASE("http: a list of proxies takes addresses, networks and unix, and nothing else") {
  http::detail::proxy_list list;
  list.add("10.0.0.0/8 2001:db8::/33,1.2.3.4, 172.16.0.0/12");
  const auto has = [&](const char* text) { return list.has(ip::make_address(text)); };
  CHECK(has("10.255.0.1"));
  CHECK(!has("11.0.0.0"));
  CHECK(has("1.2.3.4"));
  CHECK(!has("1.2.3.5"));
  CHECK(has("172.31.255.255"));
  CHECK(!has("172.32.0.0"));
  CHECK(has("2001:db8:7fff::1"));
  CHECK(!has("2001:db8:8000::1"));
  CHECK(!has("::1"));
  CHECK(!list.has_local());
  list.add("unix");
  CHECK(list.has_local());
  CHECK(has("10.0.0.1"));
  list.add("0.0.0.0/0");
  CHECK(has("99.0.0.1"));
  for (const char* bad : {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "::/129", "a", "5.5.5.5 b",
                          "10.0.0.0/8/8", "/8", "Unix", "10.0.0.0/-1"}) {
    CAPTURE(bad);
    http::detail::proxy_list other;
    CHECK_THROWS_AS(other.add(bad), std::invalid_argument);
    CHECK(!other.has(ip::make_address("5.5.5.5")));
  }
}

TEST_CASE("http: connections are counted by address, and by /64 of IPv6") {
  http::detail::address_count counts;
  const auto add = [&](const char* text) { return counts.add(ip::make_address(text), 2); };
  CHECK(add("1.2.3.4"));
  CHECK(add("1.2.3.4"));
  CHECK(!add("1.2.3.4"));
  CHECK(add("1.2.3.5"));
  CHECK(add("2001:db8::1"));
  CHECK(add("2001:db8::ffff:1"));
  CHECK(!add("2001:db8::3"));
  CHECK(add("2001:db8:0:1::3"));
  CHECK(add("::1.2.3.4"));  // not the IPv4 address with the same bits
  CHECK(counts.size() == 5);
  counts.remove(ip::make_address("1.2.3.4"));
  CHECK(add("1.2.3.4"));
  CHECK(!add("1.2.3.4"));
  for (const char* one : {"1.2.3.4", "1.2.3.4", "1.2.3.5", "2001:db8::9", "2001:db8::1",
                          "2001:db8:0:1::3", "::1.2.3.4"}) {
    counts.remove(ip::make_address(one));
  }
  CHECK(counts.size() == 0);
  CHECK(http::detail::unmapped(ip::make_address("::ffff:1.2.3.4")) == ip::make_address("1.2.3.4"));
  CHECK(http::detail::unmapped(ip::make_address("::1")) == ip::make_address("::1"));
}
