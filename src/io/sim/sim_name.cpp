// SPDX-License-Identifier: BSL-1.0
// Reads and writes socket addresses in the layouts of ip(7), ipv6(7) and unix(7).
#include "io/sim/sim_name.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <netinet/in.h>
#include <sys/un.h>

namespace beck::detail {
namespace {

constexpr std::size_t path_offset = offsetof(sockaddr_un, sun_path);
constexpr std::size_t v6_bytes_min = offsetof(sockaddr_in6, sin6_scope_id);

std::uint16_t swapped(std::uint16_t value) noexcept { return ntohs(value); }

int parse_v4(const void* data, std::size_t bytes, sim_name& name) {
  sockaddr_in in;
  if (bytes < sizeof in) return -EINVAL;
  std::memcpy(&in, data, sizeof in);
  if (in.sin_family != AF_INET) return -EAFNOSUPPORT;
  std::uint8_t parts[4];
  std::memcpy(parts, &in.sin_addr, sizeof parts);
  name.address = mapped_v4(parts[0], parts[1], parts[2], parts[3]);
  name.port = swapped(in.sin_port);
  return 0;
}

int parse_v6(const void* data, std::size_t bytes, sim_name& name) {
  sockaddr_in6 in{};
  if (bytes < v6_bytes_min) return -EINVAL;
  std::memcpy(&in, data, std::min(bytes, sizeof in));
  if (in.sin6_family != AF_INET6) return -EAFNOSUPPORT;
  std::memcpy(name.address.data(), &in.sin6_addr, name.address.size());
  name.port = swapped(in.sin6_port);
  return 0;
}

int parse_unix(const void* data, std::size_t bytes, sim_name& name) {
  sockaddr_un un{};
  if (bytes < path_offset || bytes > sizeof un) return -EINVAL;
  std::memcpy(&un, data, bytes);
  if (un.sun_family != AF_UNIX) return -EINVAL;
  const std::size_t room = bytes - path_offset;
  name.path.assign(un.sun_path,
                   room == 0 || un.sun_path[0] == '\0' ? room : strnlen(un.sun_path, room));
  return 0;
}

template <class Address>
void put(const Address& address, std::size_t size, void* data, std::size_t& bytes) noexcept {
  std::memcpy(data, &address, std::min(bytes, size));
  bytes = size;
}

}  // namespace

sim_address mapped_v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) noexcept {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d};
}

bool is_v4(const sim_address& address) noexcept {
  return std::all_of(address.begin(), address.begin() + 10, [](auto byte) { return byte == 0; }) &&
         address[10] == 0xff && address[11] == 0xff;
}

bool is_any(const sim_address& address) noexcept {
  return address == sim_address{} || address == mapped_v4(0, 0, 0, 0);
}

bool is_loopback(const sim_address& address) noexcept {
  sim_address one{};
  one[15] = 1;
  return address == one || (is_v4(address) && address[12] == 127);
}

sim_address any_address(int family) noexcept {
  return family == AF_INET ? mapped_v4(0, 0, 0, 0) : sim_address{};
}

int parse_name(int family, const void* data, std::size_t bytes, sim_name& name) {
  if (family == AF_INET) return parse_v4(data, bytes, name);
  return family == AF_INET6 ? parse_v6(data, bytes, name) : parse_unix(data, bytes, name);
}

void write_name(int family, const sim_name& name, void* data, std::size_t& bytes) noexcept {
  if (family == AF_INET) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = swapped(name.port);
    std::memcpy(&in.sin_addr, &name.address[12], 4);
    put(in, sizeof in, data, bytes);
  } else if (family == AF_INET6) {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = swapped(name.port);
    std::memcpy(&in.sin6_addr, name.address.data(), name.address.size());
    put(in, sizeof in, data, bytes);
  } else {
    // A path that fills the structure gets a NUL behind it (unix(7), BUGS).
    unsigned char un[sizeof(sockaddr_un) + 1] = {};
    const sa_family_t unix_family = AF_UNIX;
    std::memcpy(un, &unix_family, sizeof unix_family);
    // NOLINTNEXTLINE(bugprone-not-null-terminated-result): the array is zeroed, with room for it
    std::memcpy(un + path_offset, name.path.data(), name.path.size());
    const bool is_path = !name.path.empty() && name.path[0] != '\0';
    put(un, path_offset + name.path.size() + (is_path ? 1 : 0), data, bytes);
  }
}

}  // namespace beck::detail
