// SPDX-License-Identifier: BSL-1.0
// Addresses and endpoints: parsing, texts, order.
#include "rows.hpp"

#include <unordered_set>

namespace semantics::addresses {

namespace ip = asio::ip;
using ip::tcp;

std::string parsed(const char* text) {
  asio::error_code ec;
  const ip::address found = ip::make_address(text, ec);
  if (ec) return name_of(ec);
  return (found.is_v4() ? "v4 " : "v6 ") + std::string(found.to_string());
}

ROW("address: 1.2.3.4") { return parsed("1.2.3.4"); }
ROW("address: 255.255.255.255") { return parsed("255.255.255.255"); }
ROW("address: 256.0.0.1") { return parsed("256.0.0.1"); }
ROW("address: 127.1, a short form") { return parsed("127.1"); }
ROW("address: 010.0.0.1, a leading zero") { return parsed("010.0.0.1"); }
ROW("address: 0x7f.0.0.1, hexadecimal") { return parsed("0x7f.0.0.1"); }
ROW("address: the empty text") { return parsed(""); }
ROW("address: a space in front") { return parsed(" 1.2.3.4"); }
ROW("address: a space behind") { return parsed("1.2.3.4 "); }
ROW("address: a port behind") { return parsed("1.2.3.4:80"); }
ROW("address: a name") { return parsed("localhost"); }
ROW("address: ::1") { return parsed("::1"); }
ROW("address: ::") { return parsed("::"); }
ROW("address: brackets") { return parsed("[::1]"); }
ROW("address: zeros are shortened") { return parsed("0:0:0:0:0:0:0:1"); }
ROW("address: the first longest run of zeros is shortened") { return parsed("1:0:0:2:0:0:0:3"); }
ROW("address: a single zero") { return parsed("1:0:2:3:4:5:6:7"); }
ROW("address: capitals") { return parsed("ABCD::EF"); }
ROW("address: two runs of zeros") { return parsed("1::2::3"); }
ROW("address: v4 in v6") { return parsed("::ffff:1.2.3.4"); }
ROW("address: v4-compatible v6") { return parsed("::1.2.3.4"); }
ROW("address: nine groups") { return parsed("1:2:3:4:5:6:7:8:9"); }
ROW("address: five digits") { return parsed("12345::"); }
ROW("address: a scope as a number") { return parsed("fe80::1%5"); }
ROW("address: a scope as a name") { return parsed("fe80::1%lo"); }
ROW("address: a scope as an unknown name") { return parsed("fe80::1%nosuch"); }
ROW("address: a global address with a scope") { return parsed("2001::1%5"); }

ROW("address: make_address of a std::string and a string_view") {
  return line(ip::make_address(std::string("1.2.3.4")).to_string(),
              ip::make_address(std::string_view("1.2.3.4567", 7)).to_string());
}
ROW("address: make_address throws") {
  return thrown_by([] { ip::make_address("nonsense"); });
}
ROW("address: make_address_v4 of v6 text") {
  asio::error_code ec;
  ip::make_address_v4("::1", ec);
  return line(ec);
}
ROW("address: make_address_v6 of v4 text") {
  asio::error_code ec;
  ip::make_address_v6("1.2.3.4", ec);
  return line(ec);
}
ROW("address: to_string is a std::string") {
  return line(std::is_same_v<decltype(ip::address().to_string()), std::string>,
              std::is_same_v<decltype(ip::address_v4().to_string()), std::string>,
              std::is_same_v<decltype(ip::address_v6().to_string()), std::string>);
}
ROW("address: to_string is used as a std::string") {
  auto text = ip::make_address("1.2.3.4").to_string();
  text += ":80";
  return text + "/" + std::to_string(text.find('.')) + "/" + text.substr(2);
}
ROW("address: default") {
  const ip::address none;
  return line(none.is_v4(), none.is_unspecified(), none.to_string());
}
ROW("address: v4 constants") {
  return line(ip::address_v4::any(), ip::address_v4::loopback(), ip::address_v4::broadcast());
}
ROW("address: v6 constants") { return line(ip::address_v6::any(), ip::address_v6::loopback()); }
ROW("address: v4 as a number and as bytes") {
  const ip::address_v4 a(0x01020304);
  return line(a, a.to_uint(), int(a.to_bytes()[0]), ip::address_v4({9, 8, 7, 6}));
}
ROW("address: a number beyond 32 bits") {
  return thrown_by([] { ip::make_address_v4(ip::address_v4::uint_type(0xffffffff)); });
}
ROW("address: v4 kinds") {
  auto a = [](const char* t) { return ip::make_address_v4(t); };
  return line(a("127.2.3.4").is_loopback(), a("224.0.0.1").is_multicast(),
              a("239.255.0.1").is_multicast(), a("0.0.0.0").is_unspecified(),
              a("10.0.0.1").is_loopback());
}
ROW("address: v6 kinds") {
  auto a = [](const char* t) { return ip::make_address_v6(t); };
  return line(a("::1").is_loopback(), a("fe80::1").is_link_local(), a("fec0::1").is_site_local(),
              a("ff02::1").is_multicast(), a("ff02::1").is_multicast_link_local(),
              a("ff0e::1").is_multicast_global(), a("::ffff:1.2.3.4").is_v4_mapped());
}
ROW("address: mapped v4") {
  const auto mapped = ip::make_address_v6(ip::v4_mapped, ip::make_address_v4("1.2.3.4"));
  return line(mapped, ip::make_address_v4(ip::v4_mapped, mapped));
}
ROW("address: an address that is not mapped, as v4") {
  return thrown_by([] { ip::make_address_v4(ip::v4_mapped, ip::address_v6::loopback()); });
}
ROW("address: scope of v6") {
  ip::address_v6 a = ip::make_address_v6("fe80::1");
  a.scope_id(7);
  return line(a.scope_id(), a, a == ip::make_address_v6("fe80::1"));
}
ROW("address: order") {
  auto a = [](const char* t) { return ip::make_address(t); };
  return line(a("255.0.0.1") < a("::1"), a("1.2.3.4") < a("1.2.3.5"), a("::2") > a("::1"),
              a("1.2.3.4") == a("::ffff:1.2.3.4"));
}
ROW("address: hash") {
  return line(
      std::unordered_set<ip::address>{ip::make_address("::1"), ip::make_address("::1")}.size());
}
ROW("endpoint: default") {
  const tcp::endpoint none;
  return line(none, none.port(), none.protocol() == tcp::v4());
}
ROW("endpoint: texts") {
  return line(tcp::endpoint(ip::make_address("1.2.3.4"), 80),
              tcp::endpoint(ip::make_address("::1"), 65535),
              tcp::endpoint(ip::make_address("fe80::1%5"), 1), tcp::endpoint(tcp::v6(), 80));
}
ROW("endpoint: order") {
  const auto a = ip::make_address("1.2.3.4"), b = ip::make_address("1.2.3.5");
  return line(tcp::endpoint(a, 2) < tcp::endpoint(b, 1), tcp::endpoint(a, 1) < tcp::endpoint(a, 2),
              tcp::endpoint(a, 1) == tcp::endpoint(a, 1));
}
ROW("endpoint: change of the address") {
  tcp::endpoint place(tcp::v4(), 80);
  place.address(ip::make_address("::1"));
  place.port(81);
  return line(place, place.protocol() == tcp::v6(), place.size() == sizeof(sockaddr_in6));
}
ROW("endpoint: sizes") {
  tcp::endpoint place(tcp::v4(), 80);
  return line(place.size() == sizeof(sockaddr_in), place.capacity() >= sizeof(sockaddr_in6));
}
ROW("endpoint: resize beyond the capacity") {
  tcp::endpoint place;
  return thrown_by([&] { place.resize(100000); });
}
ROW("endpoint: protocols") {
  return line(tcp::v4() == tcp::v4(), tcp::v4() == tcp::v6(), tcp::v4().family() == AF_INET,
              tcp::v4().type() == SOCK_STREAM, tcp::v6().protocol() == IPPROTO_TCP,
              ip::udp::v4().type() == SOCK_DGRAM);
}
ROW("endpoint: path of a UNIX socket") {
  const asio::local::stream_protocol::endpoint place("/tmp/x");
  return line(place, std::string(place.path()));
}
ROW("endpoint: a path that is too long") {
  return thrown_by([] { asio::local::stream_protocol::endpoint(std::string(300, 'x')); });
}
ROW("endpoint: an abstract name") {
  const asio::local::stream_protocol::endpoint place(std::string("\0name", 5));
  return line(std::string(place.path()).size());
}
ROW("endpoint: the default one of UNIX sockets") {
  const asio::local::stream_protocol::endpoint none;
  return line(std::string(none.path()).size());
}

}  // namespace semantics::addresses
