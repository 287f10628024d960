// SPDX-License-Identifier: BSL-1.0
//
// Texts come from outside. The parser and the writer are checked against the C library on random
// addresses and on random damaged texts; they must accept exactly the same.
#include <arpa/inet.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <beck/net/address.hpp>
#include <cstring>
#include <ostream>
#include <random>
#include <sstream>
#include <string>
#include <unordered_set>

namespace {

using namespace beck::ip;

std::string text_of(const address& a) { return a.to_string(); }
bool parses_v4(std::string_view text) {
  beck::error_code ec;
  make_address_v4(text, ec);
  return !ec;
}
bool parses_v6(std::string_view text) {
  beck::error_code ec;
  make_address_v6(text, ec);
  return !ec;
}

static_assert(address_v4::loopback().to_uint() == 0x7f000001);
static_assert(address_v4(address_v4::bytes_type(1, 2, 3, 4)).to_uint() == 0x01020304);
static_assert(address_v6::loopback().is_loopback());
static_assert(make_address_v6(v4_mapped, address_v4::loopback()).is_v4_mapped());
static_assert(std::is_trivially_copyable_v<address>);

TEST_CASE("an IPv4 address converts between number, bytes and text") {
  const address_v4 a(0xc0a80102);
  CHECK((a.to_string() == "192.168.1.2"));
  CHECK(a.to_bytes()[0] == 192);
  CHECK(a.to_bytes()[3] == 2);
  const std::array<unsigned char, 4> bytes = a.to_bytes();
  CHECK(address_v4(bytes) == a);
  CHECK(make_address_v4("192.168.1.2") == a);
  CHECK(make_address_v4(std::string("192.168.1.2")) == a);
  CHECK(make_address_v4(bytes) == a);
  CHECK(make_address_v4(address_v4::bytes_type{192, 168, 1, 2}) == a);
  address_v4::bytes_type copy;
  copy.fill(9);
  std::copy_n(bytes.begin(), 2, copy.begin());
  CHECK(copy == address_v4::bytes_type{192, 168, 9, 9});
  static_assert(std::is_same_v<address_v4::bytes_type::value_type, unsigned char>);
}

TEST_CASE("the text of an address is a string, which may be appended to and searched") {
  auto text = beck::ip::make_address("10.0.0.1").to_string();
  text += ":80";
  CHECK(text == "10.0.0.1:80");
  CHECK(text.find(':') == 8);
  CHECK(text.substr(0, 4) == "10.0");
  CHECK(beck::ip::make_address_v6("::1").to_string().append("/128") == "::1/128");
  CHECK((beck::ip::make_address("10.0.0.1").to_text() == "10.0.0.1"));
}

TEST_CASE("the kinds of IPv4 addresses are told apart") {
  CHECK(address_v4().is_unspecified());
  CHECK(address_v4::any() == address_v4());
  CHECK(make_address_v4("127.255.0.9").is_loopback());
  CHECK(!make_address_v4("128.0.0.1").is_loopback());
  CHECK(make_address_v4("224.0.0.1").is_multicast());
  CHECK(make_address_v4("239.255.255.255").is_multicast());
  CHECK(!make_address_v4("240.0.0.0").is_multicast());
  CHECK((address_v4::broadcast().to_string() == "255.255.255.255"));
}

TEST_CASE("only four plain decimal numbers are an IPv4 address") {
  for (const char* good : {"0.0.0.0", "255.255.255.255", "1.2.3.4", "10.0.200.99"})
    CHECK_MESSAGE(parses_v4(good), good);
  for (const char* bad : {"",          "1",          "1.2.3",
                          "1.2.3.4.5", "1.2.3.",     ".1.2.3",
                          "1..2.3",    "256.1.1.1",  "1.1.1.256",
                          "01.2.3.4",  "1.2.3.00",   "0x1.2.3.4",
                          " 1.2.3.4",  "1.2.3.4 ",   "1.2.3.4\n",
                          "+1.2.3.4",  "-1.2.3.4",   "1.2.3.a",
                          "1,2,3,4",   "1111.2.3.4", "1.2.3.4294967297",
                          "::1"})
    CHECK_MESSAGE(!parses_v4(bad), bad);
  CHECK(!parses_v4(std::string_view("1.2.3.4\0", 8)));
}

TEST_CASE("the texts of RFC 5952 are written as it says") {
  const std::pair<const char*, const char*> cases[] = {
      {"::", "::"},
      {"::1", "::1"},
      {"0:0:0:0:0:0:0:1", "::1"},
      {"2001:0db8::0001", "2001:db8::1"},
      {"2001:DB8::A", "2001:db8::a"},
      {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},  // one zero group is not shortened
      {"2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
      {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},        // the longest run
      {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},  // the first of equals
      {"1:0:0:0:0:0:0:0", "1::"},
      {"0:0:1:2:3:4:5:6", "::1:2:3:4:5:6"},
      {"1:2:3:4:5:6:0:0", "1:2:3:4:5:6::"},
      {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
      {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
      {"::ffff:c000:0201", "::ffff:192.0.2.1"},
      {"::FFFF:1.2.3.4", "::ffff:1.2.3.4"},
      {"64:ff9b::1.2.3.4", "64:ff9b::102:304"},
      {"1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"},
      {"fe80::1%0", "fe80::1"},
      {"fe80::1%7", "fe80::1%7"},
      {"fe80::1%4294967295", "fe80::1%4294967295"},
      {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295",
       "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295"}};
  for (const auto& [in, out] : cases) CHECK(text_of(make_address_v6(in)) == out);
}

TEST_CASE("what is no IPv6 address is refused") {
  for (const char* bad : {"",
                          ":",
                          ":::",
                          "1",
                          "1:",
                          ":1",
                          "1:2:3:4:5:6:7",
                          "1:2:3:4:5:6:7:",
                          "1:2:3:4:5:6:7:8:9",
                          "1:2:3:4:5:6:7:8::",
                          "::1:2:3:4:5:6:7:8",
                          "1::2::3",
                          "12345::",
                          "::g",
                          "::1 ",
                          " ::1",
                          "1:2:3:4:5:6:7:1.2.3.4",
                          "::1.2.3",
                          "::1.2.3.4:5",
                          "::01.2.3.4",
                          "1.2.3.4",
                          "::1%",
                          "::1%x",
                          "::1%4294967296",
                          "::1%1%2",
                          "fe80::1%eth0",
                          "[::1]",
                          "1:2:3:4:5:1.2.3.4",
                          "%1"})
    CHECK_MESSAGE(!parses_v6(bad), bad);
}

TEST_CASE("the kinds of IPv6 addresses are told apart") {
  const auto v6 = [](const char* text) { return make_address_v6(text); };
  CHECK(v6("::").is_unspecified());
  CHECK(v6("::1").is_loopback());
  CHECK(!v6("::2").is_loopback());
  CHECK(v6("fe80::1").is_link_local());
  CHECK(v6("febf::1").is_link_local());
  CHECK(!v6("fec0::1").is_link_local());
  CHECK(v6("fec0::1").is_site_local());
  CHECK(v6("ff02::1").is_multicast());
  CHECK(v6("ff01::1").is_multicast_node_local());
  CHECK(v6("ff02::1").is_multicast_link_local());
  CHECK(v6("ff05::1").is_multicast_site_local());
  CHECK(v6("ff08::1").is_multicast_org_local());
  CHECK(v6("ff0e::1").is_multicast_global());
  CHECK(!v6("::ffff:0:0:1").is_v4_mapped());
}

TEST_CASE("an IPv4 address is packed into IPv6 form and back") {
  const auto mapped = make_address_v6(v4_mapped, make_address_v4("1.2.3.4"));
  CHECK((mapped.to_string() == "::ffff:1.2.3.4"));
  CHECK(make_address_v4(v4_mapped, mapped) == make_address_v4("1.2.3.4"));
  CHECK_THROWS_AS(make_address_v4(v4_mapped, address_v6::loopback()), bad_address_cast);
}

TEST_CASE("the scope id is part of the value") {
  address_v6 a = make_address_v6("fe80::1");
  const address_v6 b = make_address_v6("fe80::1%2");
  CHECK(a != b);
  CHECK(a < b);
  a.scope_id(2);
  CHECK(a == b);
  CHECK(address_v6(b.to_bytes()).scope_id() == 0);
}

TEST_CASE("an address knows its version and refuses to be the other") {
  const address v4 = make_address("10.0.0.1"), v6 = make_address("::1");
  CHECK(v4.is_v4());
  CHECK(v6.is_v6());
  CHECK((v4.to_v4().to_string() == "10.0.0.1"));
  CHECK(v6.to_v6().is_loopback());
  CHECK_THROWS_AS(v4.to_v6(), bad_address_cast);
  CHECK_THROWS_AS(v6.to_v4(), bad_address_cast);
  CHECK(v4 < v6);
  CHECK(v4 == address_v4(0x0a000001));
  CHECK(v6.is_loopback());
  CHECK(make_address("ff02::1").is_multicast());
  CHECK(address().is_unspecified());
}

TEST_CASE("a bad address gives an error, or an exception that shows it") {
  beck::error_code ec;
  CHECK(make_address("300.1.1.1", ec) == address());
  CHECK(ec == beck::error::invalid_argument);
  make_address("1.1.1.1", ec);
  CHECK(!ec);
  try {
    make_address("300.1.1.1");
    FAIL("no exception");
  } catch (const beck::io_error& e) {
    CHECK(std::string(e.what()) == "make_address \"300.1.1.1\": Invalid argument");
  }
  CHECK_THROWS_AS(make_address_v4("::1"), beck::io_error);
  CHECK_THROWS_AS(make_address_v6("1.2.3.4"), beck::io_error);
}

TEST_CASE("characters are written whole or not at all") {
  char out[address::text_max] = {};
  CHECK(address_v4::broadcast().to_chars(out, address_v4::text_max) == 15);
  CHECK(address_v4::loopback().to_chars(out, 9) == 9);
  CHECK(std::string(out, 9) == "127.0.0.1");
  std::memset(out, '.', sizeof out);
  CHECK(address(address_v6::loopback()).to_chars(out, 2) == 0);
  CHECK(out[0] == '.');
  CHECK(address(address_v6::loopback()).to_chars(out, 3) == 3);
}

TEST_CASE("addresses go to streams and into hash tables") {
  std::ostringstream out;
  out << make_address("::1") << ' ' << address_v4::loopback() << ' ' << address_v6::any();
  CHECK(out.str() == "::1 127.0.0.1 ::");
  std::unordered_set<address> set;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    set.insert(address_v4(i << 8));
    set.insert(make_address_v6(v4_mapped, address_v4(i << 8)));
  }
  CHECK(set.size() == 2000);
  CHECK(set.count(make_address("0.0.1.0")) == 1);
}

TEST_CASE("random addresses are written and read as the C library does") {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    std::array<unsigned char, 16> bytes{};
    const auto mask = random();
    for (std::size_t k = 0; k < 16; ++k) {
      if ((mask >> (k / 2) & 1) != 0)
        bytes[k] = static_cast<unsigned char>(random() >> (random() % 8));
    }
    const address_v6 a{address_v6::bytes_type(bytes)};
    char theirs[INET6_ADDRSTRLEN];
    REQUIRE(::inet_ntop(AF_INET6, bytes.data(), theirs, sizeof theirs) != nullptr);
    const std::string ours = a.to_string();
    // The C library writes the deprecated "::1.2.3.4" for addresses that are compatible, not
    // mapped; RFC 5952 does not.
    if (std::strchr(theirs, '.') == nullptr || a.is_v4_mapped()) REQUIRE(ours == theirs);
    REQUIRE(make_address_v6(ours) == a);
    REQUIRE(make_address_v6(theirs) == a);
    const address_v4 v4(static_cast<std::uint32_t>(random()));
    const auto v4_bytes = v4.to_bytes();
    REQUIRE(::inet_ntop(AF_INET, v4_bytes.data(), theirs, sizeof theirs) != nullptr);
    REQUIRE((v4.to_string() == theirs));
    REQUIRE(make_address_v4(theirs) == v4);
  }
}

// Texts near to addresses: pieces of them, glued at random and damaged.
std::string random_text(std::mt19937& random) {
  static const char* const pieces[] = {":",    "::",      "0", "1",   "ffff",  "00",
                                       "abcd", "1.2.3.4", ".", "12",  "g",     "%",
                                       "255",  "256",     "F", "1:2", "3:4:5", "::1"};
  std::string text;
  const auto count = 1 + random() % 12;
  for (std::size_t i = 0; i < count; ++i) {
    text += pieces[random() % std::size(pieces)];
    if (random() % 2 == 0) text += ':';
  }
  if (random() % 4 == 0) text[random() % text.size()] = static_cast<char>(random());
  return text;
}

TEST_CASE("random texts are accepted exactly when the C library accepts them") {
  std::mt19937 random(9);
  int accepted = 0;
  for (int i = 0; i < 300'000; ++i) {
    const std::string text = random_text(random);
    if (text.find('%') != std::string::npos || text.find('\0') != std::string::npos) continue;
    unsigned char theirs[16];
    const bool good_v6 = ::inet_pton(AF_INET6, text.c_str(), theirs) == 1;
    REQUIRE_MESSAGE(parses_v6(text) == good_v6, text);
    if (good_v6) {
      ++accepted;
      REQUIRE(std::memcmp(make_address_v6(text).to_bytes().data(), theirs, 16) == 0);
    }
    REQUIRE_MESSAGE(parses_v4(text) == (::inet_pton(AF_INET, text.c_str(), theirs) == 1), text);
  }
  CHECK(accepted > 1000);
}

TEST_CASE("random dotted texts are accepted exactly when the C library accepts them") {
  std::mt19937 random(10);
  int accepted = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string text;
    const auto length = 5 + random() % 12;
    for (std::size_t k = 0; k < length; ++k) text += "0123456789..."[random() % 13];
    unsigned char theirs[4];
    const bool good = ::inet_pton(AF_INET, text.c_str(), theirs) == 1;
    REQUIRE_MESSAGE(parses_v4(text) == good, text);
    accepted += good ? 1 : 0;
    if (good) REQUIRE(std::memcmp(make_address_v4(text).to_bytes().data(), theirs, 4) == 0);
  }
  CHECK(accepted > 100);
}

}  // namespace
