// SPDX-License-Identifier: BSL-1.0
// Control messages of datagrams, read and written (cmsg(3)).
#include <cstring>

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <beck/net/datagram_batch.hpp>

#include "net/control_messages.hpp"

namespace beck::detail {
namespace {

static_assert(message_control::capacity >=
              CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(in6_pktinfo)));
static_assert(alignof(message_control) >= alignof(cmsghdr));

/// Stores the data of the first control message of that level and type in `value`. Returns false if
/// there is none, or if it is too short.
template <class T>
bool find(const message_header& header, int level, int type, T& value) noexcept {
  const control_data found = find_control(header.control, header.control_bytes, level, type);
  if (found.bytes < sizeof value) return false;
  std::memcpy(&value, static_cast<const unsigned char*>(header.control) + found.at, sizeof value);
  return true;
}

bool has(const message_header& header, int level, int type) noexcept {
  return find_control(header.control, header.control_bytes, level, type).at != 0;
}

/// Appends a control message. There is room for it: each kind is added once, which the callers
/// assert, and the capacity of message_control suffices for both.
template <class T>
void add(message_header& header, int level, int type, const T& value) noexcept {
  BECK_ASSERT(header.control != nullptr, "datagrams of this protocol have nothing beside them");
  auto* const at = static_cast<unsigned char*>(header.control) + header.control_bytes;
  std::memset(at, 0, CMSG_SPACE(sizeof value));
  cmsghdr entry{};
  entry.cmsg_len = CMSG_LEN(sizeof value);
  entry.cmsg_level = level;
  entry.cmsg_type = type;
  std::memcpy(at, &entry, sizeof entry);
  std::memcpy(at + CMSG_LEN(0), &value, sizeof value);
  header.control_bytes += CMSG_SPACE(sizeof value);
}

}  // namespace

std::size_t message_extras::segment_size(const message_header& header) noexcept {
  int bytes = 0;
  return find(header, SOL_UDP, UDP_GRO, bytes) && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

ip::address message_extras::destination(const message_header& header) noexcept {
  if (in_pktinfo v4{}; find(header, IPPROTO_IP, IP_PKTINFO, v4)) {
    return ip::address_v4(ntohl(v4.ipi_addr.s_addr));
  }
  if (in6_pktinfo v6{}; find(header, IPPROTO_IPV6, IPV6_PKTINFO, v6)) {
    ip::address_v6::bytes_type bytes;
    std::memcpy(bytes.data(), &v6.ipi6_addr, bytes.size());
    return ip::address_v6(bytes);
  }
  return ip::address();
}

unsigned message_extras::interface_index(const message_header& header) noexcept {
  if (in_pktinfo v4{}; find(header, IPPROTO_IP, IP_PKTINFO, v4)) {
    return static_cast<unsigned>(v4.ipi_ifindex);
  }
  in6_pktinfo v6{};
  return find(header, IPPROTO_IPV6, IPV6_PKTINFO, v6) ? v6.ipi6_ifindex : 0;
}

bool message_extras::truncated(const message_header& header) noexcept {
  return (header.flags & MSG_TRUNC) != 0;
}

void message_extras::add_segment_size(message_header& header, std::size_t bytes) noexcept {
  BECK_ASSERT(!has(header, SOL_UDP, UDP_SEGMENT), "a datagram has one segment size");
  add(header, SOL_UDP, UDP_SEGMENT, static_cast<std::uint16_t>(bytes));
}

void message_extras::add_source(message_header& header, const ip::address& source,
                                unsigned interface) noexcept {
  BECK_ASSERT(!has(header, IPPROTO_IP, IP_PKTINFO) && !has(header, IPPROTO_IPV6, IPV6_PKTINFO),
              "a datagram has one source");
  if (source.is_v4()) {
    in_pktinfo v4{};
    v4.ipi_spec_dst.s_addr = htonl(source.to_v4().to_uint());
    v4.ipi_ifindex = static_cast<int>(interface);
    add(header, IPPROTO_IP, IP_PKTINFO, v4);
  } else {
    in6_pktinfo v6{};
    const auto bytes = source.to_v6().to_bytes();
    std::memcpy(&v6.ipi6_addr, bytes.data(), bytes.size());
    v6.ipi6_ifindex = interface;
    add(header, IPPROTO_IPV6, IPV6_PKTINFO, v6);
  }
}

}  // namespace beck::detail
