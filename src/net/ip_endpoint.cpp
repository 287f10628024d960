// SPDX-License-Identifier: BSL-1.0
//
// An address and a port inside a sockaddr_in or sockaddr_in6. The structs are copied in and out,
// because the bytes of an endpoint are no objects of these types.
#include <netinet/in.h>
#include <sys/socket.h>

#include <beck/base/error.hpp>
#include <beck/net/ip_endpoint.hpp>
#include <cstdio>
#include <cstring>
#include "net/address_text.hpp"

namespace beck::ip {
using namespace detail;
namespace {

static_assert(socket_address::capacity() == sizeof(sockaddr_in6));
static_assert(sizeof(sockaddr_in) <= sizeof(sockaddr_in6));
static_assert(alignof(socket_address) >= alignof(sockaddr_in6));
static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));

sa_family_t family_of(const void* bytes) noexcept {
  sa_family_t family;
  std::memcpy(&family, bytes, sizeof family);
  return family;
}

}  // namespace

socket_address::socket_address() noexcept : socket_address(ip::address(), 0) {}

socket_address::socket_address(const ip::address& address, port_type port) noexcept {
  this->address(address);
  this->port(port);
}

bool socket_address::is_v4() const noexcept { return family_of(bytes_) == AF_INET; }
bool socket_address::is_v6() const noexcept { return family_of(bytes_) == AF_INET6; }

std::size_t socket_address::size() const noexcept {
  return is_v6() ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

void socket_address::resize(std::size_t size) {
  if (size > capacity()) throw_error(error::invalid_argument, "ip::basic_endpoint::resize");
}

ip::address socket_address::address() const noexcept {
  if (is_v4()) {
    sockaddr_in in;
    std::memcpy(&in, bytes_, sizeof in);
    return address_v4(ntohl(in.sin_addr.s_addr));
  }
  if (is_v6()) {
    sockaddr_in6 in;
    std::memcpy(&in, bytes_, sizeof in);
    address_v6::bytes_type bytes;
    std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
    return address_v6(bytes, in.sin6_scope_id);
  }
  return {};
}

void socket_address::address(const ip::address& address) noexcept {
  const port_type kept = port();
  std::memset(bytes_, 0, sizeof bytes_);
  if (address.is_v4()) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(address.to_v4().to_uint());
    std::memcpy(bytes_, &in, sizeof in);
  } else {
    sockaddr_in6 in{};
    const auto v6 = address.to_v6();
    const auto bytes = v6.to_bytes();
    in.sin6_family = AF_INET6;
    std::memcpy(&in.sin6_addr, bytes.data(), bytes.size());
    in.sin6_scope_id = v6.scope_id();
    std::memcpy(bytes_, &in, sizeof in);
  }
  port(kept);
}

port_type socket_address::port() const noexcept {
  in_port_t port;
  std::memcpy(&port, bytes_ + offsetof(sockaddr_in, sin_port), sizeof port);
  return ntohs(port);
}

void socket_address::port(port_type port) noexcept {
  const in_port_t raw = htons(port);
  std::memcpy(bytes_ + offsetof(sockaddr_in, sin_port), &raw, sizeof raw);
}

address_text socket_address::to_text() const noexcept {
  const auto host = address().to_text();
  text_writer<6> port_text;
  port_text.put(':');
  port_text.put_number(port(), 10);
  address_text text;
  if (is_v6()) text.append("[");
  text.append(host);
  if (is_v6()) text.append("]");
  text.append(std::string_view(port_text.data(), port_text.size()));
  return text;
}

std::strong_ordering operator<=>(const socket_address& a, const socket_address& b) noexcept {
  const auto by_address = a.address() <=> b.address();
  return by_address != 0 ? by_address : a.port() <=> b.port();
}

std::size_t hash_value(const socket_address& e) noexcept {
  // The hash of the address is mixed already; an odd factor spreads the port over its upper bits.
  return hash_value(e.address()) ^ (e.port() * 0x9e3779b97f4a7c15);
}

port_type functions::make_port(long number, error_code& ec) noexcept {
  if (number < 0 || number > 65535) {
    ec = error::invalid_argument;
    return 0;
  }
  ec.clear();
  return static_cast<port_type>(number);
}

port_type functions::make_port(long number) {
  error_code ec;
  const auto port = make_port(number, ec);
  if (ec) {
    char text[64];
    std::snprintf(text, sizeof text, "%ld is not a port, 0 to 65535", number);
    throw_error(ec, "make_port", std::string_view(text));
  }
  return port;
}

}  // namespace beck::ip
