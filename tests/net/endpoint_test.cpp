// SPDX-License-Identifier: BSL-1.0
//
// An endpoint is bytes that the kernel reads and writes: compared with its structs, and passed
// through bind(2) and getsockname(2).
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <beck/base/unique_fd.hpp>
#include <beck/net/endpoint.hpp>
#include <climits>
#include <cstddef>
#include <cstring>
#include <ostream>
#include <sstream>
#include <string>
#include <unordered_set>

namespace {

using namespace beck::ip;

// Stands for tcp and udp, which are tested elsewhere.
struct protocol {
  static protocol v4() { return protocol{AF_INET}; }
  static protocol v6() { return protocol{AF_INET6}; }
  int family() const { return family_; }
  int family_;
};
using endpoint = basic_endpoint<protocol>;

struct local_protocol {};
using local_endpoint = beck::local::basic_endpoint<local_protocol>;

const sockaddr* raw(const void* data) { return static_cast<const sockaddr*>(data); }

TEST_CASE("an endpoint is an address and a port") {
  endpoint e(make_address("10.1.2.3"), 8080);
  CHECK(e.address() == make_address("10.1.2.3"));
  CHECK(e.port() == 8080);
  CHECK(e.protocol().family() == AF_INET);
  CHECK(e.size() == sizeof(sockaddr_in));
  e.port(1);
  e.address(make_address("fe80::1%3"));
  CHECK(e.port() == 1);
  CHECK((e.address().to_string() == "fe80::1%3"));
  CHECK(e.protocol().family() == AF_INET6);
  CHECK(e.size() == sizeof(sockaddr_in6));
  e.address(address_v4::loopback());
  CHECK((e.to_text() == "127.0.0.1:1"));
}

TEST_CASE("an endpoint of a protocol and a port has any address of that version") {
  CHECK((endpoint(protocol::v4(), 80).to_text() == "0.0.0.0:80"));
  CHECK((endpoint(protocol::v6(), 80).to_text() == "[::]:80"));
  CHECK((endpoint().to_text() == "0.0.0.0:0"));
}

TEST_CASE("the longest text of an endpoint is not cut") {
  const endpoint e(make_address("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295"), 65535);
  CHECK((e.to_text() == "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295]:65535"));
}

TEST_CASE("the bytes of an endpoint are the sockaddr of the kernel") {
  const endpoint v4(make_address("1.2.3.4"), 0x1234);
  sockaddr_in in;
  std::memcpy(&in, v4.data(), sizeof in);
  CHECK(in.sin_family == AF_INET);
  CHECK(ntohs(in.sin_port) == 0x1234);
  CHECK(ntohl(in.sin_addr.s_addr) == 0x01020304);
  const endpoint v6(make_address("1::2%5"), 0x1234);
  sockaddr_in6 in6;
  std::memcpy(&in6, v6.data(), sizeof in6);
  CHECK(in6.sin6_family == AF_INET6);
  CHECK(ntohs(in6.sin6_port) == 0x1234);
  CHECK(in6.sin6_addr.s6_addr[15] == 2);
  CHECK(in6.sin6_scope_id == 5);
  CHECK(in6.sin6_flowinfo == 0);
}

TEST_CASE("the kernel accepts an endpoint and fills one") {
  const beck::unique_fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(fd);
  const endpoint wanted(address_v4::loopback(), 0);
  REQUIRE(::bind(fd.get(), raw(wanted.data()), static_cast<socklen_t>(wanted.size())) == 0);
  endpoint got(protocol::v6(), 9);
  auto size = static_cast<socklen_t>(got.capacity());
  REQUIRE(::getsockname(fd.get(), static_cast<sockaddr*>(got.data()), &size) == 0);
  got.resize(size);
  CHECK(got.address() == address_v4::loopback());
  CHECK(got.port() != 0);
  CHECK(got.size() == sizeof(sockaddr_in));
}

TEST_CASE("an endpoint of an unknown family is unspecified and a size past its room is refused") {
  endpoint e(make_address("1.2.3.4"), 5);
  std::memset(e.data(), 0x7f, 2);
  CHECK(e.address().is_unspecified());
  CHECK_THROWS_AS(e.resize(e.capacity() + 1), beck::io_error);
  e.resize(e.capacity());
}

TEST_CASE("endpoints are ordered by address, then port, and are hashed and printed") {
  const endpoint a(make_address("1.0.0.1"), 9), b(make_address("1.0.0.2"), 1),
      c(make_address("1.0.0.2"), 2), d(make_address("::"), 0);
  CHECK(a < b);
  CHECK(b < c);
  CHECK(c < d);
  CHECK(a == endpoint(make_address("1.0.0.1"), 9));
  CHECK(a != b);
  CHECK(std::max(a, c) == c);
  std::unordered_set<endpoint> set;
  for (int port = 0; port < 1000; ++port) set.insert(endpoint(protocol::v6(), make_port(port)));
  CHECK(set.size() == 1000);
  CHECK(set.count(endpoint(protocol::v6(), 7)) == 1);
  std::ostringstream out;
  out << a << ' ' << d;
  CHECK(out.str() == "1.0.0.1:9 [::]:0");
}

TEST_CASE("a number is a port from 0 to 65535") {
  beck::error_code ec;
  CHECK(make_port(0, ec) == 0);
  CHECK(!ec);
  CHECK(make_port(65535, ec) == 65535);
  CHECK(!ec);
  for (const long bad : {-1L, 65536L, LONG_MAX, LONG_MIN}) {
    CHECK(make_port(bad, ec) == 0);
    CHECK(ec == beck::error::invalid_argument);
  }
  make_port(1, ec);
  CHECK(!ec);
  try {
    make_port(70000);
    FAIL("no exception");
  } catch (const beck::io_error& e) {
    CHECK(std::string(e.what()) ==
          "make_port \"70000 is not a port, 0 to 65535\": Invalid argument");
  }
}

TEST_CASE("endpoint_data holds a sockaddr of any family and no more") {
  const endpoint e(make_address("::1"), 80);
  const beck::detail::endpoint_data copy = e;
  CHECK(copy.size() == e.size());
  CHECK(copy.family() == AF_INET6);
  CHECK(copy == beck::detail::endpoint_data(e.data(), e.size()));
  CHECK(!(copy == beck::detail::endpoint_data(endpoint(make_address("::1"), 81))));
  CHECK(beck::detail::endpoint_data(local_endpoint("/a")).family() == AF_UNIX);
  CHECK(beck::detail::endpoint_data().family() == AF_UNSPEC);
  beck::detail::endpoint_data room;
  CHECK(reinterpret_cast<std::uintptr_t>(room.data()) % 8 == 0);
  CHECK_THROWS_AS(room.resize(room.capacity() + 1), beck::io_error);
  room.resize(room.capacity());
}

TEST_CASE("a local endpoint is a path of up to 107 bytes") {
  const local_endpoint e("/tmp/socket");
  CHECK((e.path() == "/tmp/socket"));
  CHECK((e.to_text() == "/tmp/socket"));
  CHECK(e.size() == offsetof(sockaddr_un, sun_path) + 12);
  CHECK(!e.is_abstract());
  CHECK(!e.is_unnamed());
  const std::string longest(107, 'x');
  CHECK((local_endpoint(longest).path() == longest));
  CHECK(local_endpoint().is_unnamed());
  CHECK(local_endpoint("").size() == 2);
}

TEST_CASE("a longer path is refused with its size and the limit, and nothing changes") {
  local_endpoint e("/a");
  beck::error_code ec;
  e.path(std::string(108, 'x'), ec);
  CHECK(ec == beck::error::name_too_long);
  CHECK((e.path() == "/a"));
  try {
    e.path(std::string(120, 'x'));
    FAIL("no exception");
  } catch (const beck::io_error& error) {
    CHECK(error.code() == beck::error::name_too_long);
    CHECK(std::string(error.what()).find("120 bytes, the limit is 107: xxx") != std::string::npos);
  }
  CHECK_THROWS_AS(local_endpoint(std::string(108, 'x')), beck::io_error);
  e.path("/b", ec);
  CHECK(!ec);
  CHECK((e.path() == "/b"));
}

TEST_CASE("a path with a NUL inside is refused, an abstract name may have any bytes") {
  beck::error_code ec;
  local_endpoint e;
  e.path(std::string_view("a\0b", 3), ec);
  CHECK(ec == beck::error::invalid_argument);
  const std::string name("\0a\0b\0", 5);
  e.path(name, ec);
  CHECK(!ec);
  CHECK(e.is_abstract());
  CHECK(std::string(e.path()) == name);
  CHECK((e.to_text() == "@a@b@"));
  CHECK(e.size() == 2 + name.size());
  const std::string longest = std::string(1, '\0') + std::string(106, 'n');
  CHECK(std::string(local_endpoint(longest).path()) == longest);
  CHECK_THROWS_AS(local_endpoint(longest + "n"), beck::io_error);
}

TEST_CASE("local endpoints are ordered by path") {
  CHECK(local_endpoint("/a") == local_endpoint("/a"));
  CHECK(local_endpoint("/a") < local_endpoint("/b"));
  CHECK(local_endpoint() < local_endpoint("/a"));
  CHECK(local_endpoint(std::string_view("\0a", 2)) != local_endpoint("a"));
  std::ostringstream out;
  out << local_endpoint("/a");
  CHECK(out.str() == "/a");
}

TEST_CASE("the kernel gives back the local endpoint that was bound") {
  const std::string name = std::string(1, '\0') + "beck-test-" + std::to_string(::getpid());
  const beck::unique_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(fd);
  local_endpoint got;
  auto size = static_cast<socklen_t>(got.capacity());
  REQUIRE(::getsockname(fd.get(), static_cast<sockaddr*>(got.data()), &size) == 0);
  got.resize(size);
  CHECK(got.is_unnamed());
  const local_endpoint wanted(name);
  REQUIRE(::bind(fd.get(), raw(wanted.data()), static_cast<socklen_t>(wanted.size())) == 0);
  size = static_cast<socklen_t>(got.capacity());
  REQUIRE(::getsockname(fd.get(), static_cast<sockaddr*>(got.data()), &size) == 0);
  got.resize(size);
  CHECK(got == wanted);
  CHECK(std::string(got.path()) == name);
}

TEST_CASE("a path of 108 bytes that another program bound is read whole") {
  // Linux takes a path without a NUL and gives back one byte more than sockaddr_un has (unix(7),
  // BUGS).
  local_endpoint got;
  REQUIRE(got.capacity() == sizeof(sockaddr_un) + 1);
  std::memset(static_cast<char*>(got.data()) + 2, 'p', 108);
  static_cast<char*>(got.data())[110] = '\0';
  got.resize(111);
  CHECK((got.path() == std::string(108, 'p')));
  CHECK_THROWS_AS(got.resize(112), beck::io_error);
}

}  // namespace
