// SPDX-License-Identifier: BSL-1.0
// Socket options: one table of the checks of socket(7), tcp(7), ip(7) and ipv6(7).
#include "io/sim/sim_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace beck::detail {
namespace {

/// An option whose value is one int.
struct known_option {
  int level;
  int name;
  int initial;
  int lowest;
  int highest;
  bool is_switch;  // any value but 0 counts as 1
};

constexpr known_option known_options[] = {
    {SOL_SOCKET, SO_REUSEADDR, 0, INT_MIN, INT_MAX, true},
    {SOL_SOCKET, SO_REUSEPORT, 0, INT_MIN, INT_MAX, true},
    {SOL_SOCKET, SO_BROADCAST, 0, INT_MIN, INT_MAX, true},
    {SOL_SOCKET, SO_KEEPALIVE, 0, INT_MIN, INT_MAX, true},
    {SOL_SOCKET, SO_OOBINLINE, 0, INT_MIN, INT_MAX, true},
    {SOL_SOCKET, SO_RCVLOWAT, 1, 0, INT_MAX, false},
    {IPPROTO_TCP, TCP_NODELAY, 0, INT_MIN, INT_MAX, true},
    {IPPROTO_TCP, TCP_QUICKACK, 1, INT_MIN, INT_MAX, true},
    {IPPROTO_TCP, TCP_KEEPIDLE, 7200, 1, 32767, false},
    {IPPROTO_TCP, TCP_KEEPINTVL, 75, 1, 32767, false},
    {IPPROTO_TCP, TCP_KEEPCNT, 9, 1, 127, false},
    {IPPROTO_TCP, TCP_USER_TIMEOUT, 0, 0, INT_MAX, false},
    {IPPROTO_IP, IP_TTL, 64, 1, 255, false},
    {IPPROTO_IP, IP_MULTICAST_TTL, 1, 0, 255, false},
    {IPPROTO_IP, IP_MULTICAST_LOOP, 1, INT_MIN, INT_MAX, true},
    {IPPROTO_IPV6, IPV6_UNICAST_HOPS, 64, 0, 255, false},
    {IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 1, 0, 255, false},
    {IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1, 0, 1, true},
    {IPPROTO_IPV6, IPV6_V6ONLY, 0, INT_MIN, INT_MAX, true},
};

// net.core.wmem_max and rmem_max, and the smallest buffers, as payload.
constexpr int buffer_bytes_max = 212'992;
constexpr int send_buffer_bytes_min = 2304;
constexpr int receive_buffer_bytes_min = 1152;
/// The highest name of an option at any level; above it an option does not exist.
constexpr int name_max = 128;

const known_option* known(int level, int name) noexcept {
  for (const known_option& option : known_options) {
    if (option.level == level && option.name == name) return &option;
  }
  return nullptr;
}

int check_level(int family, int level, int name) noexcept {
  if (family == AF_UNIX && level != SOL_SOCKET) return -EOPNOTSUPP;
  const bool exists = level == SOL_SOCKET || level == IPPROTO_IP || level == IPPROTO_TCP ||
                      (level == IPPROTO_IPV6 && family == AF_INET6);
  return exists && name >= 0 && name < name_max ? 0 : -ENOPROTOOPT;
}

bool is_read_only(int level, int name) noexcept {
  return level == SOL_SOCKET && (name == SO_TYPE || name == SO_ERROR || name == SO_DOMAIN ||
                                 name == SO_PROTOCOL || name == SO_ACCEPTCONN);
}

}  // namespace

const sim_options::stored* sim_options::find(int level, int name) const noexcept {
  for (const stored& s : values_) {
    if (s.level == level && s.name == name) return &s;
  }
  return nullptr;
}

void sim_options::store(int level, int name, const void* value, std::size_t bytes) {
  auto* place = const_cast<stored*>(find(level, name));
  if (place == nullptr) place = &values_.emplace_back();
  *place = stored{level, name, bytes, {}};
  std::memcpy(place->value, value, bytes);
}

int sim_options::integer(int level, int name) const noexcept {
  int value = 0;
  if (const stored* s = find(level, name); s != nullptr) {
    std::memcpy(&value, s->value, sizeof value);
  } else if (const known_option* option = known(level, name); option != nullptr) {
    value = option->initial;
  }
  return value;
}

int sim_options::set(int family, int level, int name, const void* value, std::size_t bytes) {
  if (const int refused = check_level(family, level, name); refused != 0) return refused;
  if (is_read_only(level, name)) return -ENOPROTOOPT;
  if (bytes > value_bytes_max) bytes = value_bytes_max;
  if (bytes < sizeof(int)) return -EINVAL;
  int number = 0;
  std::memcpy(&number, value, sizeof number);
  if (level == SOL_SOCKET && name == SO_SNDBUF) {
    send_buffer_ =
        static_cast<std::uint32_t>(std::clamp(number, send_buffer_bytes_min, buffer_bytes_max));
    return 0;
  }
  if (level == SOL_SOCKET && name == SO_RCVBUF) {
    receive_buffer_ =
        static_cast<std::uint32_t>(std::clamp(number, receive_buffer_bytes_min, buffer_bytes_max));
    return 0;
  }
  if (level == SOL_SOCKET && name == SO_LINGER && bytes < sizeof(linger)) return -EINVAL;
  if (const known_option* option = known(level, name); option != nullptr) {
    if (number < option->lowest || number > option->highest) return -EINVAL;
    if (option->is_switch) number = number != 0 ? 1 : 0;
    store(level, name, &number, sizeof number);
    return 0;
  }
  store(level, name, value, bytes);
  return 0;
}

int sim_options::get(int family, int level, int name, void* value,
                     std::size_t& bytes) const noexcept {
  if (const int refused = check_level(family, level, name); refused != 0) return refused;
  unsigned char held[value_bytes_max] = {};
  std::size_t size = sizeof(int);
  int number = 0;
  if (const stored* s = find(level, name); s != nullptr) {
    size = s->bytes;
    std::memcpy(held, s->value, size);
  } else if (level == SOL_SOCKET && name == SO_LINGER) {
    size = sizeof(linger);
  } else {
    number = integer(level, name);
    if (level == SOL_SOCKET && name == SO_SNDBUF) number = static_cast<int>(send_buffer_) * 2;
    if (level == SOL_SOCKET && name == SO_RCVBUF) number = static_cast<int>(receive_buffer_) * 2;
    std::memcpy(held, &number, sizeof number);
  }
  bytes = std::min(bytes, size);
  std::memcpy(value, held, bytes);
  return 0;
}

bool sim_options::reuse_address() const noexcept { return integer(SOL_SOCKET, SO_REUSEADDR) != 0; }
bool sim_options::reuse_port() const noexcept { return integer(SOL_SOCKET, SO_REUSEPORT) != 0; }
bool sim_options::v6_only() const noexcept { return integer(IPPROTO_IPV6, IPV6_V6ONLY) != 0; }

bool sim_options::resets_on_close() const noexcept {
  const stored* s = find(SOL_SOCKET, SO_LINGER);
  if (s == nullptr) return false;
  linger value;
  std::memcpy(&value, s->value, sizeof value);
  return value.l_onoff != 0 && value.l_linger == 0;
}

}  // namespace beck::detail
